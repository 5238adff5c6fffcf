"""Finds the git folders of a session's folder by reading files, without running git.

Asks `os.path` rather than `Path` about them, because that raises nothing, whatever an agent has put there.
"""

from __future__ import annotations

import contextlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

LONGEST_LINK = 8192
"""Bytes that are read of a file that names a folder."""
LONGEST_CONFIG = 1024 * 1024
"""Bytes that are read of a repository's configuration."""
WRITTEN_BY_COMMITS = ("objects", "refs", "logs", "reftable")
"""Folders of the common git folder that a commit in any worktree writes. In every box each of them is a mount of its
own, so that no agent can put a link in its place."""
RUNS_CODE = ("config", "config.worktree", "hooks", "info", "modules", "worktrees")
"""Parts of a git folder that set what git runs, or that belong to other working copies."""
OWN_REFS = "refs/bough"
"""The refs of Bough's checkpoints, which no agent may change."""
OBJECTS_ELSEWHERE = "objects/info"
"""Names other folders that git reads objects from, and holds a second record of which commits follow which."""
KEEP = ".bough"
"""A folder among those of worktrees that is none."""


@dataclass(frozen=True)
class GitLayout:
    """A working copy: its top folder, its git folder and the git folder that it shares with other worktrees."""

    top: str
    git_folder: str
    common: str

    @property
    def linked(self) -> bool:
        """Whether this is one of several worktrees, rather than the repository's own working copy."""
        return self.git_folder != self.common


@dataclass(frozen=True)
class GitPaths:
    """The paths that a working copy's box needs: to read, to write, and to protect inside those."""

    readable: list[str]
    writable: list[str]
    protected: list[str]


def paths_of(layout: GitLayout) -> GitPaths:
    """Returns what commits need. Creates folders whose absence would let an agent create them with its own content."""
    common, git_folder = Path(layout.common), Path(layout.git_folder)
    dot_git = Path(layout.top, ".git")
    protected = [dot_git] if os.path.isfile(dot_git) else []
    for folder in (
        "hooks",
        "info",
        "logs",
        OWN_REFS,
        OBJECTS_ELSEWHERE,
        *(() if layout.linked else ("modules", "worktrees")),
    ):
        _create(common / folder)
    if not layout.linked:
        _keep_worktrees(common / "worktrees")
    # Git reads this file once a person turns on `extensions.worktreeConfig`, as sparse checkouts do.
    _create_file(git_folder / "config.worktree")
    # A link could lead anywhere, even to what other boxes hide: its target stays closed, and commits fail.
    shared = [common / name for name in WRITTEN_BY_COMMITS if name != "reftable" or _uses_reftable(common)]
    writable = [git_folder, *(path for path in shared if not os.path.islink(path))]
    if layout.linked:
        protected += [git_folder / name for name in ("commondir", "gitdir", "config.worktree")]
    else:
        protected += [common / name for name in RUNS_CODE]
    protected += [common / OWN_REFS, common / OBJECTS_ELSEWHERE]
    return GitPaths(
        [str(common), str(common.parent)] if common.name == ".git" else [str(common)],
        [str(path) for path in writable if os.path.exists(path)],
        [str(path) for path in protected if os.path.exists(path) and not os.path.islink(path)],
    )


def remove_forged_link(cwd: str) -> bool:
    """Removes a file from a repository's own git folder that would make git read its settings elsewhere.

    Only the git folder of a linked worktree has it. The sandbox cannot forbid an agent to create it, because git itself
    creates files there. Returns whether there was one.
    """
    layout = find_layout(cwd)
    if layout is None or layout.linked:
        return False
    try:
        os.unlink(os.path.join(layout.git_folder, "commondir"))
    except OSError:
        return False
    return True


def find_layout(cwd: str) -> GitLayout | None:
    """Returns the working copy that contains a folder; None outside a repository, or if its files are inconsistent.

    A `.git` file can name any folder, so it counts only if that folder names this working copy in return.
    """
    cwd = os.path.realpath(cwd)
    for folder in (Path(cwd), *Path(cwd).parents):
        dot_git = folder / ".git"
        if os.path.islink(dot_git):
            return None
        if is_git_folder(dot_git):
            return GitLayout(str(folder), str(dot_git), str(dot_git))
        if os.path.isfile(dot_git):
            return _linked(folder, dot_git) or _submodule(folder, dot_git)
        if is_git_folder(folder):
            return GitLayout(str(folder), str(folder), str(folder))
    return None


def _linked(top: Path, dot_git: Path) -> GitLayout | None:
    git_folder = _named(dot_git, "gitdir: ")
    if git_folder is None:
        return None
    common, back = _named(git_folder / "commondir"), _named(git_folder / "gitdir")
    if common is None or back is None or git_folder.parent != common / "worktrees":
        return None
    if back != Path(os.path.realpath(dot_git)) or not os.path.isdir(common / "objects"):
        return None
    return GitLayout(str(top), str(git_folder), str(common))


def _submodule(top: Path, dot_git: Path) -> GitLayout | None:
    """Returns the layout of a submodule, whose git folder is below that of a repository around it."""
    git_folder = _named(dot_git, "gitdir: ")
    if git_folder is None or not os.path.isdir(git_folder / "objects"):
        return None
    if not any(git_folder.is_relative_to(folder / ".git" / "modules") for folder in top.parents):
        return None
    return GitLayout(str(top), str(git_folder), str(git_folder))


def _create(folder: Path) -> None:
    """Creates a folder, but not in the folder to which an agent has made the one above a link."""
    if os.path.islink(folder.parent):
        return
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)


def _create_file(path: Path) -> None:
    with contextlib.suppress(OSError), open(path, "x"):
        pass


def _keep_worktrees(folder: Path) -> None:
    """Keeps git from removing the folder with its last worktree, which would open it in running boxes. Git counts no
    folder without `gitdir` as a worktree, and does not prune one that is locked."""
    if os.path.islink(folder):
        return
    _create(folder / KEEP)
    with contextlib.suppress(OSError), open(folder / KEEP / "locked", "x") as file:
        file.write("Keeps this folder closed in sandboxes.\n")


def _uses_reftable(common: Path) -> bool:
    """Returns whether a repository keeps its refs in `reftable`. An agent could create that folder in any other."""
    return b"refstorage" in (_read_start(common / "config", LONGEST_CONFIG) or b"").lower()


def is_git_folder(folder: Path) -> bool:
    """Returns whether git would take a folder for a repository's. An empty `.git` is none: the sandboxes of some agents
    leave one in every folder that they may write to, such as /tmp."""
    return os.path.isfile(folder / "HEAD") and all(os.path.isdir(folder / name) for name in ("objects", "refs"))


def _named(file: Path, prefix: str = "") -> Path | None:
    """Returns the real path that a file of git names, relative to the file's folder."""
    content = _read_start(file, LONGEST_LINK)
    if content is None:
        return None
    text = os.fsdecode(content).rstrip("\n")
    if not text.startswith(prefix) or not text[len(prefix) :] or "\0" in text:
        return None
    return Path(os.path.realpath(file.parent / text[len(prefix) :]))


def _read_start(file: Path, limit: int) -> bytes | None:
    """Returns the beginning of a regular file, or None for anything else. Never waits: an agent may have put a pipe
    there."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except (OSError, ValueError):
        return None
    try:
        return os.read(descriptor, limit) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    except OSError:
        return None
    finally:
        os.close(descriptor)
