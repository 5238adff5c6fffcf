"""Targets that a repository controls: names in git's output, its configuration, and the files by which git folders name
each other."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bough.agents.sandbox.git_layout import find_layout, paths_of
from bough.errors import Denied
from bough.git import commit_diff
from bough.git.decode import lines, shown
from bough.git.safe import configured_programs as configured
from bough.git.safe.location import find
from bough.git.working_copy import diff as working_copy_diff
from bough.git.working_copy import status
from bough.git.working_copy.changed_paths import parse_scan
from bough.git.workspace import check_workspace
from bough.git.worktrees import parse_worktrees
from tests.fuzz.target import Target

SHA = "1" * 40
HEAD = f"# branch.oid {SHA}\0# branch.head main\0# branch.upstream origin/main\0# branch.ab +2 -3\0"
MODES = "100644 100644 100644"
BETWEEN = b"\n--\n"
"""Separates the files in the input of `git_links`."""


def _names(data: bytes) -> list[str]:
    """Returns the different names in the input, as Bough decodes git's output."""
    names = (name.strip(b"/") for name in data.split(b"\0"))
    return list(dict.fromkeys(name.decode("utf-8", "surrogateescape") for name in names if name))


def git_status(data: bytes) -> None:
    """Every name comes out of a status as it is, whatever it imitates."""
    names = _names(data)
    text, changed, untracked = HEAD, list[str](), list[str]()
    for number, name in enumerate(names):
        match number % 4:
            case 0:
                text += f"1 .M N... {MODES} {SHA} {SHA} {name}\0"
                changed.append(name)
            case 1:
                text += f"2 R. N... {MODES} {SHA} {SHA} R100 {name}\0{names[0]}\0"
                changed.append(name)
            case 2:
                text += f"u UU N... {MODES} 100644 {SHA} {SHA} {SHA} {name}\0"
                changed.append(name)
            case _:
                text += f"? {name}\0"
                untracked.append(name)
    parsed = status._parsed(text)  # pyright: ignore[reportPrivateUsage]
    assert [name for name, _ in parsed.changed] == changed
    assert parsed.untracked == untracked
    assert (parsed.branch, parsed.sha, parsed.ahead, parsed.behind) == ("main", SHA, 2, 3)


def git_scan(data: bytes) -> None:
    """Every name comes out of a scan as it is."""
    names = _names(data)
    forms = (f"1 .M N... {MODES} {SHA} {SHA} ", f"u UU N... {MODES} 100644 {SHA} {SHA} {SHA} ", "? ", "! ")
    text = HEAD + "".join(f"{forms[number % len(forms)]}{name}\0" for number, name in enumerate(names))
    parsed = parse_scan(text)
    assert parsed.changed == names
    assert (parsed.head, parsed.branch, parsed.lines) == (SHA, "main", len(names))


def git_diff(data: bytes) -> None:
    """Every name comes out of a comparison with its own counts."""
    names = _names(data)
    states = "".join(_state(number, name) for number, name in enumerate(names))
    numbers = "".join(_numbers(number, name) for number, name in enumerate(names))
    of_files = working_copy_diff._files(states, numbers, {names[0]} if names else set())  # pyright: ignore[reportPrivateUsage]
    compared = [(item.path, item.old_path, item.additions, item.binary) for item in of_files]
    assert compared == [_expected(number, name) for number, name in enumerate(names)]
    raw = "".join(f":{MODES[:13]} {SHA} {SHA} {_state(number, name)}" for number, name in enumerate(names))
    of_commits = commit_diff._files(raw + numbers)  # pyright: ignore[reportPrivateUsage]
    assert [(item.path, item.old_path, item.additions, item.binary) for item in of_commits] == compared


def _state(number: int, name: str) -> str:
    return f"R090\0old {name}\0{name}\0" if number % 3 == 1 else f"M\0{name}\0"


def _numbers(number: int, name: str) -> str:
    if number % 3 == 1:
        return f"{number}\t0\t\0old {name}\0{name}\0"
    return f"-\t-\t{name}\0" if number % 3 == 2 else f"{number}\t0\t{name}\0"


def _expected(number: int, name: str) -> tuple[str, str | None, int, bool]:
    is_binary = number % 3 == 2
    return shown(name), shown(f"old {name}") if number % 3 == 1 else None, 0 if is_binary else number, is_binary


def git_worktrees(data: bytes) -> None:
    """Every path and branch comes out of the list of worktrees as it is, whatever the reason of a lock says."""
    names = _names(data)
    text = "".join(f"worktree /{name}\0HEAD {SHA}\0branch refs/heads/{name}\0locked {name}\0\0" for name in names)
    listed = parse_worktrees(text)
    assert [(item.path, item.branch, item.locked) for item in listed] == [(f"/{name}", name, name) for name in names]
    refs = [name.replace("\n", "") for name in names]
    assert lines("".join(f"{name}\n" for name in refs)) == [name for name in refs if name]


def git_config(data: bytes) -> None:
    """Every filter and merge driver that a configuration names is turned off."""
    names = _names(data)
    settings = [f"filter.{name}.{part}" for name in names for part in ("clean", "process")]
    settings += [f"merge.{name}.driver" for name in names]
    programs = configured.parse("".join(f"local\0{setting}\0" for setting in settings))
    off = configured.turned_off(programs, {})
    assert all(off[setting] == "" for setting in settings)
    assert all(off[f"filter.{name}.{part}"] == "" for name in names for part in ("smudge", "clean", "process"))


def git_links(data: bytes) -> None:
    """Files by which git folders name each other lead nowhere unexpected, and never make anyone wait."""
    dot_git, common, back = [*data.split(BETWEEN), b"", b""][:3]
    with tempfile.TemporaryDirectory() as folder:
        top = Path(os.path.realpath(folder))
        repo, main = top / "root" / "repo", top / "root" / "main" / ".git"
        own = main / "worktrees" / "own"
        for created in (repo, own, main / "objects", main / "refs"):
            created.mkdir(parents=True)
        for file, content in _link_files(repo, own, dot_git, common, back):
            file.write_bytes(content.replace(b"{top}", os.fsencode(top)))
        location, layout = find(str(repo)), find_layout(str(repo))
        assert location is None or os.path.isdir(location.common)
        if layout is not None:
            assert layout.top == str(repo)
            assert not layout.linked or layout.git_folder.startswith(f"{layout.common}/worktrees/")
            paths = paths_of(layout)
            assert all(path.startswith((layout.common, layout.git_folder)) for path in paths.writable)
        try:
            check_workspace(top / "root", top / "data", str(repo))
        except Denied as error:
            assert error.code == "path_outside_root"


def _link_files(repo: Path, own: Path, dot_git: bytes, common: bytes, back: bytes) -> Iterator[tuple[Path, bytes]]:
    yield repo / ".git", dot_git
    yield own / "HEAD", b"ref: refs/heads/main\n"
    yield own / "commondir", common
    yield own / "gitdir", back


TARGETS = (
    Target("git_status", git_status),
    Target("git_scan", git_scan),
    Target("git_diff", git_diff),
    Target("git_worktrees", git_worktrees),
    Target("git_config", git_config),
    Target("git_links", git_links),
)
