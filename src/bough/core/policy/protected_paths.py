"""Tells which paths are protected: files that grant rights or run code later, other worktrees, the home folder's
dotfiles, secrets, and Bough's data folder, which no agent may touch in any mode."""

from __future__ import annotations

import os
from collections.abc import Iterable
from urllib.parse import unquote

import msgspec

from bough.agents.catalog import Catalog
from bough.agents.file_name_patterns import AGENT, GIT, NAMES, NamePattern, folded, is_wild, named_pattern
from bough.model.tool import Protection

DATA = "Bough's data folder"
HOME = "a dotfile of your home folder"
WORKTREE = "another session's worktree"
SECRET = "a secret"
# Parts of the data folder that agents work with: the folder for temporary files and the demo agent's conversations;
# and, to read only, the settings that Bough merges for them.
FOR_AGENTS = ("tmp", "demo")
TO_READ = "homes"
# A folder is a repository to git if it holds a HEAD and one of these.
_BESIDE_HEAD = ("objects", "refs", "config", "commondir")
_OF_GIT = tuple(pattern for pattern in NAMES if pattern.what == GIT)
# Names of secrets, as globs without case: keys, logins and tokens. Agents' own come from the catalog.
SECRETS = tuple(
    NamePattern(tuple(path.split("/")), SECRET)
    for path in (
        *(".ssh/id_*", ".ssh/*_key", ".ssh/*.pem", ".gnupg", ".netrc", "_netrc", ".git-credentials", ".pgpass"),
        *(".aws/credentials", ".aws/sso", ".azure", ".config/gcloud", ".kube/config", ".docker/config.json"),
        *(".config/gh/hosts.yml", ".npmrc", ".pypirc", ".password-store", ".local/share/keyrings"),
        *(".mozilla", ".config/google-chrome", ".config/chromium", ".vault-token", ".cargo/credentials*"),
    )
)
# Folders of the home folder in which even a session that works there asks about every edit.
_GUARDED_AT_HOME = frozenset({".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".mozilla", ".password-store"})


class ProtectionContext(msgspec.Struct, frozen=True):
    """Folders and patterns that protection depends on besides a path; the folders are resolved."""

    cwd: str
    data: str
    home: str
    # The worktrees that the session does not work in.
    worktrees: tuple[str, ...] = ()
    patterns: tuple[NamePattern, ...] = NAMES
    secrets: tuple[NamePattern, ...] = SECRETS

    @classmethod
    def of(cls, data: os.PathLike[str], worktrees: Iterable[str], cwd: str, catalog: Catalog) -> ProtectionContext:
        home = os.path.realpath(os.path.expanduser("~"))
        others = tuple(path for path in worktrees if not is_inside(cwd, path))
        patterns, secrets = agents_patterns(catalog.protected), secret_patterns(catalog.secrets)
        return cls(cwd, os.path.realpath(data), home, others, patterns, secrets)


def agents_patterns(paths: Iterable[tuple[str, ...]]) -> tuple[NamePattern, ...]:
    """Returns all patterns of protected names, with those that agents take rights from."""
    return (*NAMES, *(NamePattern(path, AGENT) for path in paths))


def secret_patterns(paths: Iterable[tuple[str, ...]]) -> tuple[NamePattern, ...]:
    """Returns all patterns of secrets, with the keys of agents."""
    return (*SECRETS, *(NamePattern(path, SECRET) for path in paths))


def written(path: str, context: ProtectionContext) -> Protection | None:
    """Returns why a person decides about writing to a path; None if the path is not protected. The path is absolute
    and may hold the wildcards of a shell."""
    if is_inside_data(path, context.data, to_read=False):
        return Protection(path, DATA, never=True)
    names, cwd = _names(path), context.cwd
    below = names[len(_names(cwd)) :] if is_inside(path, cwd) else names
    # Where a session works inside a folder of these names, a person has put it there; inside git's own, it stays asked.
    pattern = named_pattern(below, context.patterns) or named_pattern(names, _OF_GIT)
    if pattern is not None:
        return Protection(path, pattern.what, _spelled(pattern))
    if is_git_folder(path):
        return Protection(path, GIT, (os.path.basename(path).casefold(),))
    for worktree in context.worktrees:
        if _may_be_inside(path, worktree):
            return Protection(path, WORKTREE, (os.path.basename(worktree).casefold(),))
    if (name := _home_name(path, context.home)) is not None and not _works_there(path, cwd, context.home, name):
        return Protection(path, HOME, (name,))
    return None


def read(path: str, context: ProtectionContext) -> Protection | None:
    """Returns why a person decides about reading a path; None if it is no secret."""
    if is_inside_data(path, context.data, to_read=True):
        return Protection(path, DATA, never=True)
    pattern = named_pattern(_names(path), context.secrets)
    return Protection(path, SECRET, _spelled(pattern)) if pattern is not None else None


def removed(path: str, context: ProtectionContext) -> Protection | None:
    """Returns why a path may not be copied, moved or deleted with everything in it: Bough's data folder is inside. The
    path may hold the wildcards of a shell."""
    names = _names(path)
    above = _names(context.data)[: len(names)]
    return Protection(path, DATA, never=True) if len(above) == len(names) and _all_fit(names, above) else None


def is_inside_data(path: str, data: str, *, to_read: bool) -> bool:
    """Tells whether a path is in Bough's data folder and not in one of the parts that agents work with."""
    if not _may_be_inside(path, data):
        return False
    rest = _names(path)[len(_names(data)) :]
    return not rest or not (rest[0] in FOR_AGENTS or (to_read and rest[0] == TO_READ)) or ".." in rest


def is_inside(path: str, folder: str) -> bool:
    """Tells whether an absolute path is a folder or inside it, without case."""
    path, folder = folded(path), folded(folder).rstrip("/")
    return path == folder or path.startswith(f"{folder}/")


def is_git_folder(path: str) -> bool:
    """Tells whether a path makes a folder a repository to git, or belongs to one: an agent could write the files of a
    bare repository one by one, and git would run commands from its configuration."""
    folder, name = os.path.split(one_root(path))
    if folded(name) == "head":
        return True
    while folder not in ("", "/"):
        if _exists(folder, "HEAD") and any(_exists(folder, other) for other in _BESIDE_HEAD):
            return True
        folder = os.path.dirname(folder)
    return False


def absolute(cwd: str, path: str) -> str:
    """Returns a path as an agent spells it as an absolute one. A path with `..` stays as it is, because only the file
    system knows where it leads."""
    if path.startswith("file://"):
        path = unquote(path.removeprefix("file://"))
    if path.startswith("~") and "\0" not in path:
        path = os.path.expanduser(path)
    path = one_root(os.path.join(cwd, path))
    return path if ".." in path.split("/") else os.path.normpath(path)


def one_root(path: str) -> str:
    """Returns a path that begins with one slash instead of several, as `http://example.com` has after its colon: Python
    keeps two, takes them for a folder of their own, and finds no end above it."""
    return f"/{path.lstrip('/')}" if path.startswith("//") else path


def resolved(path: str) -> str:
    """Returns a path with its links followed, as far as it exists."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return path


def _spelled(pattern: NamePattern) -> tuple[str, ...]:
    """Returns what a rule must hold to be meant for paths of this pattern."""
    text = "/".join(pattern.names).strip("*")
    return (text, "git config") if text == ".git" else (text,)


def _exists(folder: str, name: str) -> bool:
    try:
        return os.path.lexists(os.path.join(folder, name))
    except (OSError, ValueError):
        return False


def _names(path: str) -> list[str]:
    return [name for name in folded(path).split("/") if name and name != "."]


def _may_be_inside(path: str, folder: str) -> bool:
    """Tells whether a path is a folder or inside it; with wildcards, whether it may be."""
    if not is_wild(path):
        return is_inside(path, folder)
    names, above = _names(path), _names(folder)
    return len(names) >= len(above) and _all_fit(names, above)


def _all_fit(names: list[str], literal: list[str]) -> bool:
    """Tells whether names with wildcards can match the literal names, up to the end of the shorter list."""
    return all(named_pattern([name], [NamePattern((part,), "")]) for name, part in zip(names, literal, strict=False))


def _home_name(path: str, home: str) -> str | None:
    """Returns the name directly below the home folder if it begins with a dot."""
    if not _may_be_inside(path, home):
        return None
    rest = _names(path)[len(_names(home)) :]
    return rest[0] if rest and rest[0].startswith(".") and rest[0] != ".." else None


def _works_there(path: str, cwd: str, home: str, name: str) -> bool:
    """Tells whether a session was opened deep inside that dot-folder, such as `~/.config/nvim`, and the path is there
    too."""
    depth = len(_names(cwd)) - len(_names(home))
    return is_inside(path, cwd) and is_inside(cwd, home) and depth > 1 and name not in _GUARDED_AT_HOME
