"""Patterns of rules: globs over command lines and over paths, read so that nobody allows more than they meant. What
follows from a match is `policy`."""

from __future__ import annotations

import os
import re
from fnmatch import fnmatchcase
from functools import lru_cache

BLANKS = " \t\r\n"
SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh"})
# Whatever makes a line more than one plain command to a shell: lists, pipes, redirections, substitutions and
# expansions, groups, line breaks and other control characters. Quotes do not hide them: to be sure what a quote
# holds one would have to be that shell.
OPERATORS = re.compile(r"[;&|<>()$`\x00-\x08\x0a-\x1f\x7f]")
_CUTS = re.compile(r"[;&|<>()`\n\r]|\$(?=\()")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=.*")
_QUOTES = str.maketrans("", "", "\"'\\")
# Words that only introduce the command that is meant; where it begins behind their options is theirs to know.
WRAPPERS = frozenset(
    {"!", "{", "builtin", "busybox", "case", "chroot", "command", "do", "doas", "elif", "else", "env", "eval", "exec"}
    | {"if", "ionice", "nice", "nohup", "setsid", "stdbuf", "sudo", "then", "time", "timeout", "until", "watch"}
    | {"while", "xargs", *SHELLS}
)


def plain(command: str) -> bool:
    """Whether a line is one command and its words, and nothing else to any shell."""
    return OPERATORS.search(command.strip(BLANKS)) is None


def command_allowed(pattern: str, command: str) -> bool:
    """Whether the pattern of an *allow* rule covers a command line: the whole of it, from end to end.

    A star must not reach over the end of one command into the next: `git *` is not meant to cover `git log; rm -rf .`,
    nor `git log > ~/.bashrc`, nor `git log $(rm -rf .)`. So a line with an operator in it (`;`, `&`, `|`, `<`, `>`,
    `(`, `)`, `$`, a backtick, a line break), quoted or not, is covered only by a pattern that is that line, character
    by character.
    """
    line = command.strip(BLANKS)
    if pattern.strip(BLANKS) == line:
        return True
    return plain(line) and fnmatchcase(line, pattern.strip(BLANKS))


def command_touched(pattern: str, command: str) -> bool:
    """Whether the pattern of an *ask* or *deny* rule meets a command line: the whole of it, or any command in it.

    The line is cut at every operator, quoted or not; of each part, quotes and backslashes are taken away, assignments
    before it and the folder of its program are passed over, and behind a word like `sudo`, `env` or `bash` every
    further word may begin the command. So `rm *` meets `cd x && "/bin/rm" -rf y` and `sudo -u me sh -c 'rm y'`. This
    catches what is written plainly; a shell has endless ways to say a thing, so whoever must be sure denies the kind.
    """
    wanted = pattern.strip(BLANKS)
    line = command.strip(BLANKS)
    return fnmatchcase(line, wanted) or any(fnmatchcase(part, wanted) for part in _commands(line))


def _commands(line: str) -> set[str]:
    """Every text in a line that could be a command by itself."""
    found: set[str] = set()
    for part in _CUTS.split(line):
        words = part.translate(_QUOTES).split()
        wrapped = False
        for index, word in enumerate(words):
            if _ASSIGNMENT.fullmatch(word):
                continue
            name = word.rsplit("/", 1)[-1]
            rest = words[index + 1 :]
            found.update((" ".join([word, *rest]), " ".join([name, *rest])))
            wrapped = wrapped or name in WRAPPERS
            if not wrapped:
                break
    return found


def path_matches(pattern: str, path: str, cwd: str) -> bool:
    """Whether a glob covers an absolute path. `*` and `?` stay within one folder, `**` is any number of folders; what
    is relative counts from the session's folder, `~` is the home folder; `src/` and `src/**` are the folder itself and
    all that is in it."""
    return _path_glob(pattern, cwd).fullmatch(path) is not None


@lru_cache(maxsize=1024)
def _path_glob(pattern: str, cwd: str) -> re.Pattern[str]:
    text = os.path.expanduser(pattern.strip()) if pattern.startswith("~") else pattern.strip()
    if text.endswith("/"):
        text += "**"
    if os.path.isabs(text):
        base, relative = "", os.path.normpath(text).lstrip("/")
    else:
        base, relative = _climbed(cwd, os.path.normpath(text))
    regex = "".join("(?:/.*)?" if part == "**" else "/" + _segment(part) for part in relative.split("/") if part != ".")
    return re.compile(re.escape(base) + regex if base or regex else "/", re.DOTALL)


def _climbed(cwd: str, relative: str) -> tuple[str, str]:
    """A folder, which is no pattern, and what of a relative glob is left below it."""
    base = cwd.rstrip("/")
    while relative == ".." or relative.startswith("../"):
        base, relative = os.path.dirname(base).rstrip("/"), relative[3:]
    return base, relative


def _segment(part: str) -> str:
    """One folder's or file's name as a regular expression."""
    out: list[str] = []
    index = 0
    while index < len(part):
        char = part[index]
        index += 1
        if char == "*":
            out.append("[^/]*")
        elif char == "?":
            out.append("[^/]")
        elif char == "[" and (end := part.find("]", index + 1)) != -1:
            listed = part[index:end].replace("\\", r"\\").replace("[", r"\[").replace("&&", r"&\&")
            index = end + 1
            out.append(f"(?!/)[^{listed[1:]}]" if listed[:1] in "!^" else f"(?!/)[{listed}]")
        else:
            out.append(re.escape(char))
    return "".join(out)
