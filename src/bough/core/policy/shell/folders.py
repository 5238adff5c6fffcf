"""Tells which words of a command are folders that it removes, copies or reads with everything inside."""

from __future__ import annotations

import os

# Programs that take along everything inside all folders they are given.
_ALL = frozenset({"chgrp", "chmod", "chown", "mv", "rm", "rsync", "shred", "trash", "unlink", "zip", "7z", "7za"})
_COPIERS = frozenset({"cp", "scp"})
_GREPS = frozenset({"grep", "egrep", "fgrep"})
_SEARCHERS = frozenset({"rg", "ag", "ack"})
_TAKERS = _ALL | _COPIERS | _GREPS | _SEARCHERS | {"find", "tar", "bsdtar"}
# Programs that run the command after them.
_WRAPPERS = frozenset(
    {"sudo", "doas", "env", "nice", "nohup", "time", "timeout", "command", "exec", "xargs", "busybox"}
)
# Marks of a word that a shell may replace by several.
_SEVERAL = frozenset("{*?[$`")


def taken_along(words: list[str]) -> frozenset[str]:
    """Returns the words of a simple command that are folders to take along; `.` where it names none and means it."""
    start = 0
    if os.path.basename(words[0]) in _WRAPPERS:
        start = next((at for at, word in enumerate(words) if os.path.basename(word) in _TAKERS), 0)
    program, words = os.path.basename(words[start]), words[start + 1 :]
    if program in _ALL:
        return frozenset(words)
    if program == "find":
        return _of_find(words)
    if program in _COPIERS:
        return _of_copier(words)
    if program in ("tar", "bsdtar"):
        return _of_tar(words)
    if program in _SEARCHERS:
        return _of_search(words)
    if program in _GREPS and (_has_flag(words, "rRd") or _has_option(words, "--rec", "--der", "--dir")):
        return _of_search(words) or frozenset({"."})
    return frozenset()


def _of_find(words: list[str]) -> frozenset[str]:
    """Returns the folders whose files `find` hands to a program or deletes: none, if it only lists names."""
    if not _has_option(words, "-delete", "-exec", "-ok", "-fprint"):
        return frozenset()
    while words and words[0] in ("-H", "-L", "-P"):
        words = words[1:]
    end = next((at for at, word in enumerate(words) if word[:1] in ("-", "(", "!")), len(words))
    return frozenset(words[:end] or ["."])


def _of_copier(words: list[str]) -> frozenset[str]:
    if not (_has_flag(words, "rRa") or _has_option(words, "--rec", "--arc")):
        return frozenset()
    places = _without_options(words)
    has_target_last = len(places) > 1 and _SEVERAL.isdisjoint(places[-1])
    if has_target_last and not _has_flag(words, "t") and not _has_option(words, "--tar"):
        places.pop()
    return frozenset(places)


def _of_tar(words: list[str]) -> frozenset[str]:
    """Returns the folders that `tar` packs. Unpacking reads none, and neither does `-C`."""
    flags = [f"-{words[0]}", *words[1:]] if words and not words[0].startswith("-") else words
    if not (_has_flag(flags, "cru") or _has_option(words, "--cr", "--app", "--cat", "--con", "--up")):
        return frozenset()
    folders = {at + 1 for at, word in enumerate(words) if word in ("-C", "--directory", "--cd")}
    return frozenset(word for at, word in enumerate(words) if at not in folders)


def _of_search(words: list[str]) -> frozenset[str]:
    """Returns the folders that are searched. The first word is the pattern, unless an option gives it."""
    has_pattern = _has_flag(words, "ef") or _has_option(words, "--reg", "--fil")
    return frozenset(_without_options(words)[0 if has_pattern else 1 :])


def _without_options(words: list[str]) -> list[str]:
    return [word for word in words if not word.startswith("-")]


def _has_flag(words: list[str], letters: str) -> bool:
    """Tells whether one of these letters is among the short options."""
    return any(
        word.startswith("-") and not word.startswith("--") and not set(letters).isdisjoint(word) for word in words
    )


def _has_option(words: list[str], *beginnings: str) -> bool:
    """Tells whether there is an option that begins like this; programs accept shortened ones."""
    return any(word.startswith(beginnings) for word in words)
