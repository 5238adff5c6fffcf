"""Helpers for the tests of checkpoints: a folder's contents as one value, a repository's state, and random changes to
files."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path
from typing import Literal, NamedTuple

from hypothesis import strategies as st

from tests.support.repos import git

Step = tuple[Literal["write", "link", "remove", "run", "stage", "commit"], str, bytes]

NAMES = ("a", "b", "c.txt", "grün ñ", "-x", "line\nbreak", "*", ":(top)q", "é\u0301")
TARGETS = (b"a", b"../outside", b"/etc", b"nowhere", b".")


class Entry(NamedTuple):
    """A file or a link: its kind, its content, and whether it is executable."""

    kind: str
    content: bytes
    runs: bool


def files(top: Path) -> dict[str, Entry]:
    """Returns every file and link below a folder, without git's own. Empty folders do not count."""
    entries: dict[str, Entry] = {}
    for folder, folders, names in os.walk(top):
        if ".git" in folders:
            folders.remove(".git")
        links = [item for item in folders if os.path.islink(os.path.join(folder, item))]
        for name in (*names, *links):
            path = Path(folder, name)
            about = path.lstat()
            if stat.S_ISLNK(about.st_mode):
                entry = Entry("link", os.fsencode(os.readlink(path)), False)
            else:
                entry = Entry("file", path.read_bytes(), bool(about.st_mode & stat.S_IXUSR))
            entries[str(path.relative_to(top))] = entry
    return entries


def remembered(top: Path) -> dict[str, object]:
    """Returns everything that a repository stores besides its objects and Bough's own refs; none of it may change."""
    git_dir = Path(git(top, "rev-parse", "--absolute-git-dir").strip())
    index = git_dir / "index"
    return {
        "index": index.read_bytes() if index.exists() else None,
        "index time": index.stat().st_mtime_ns if index.exists() else None,
        "head": (git_dir / "HEAD").read_text(),
        "refs": [line for line in git(top, "for-each-ref").splitlines() if "refs/bough/" not in line],
        "stash": git(top, "stash", "list"),
        "config": git(top, "config", "--list", "--show-origin"),
        "names": sorted(path.name for path in git_dir.iterdir()),
        "logs": {str(path): path.read_bytes() for path in sorted((git_dir / "logs").rglob("*")) if path.is_file()},
    }


def change(top: Path, steps: list[Step]) -> None:
    """Changes files at random, replacing whatever is in the way."""
    for what, name, content in steps:
        path = top / name
        if what in ("write", "link", "remove"):
            _clear(top, name)
        if what == "write":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        elif what == "link":
            path.parent.mkdir(parents=True, exist_ok=True)
            os.symlink(TARGETS[len(content) % len(TARGETS)], os.fsencode(path))
        elif what == "run" and path.is_file() and not path.is_symlink() and _inside(top, path):
            path.chmod(path.stat().st_mode ^ stat.S_IXUSR)
        elif what == "stage":
            git(top, "add", "--all")
        elif what == "commit":
            git(top, "commit", "--quiet", "--allow-empty", "--all", "--message", "More.")


def _inside(top: Path, path: Path) -> bool:
    return not any(parent.is_symlink() for parent in path.parents if parent != top and top in parent.parents)


def _clear(top: Path, name: str) -> None:
    """Removes what is at a path, and a file or link where one of its folders has to be."""
    parts = Path(name).parts
    for count in range(1, len(parts) + 1):
        path = top.joinpath(*parts[:count])
        last = count == len(parts)
        if path.is_symlink() or path.is_file():
            path.unlink()
        elif path.is_dir() and last:
            shutil.rmtree(path)


_paths = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join)
_steps = st.tuples(
    st.sampled_from(("write", "write", "write", "link", "remove", "run", "stage", "commit")),
    _paths,
    st.sampled_from((b"", b"one\n", b"two\n", b"\r\n", b"\x00\xff binary", b"no end")),
)
histories = st.lists(_steps, max_size=8)
