"""Finds the paths that a command line names, as far as they can be seen without running it: in words, redirections,
assignments and scripts inside words. It errs toward naming too many: a person is asked about those that are
protected."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from bough.core.policy.protected_paths import one_root
from bough.core.policy.shell.folders import taken_along
from bough.core.policy.shell.words import ExpansionTooLong, Variables, commands, expand_braces

LONGEST_COMMAND = 64 * 1024
"""In characters; a longer command is not read, and a person is asked about it."""
MOST_PATHS = 1000
_LONGEST_PATH = 4096
# How deep scripts inside words are read: `sh -c "sh -c '…'"`.
_DEEPEST = 3
_MOST_FOLDERS = 4
# Programs whose words are files to read, or no files at all. Redirections are separate.
READERS = frozenset(
    {"[", "basename", "bat", "cat", "cd", "cmp", "column", "comm", "cut", "date", "df", "diff", "dirname", "du", "echo"}
    | {"egrep", "false", "fgrep", "file", "fold", "grep", "head", "hexdump", "hostname", "id", "jq"}
    | {"ls", "md5sum", "more", "nl", "od", "popd", "printf", "pushd", "pwd", "readlink", "realpath", "rg", "sha1sum"}
    | {"sha256sum", "stat", "strings", "tac", "tail", "test", "tr", "true", "type", "uname", "wc"}
    | {"which", "who", "whoami", "zcat"}
)
# Commands of git that write no files of the working tree, unless an option names one to write or a program to run.
_GIT_READERS = frozenset(
    {"add", "blame", "cat-file", "commit", "diff", "grep", "log", "ls-files", "rev-parse", "show", "status"}
)
_GIT_WRITES = ("--ou", "-o", "-O", "--open", "-c", "--config", "--exec")
_FOLDER_OPTIONS = ("-C", "--directory", "--chdir", "--cwd", "--git-dir", "--work-tree", "--prefix")
_READS_CONFIG = frozenset({"--get", "--get-all", "--get-regexp", "--get-urlmatch", "--list", "-l", "get", "list"})
_PIECES = re.compile(r"[\s;&|<>()`$=,:'\"\[\]{}]+")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=(.*)", re.DOTALL)


class ShellPath(NamedTuple):
    """A path that a command names: absolute, perhaps with wildcards, and what may happen to it."""

    path: str
    writes: bool
    # Whether everything inside it goes along.
    removes: bool = False


def shell_paths(command: str, cwd: str, variables: Mapping[str, str]) -> list[ShellPath] | None:
    """Returns the paths that a command line names; None if it is too long or names too many to be looked at."""
    if len(command) > LONGEST_COMMAND:
        return None
    paths: dict[ShellPath, None] = {}
    try:
        for path in _Reader(cwd, Variables(variables)).read(command):
            paths[path] = None
            if len(paths) > MOST_PATHS:
                return None
    except ExpansionTooLong:
        return None
    return list(paths)


class _Reader:
    """Reads one command line. Folders that it enters and variables that it sets count for everything after them."""

    def __init__(self, cwd: str, variables: Variables) -> None:
        self._folders = [cwd]
        # Words that were looked at, from the same folders.
        self._seen: set[tuple[str, bool, bool, int]] = set()
        self._variables = variables

    def read(self, script: str, depth: int = 0) -> Iterator[ShellPath]:
        for command in commands(script, self._variables):
            for word in command:
                if word.redirect:
                    yield from self._paths(word.text, writes=word.redirect == ">")
            words = [word.text for word in command if not word.redirect]
            start = 0
            while start < len(words) and (assignment := _ASSIGNMENT.fullmatch(words[start])) is not None:
                self._variables[assignment[1]] = assignment[2]
                yield from self._paths(assignment[2], writes=True)
                start += 1
            if start < len(words):
                yield from self._command(words[start:], depth)

    def _command(self, words: list[str], depth: int) -> Iterator[ShellPath]:
        """Yields the paths of one simple command."""
        program = os.path.basename(words[0])
        if program in ("cd", "pushd") and len(words) > 1:
            self._enter(words[-1])
        outside = self._folders
        for at in itertools.islice(
            (at for at, word in enumerate(words) if word.startswith(_FOLDER_OPTIONS)), _MOST_FOLDERS
        ):
            _, _, joined = words[at].partition("C" if words[at].startswith("-C") else "=")
            self._enter(joined or " ".join(words[at + 1 : at + 2]))
        if "git" in (program, *words):
            yield from self._git(words)
        is_reader = program in READERS or (program == "git" and _git_reads(words))
        along = taken_along(words)
        for text in along.difference(words):
            yield from self._paths(text, writes=False, removes=True)
        for text in words[1:] if is_reader else words:
            yield from self._paths(text, writes=not is_reader, removes=text in along)
            yield from self._inside(text, depth, writes=not is_reader)
        # A folder that is an option counts for that command only.
        self._folders = outside

    def _inside(self, text: str, depth: int, *, writes: bool) -> Iterator[ShellPath]:
        """Yields the paths inside a word: of an option, of code, or of a script that a shell is given."""
        if depth == _DEEPEST or _PIECES.search(text) is None:
            return
        for piece in _PIECES.split(text):
            yield from self._paths(piece, writes=writes)
        if len(text.split()) > 1:
            yield from self.read(text, depth + 1)

    def _git(self, words: list[str]) -> Iterator[ShellPath]:
        """Yields the settings that a command of git writes."""
        if "config" not in words or _READS_CONFIG.intersection(words):
            return
        if "--global" in words:
            yield from self._paths("~/.gitconfig", writes=True)
        elif "--system" in words:
            yield ShellPath("/etc/gitconfig", writes=True)
        else:
            yield from self._paths(".git/config", writes=True)

    def _enter(self, folder: str) -> None:
        target = _absolute(self._folders[-1], folder)
        if target is not None and target not in self._folders:
            self._folders = [*self._folders[-_MOST_FOLDERS + 1 :], target]

    def _paths(self, text: str, *, writes: bool, removes: bool = False) -> Iterator[ShellPath]:
        """Yields what a word may be as a path, from every folder that the command may be in."""
        key = (text, writes, removes, hash(tuple(self._folders)))
        if not text or "\0" in text or len(text) > _LONGEST_PATH or key in self._seen:
            return
        self._seen.add(key)
        for spelled in expand_braces(text):
            for folder in self._folders:
                if (path := _absolute(folder, spelled)) is not None:
                    yield ShellPath(path, writes, removes)
                if spelled.startswith(("/", "~")):
                    break


def _git_reads(words: list[str]) -> bool:
    """Tells whether a command of git writes none of the files that it names."""
    if any(word.startswith(_GIT_WRITES) for word in words):
        return False
    subcommands = (
        word
        for before, word in itertools.pairwise(words)
        if not word.startswith("-") and before not in ("-C", "--git-dir", "--work-tree", "--namespace")
    )
    return next(subcommands, "") in _GIT_READERS


def _absolute(folder: str, text: str) -> str | None:
    if text.startswith("-"):
        return None
    path = one_root(os.path.join(folder, os.path.expanduser(text)))
    return path if ".." in path.split("/") else os.path.normpath(path)
