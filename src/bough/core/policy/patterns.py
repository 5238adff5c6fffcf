"""Matches the patterns of rules: globs over command lines and paths, interpreted so that nobody allows more than
intended."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from bough.core.policy import globs

BLANKS = " \t\r\n"
SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh"})
# Everything that makes a line more than one plain command to a shell: lists, pipes, redirections, substitutions and
# expansions, groups, line breaks and other control characters. Quotes do not hide them, because only that shell knows
# for sure what a quote contains.
OPERATORS = re.compile(r"[;&|<>()$`\x00-\x08\x0a-\x1f\x7f]")
_CUTS = re.compile(r"[;&|<>()`\n\r]|\$(?=\()")
_CONTINUED = re.compile(r"\\\r?\n")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=.*")
_QUOTES = str.maketrans("", "", "\"'\\")
# The part of a pattern that is compared as it is.
_BEFORE_WILDCARDS = re.compile(r"[^*?\[]*")
MOST_COMMANDS = 500
# Words that only introduce the real command; only they know where it starts after their options.
WRAPPERS = frozenset(
    {"!", "{", "builtin", "busybox", "case", "chroot", "command", "do", "doas", "elif", "else", "env", "eval", "exec"}
    | {"if", "ionice", "nice", "nohup", "setsid", "stdbuf", "sudo", "then", "time", "timeout", "until", "watch"}
    | {"while", "xargs", *SHELLS}
)


def plain(command: str) -> bool:
    """Tells whether a line is a single command with its words to any shell."""
    return OPERATORS.search(command.strip(BLANKS)) is None


def command_allowed(pattern: str, command: str) -> bool:
    """Tells whether the pattern of an *allow* rule covers a whole command line.

    A star must not reach beyond one command into the next: `git *` is not meant to cover `git log; rm -rf .`, `git
    log > ~/.bashrc` or `git log $(rm -rf .)`. So a line that contains an operator (`;`, `&`, `|`, `<`, `>`, `(`,
    `)`, `$`, a backtick, a line break), quoted or not, is covered only by a pattern that equals it character by
    character."""
    line = command.strip(BLANKS)
    stripped = pattern.strip(BLANKS)
    return stripped == line or (plain(line) and globs.matches(stripped, line))


def command_touched(pattern: str, command: str) -> bool:
    """Tells whether the pattern of an *ask* or *deny* rule matches a command line: all of it, or any command in it.

    The line is cut at every operator, quoted or not. In each part, quotes and backslashes are removed, leading
    assignments and the program's folder are skipped, and after a word like `sudo`, `env` or `bash`, or after a
    redirection, every further word may start the command. So `rm *` matches `cd x && "/bin/rm" -rf y` and `sudo -u
    me sh -c 'rm y'`. This catches plain spellings. A shell has endless others, so whoever must be sure denies the
    kind."""
    stripped = pattern.strip(BLANKS)
    line = command.strip(BLANKS)
    # A shell joins a continued line. Whether a backslash continues the line or stands for itself is not
    # distinguished.
    joined = _CONTINUED.sub("", line)
    return any(_touched(stripped, item) for item in dict.fromkeys((line, joined)))


def too_many_commands(command: str) -> bool:
    """Tells whether a line has more different commands than rules are compared with; a person is asked about it."""
    line = command.strip(BLANKS)
    return any(len(_commands(item)) > MOST_COMMANDS for item in dict.fromkeys((line, _CONTINUED.sub("", line))))


def _touched(pattern: str, line: str) -> bool:
    if globs.matches(pattern, line):
        return True
    beginning = _BEFORE_WILDCARDS.match(pattern)
    literal = beginning[0] if beginning else ""
    # Most rules are about programs that the line does not name anywhere.
    return any(
        literal in command.text and globs.matches_end(pattern, command.text, command.starts)
        for command in _commands(line)
    )


class _Command(NamedTuple):
    """The words of one command in a line, and where among them it may start."""

    text: str
    starts: tuple[int, ...]


@lru_cache(maxsize=32)
def _commands(line: str) -> tuple[_Command, ...]:
    """Returns the different commands of a line. Cached, because each rule is compared with them."""
    commands: dict[_Command, None] = {}
    hidden = False
    for operator, part in _parted(line):
        # The word after a redirection is a file, or what a quote makes one; the command follows it.
        hidden = hidden or operator in "<>"
        written = part.split()
        words = [word for item in written if (word := item.translate(_QUOTES))]
        is_open = _is_open(written)
        commands[_Command(" ".join(words), tuple(_starts(words, wrapped=hidden or is_open)))] = None
        # A part that ends inside a quote, or is empty, does not yet say where the command starts.
        hidden = (hidden and not words) or (is_open and all(map(_ASSIGNMENT.fullmatch, words)))
        if len(commands) > MOST_COMMANDS:
            break
    return tuple(commands)


def _parted(line: str) -> Iterator[tuple[str, str]]:
    """Yields the parts of a line between operators, each with the operator before it."""
    operator, start = ";", 0
    for cut in _CUTS.finditer(line):
        yield operator, line[start : cut.start()]
        operator, start = cut[0], cut.end()
    yield operator, line[start:]


def _is_open(written: list[str]) -> bool:
    r"""Tells whether one of the leading assignments continues after a blank: `A="b c"`, `A=b\\ c`."""
    for word in written:
        if not _ASSIGNMENT.fullmatch(word.translate(_QUOTES)):
            return False
        if word.count('"') % 2 or word.count("'") % 2 or word.endswith("\\"):
            return True
    return False


def _starts(words: list[str], *, wrapped: bool) -> Iterator[int]:
    """Yields where a command may start among the words: at a word, and at its last name if it is a path; at any word if
    the line is `wrapped`."""
    at = 0
    for word in words:
        if not _ASSIGNMENT.fullmatch(word):
            folder, _, name = word.rpartition("/")
            yield at
            if folder or name != word:
                yield at + len(word) - len(name)
            wrapped = wrapped or name in WRAPPERS
            if not wrapped:
                return
        at += len(word) + 1


def path_matches(pattern: str, path: str, cwd: str) -> bool:
    """Tells whether a glob covers an absolute path. `*` and `?` stay within one folder, and `**` matches any number of
    folders. Relative globs start at the session's folder, `~` is the home folder, and `src/` and `src/**` are the
    folder itself and everything in it."""
    return path.startswith("/") and globs.matches_names(_parts(pattern, cwd), path[1:].split("/"))


def path_holds(pattern: str, path: str, cwd: str, *, folder: bool) -> bool:
    """Tells whether a glob may cover something below an absolute path: where it names something inside, and where it
    matches any folder, if the path is one."""
    if not path.startswith("/"):
        return False
    pattern_parts, parts = _parts(pattern, cwd), [part for part in path.split("/") if part]
    fixed = pattern_parts[: pattern_parts.index(globs.MANY)] if globs.MANY in pattern_parts else pattern_parts
    if not all(globs.matches(glob, part) for glob, part in zip(fixed, parts, strict=False)):
        return False
    return len(parts) < len(fixed) or (folder and len(fixed) < len(pattern_parts))


@lru_cache(maxsize=1024)
def _parts(pattern: str, cwd: str) -> tuple[str, ...]:
    """Splits a glob over paths into globs over names, from the root."""
    text = pattern.strip()
    base = "" if text.startswith("/") else cwd
    if text.startswith("~"):
        first, slash, rest = text.partition("/")
        home = _home(first)
        base, text = (home, slash + rest) if home is not None else (base, text)
    # A folder that is only looked up is not a pattern, whatever its name.
    parts = [globs.escape(name) for name in base.split("/") if name]
    for name in text.split("/"):
        if name == "..":
            del parts[-1:]
        elif name not in ("", "."):
            parts.append(name)
    if text.endswith("/"):
        parts.append("**")
    return tuple(parts) or ("",)


def _home(user: str) -> str | None:
    """Returns the home folder of `~` or `~user`, if it exists."""
    try:
        home = os.path.expanduser(user)
    except ValueError:
        return None
    return home if home != user else None
