"""Targets about which a person or a rule decides: commands, names of files, and texts that are shown or quoted."""

from __future__ import annotations

import os
import shlex
import unicodedata

from bough.api.cli.framework.terminal_safety import clean
from bough.core.policy import globs, patterns
from bough.core.policy.shell.paths import shell_paths
from bough.core.search import query
from bough.core.state.reports.quote_sessions import one_line, quoted
from bough.model.values.visible import visible
from tests.fuzz.target import Target

CWD = "/nowhere/repo"
HOME = {"HOME": "/home/me", "PWD": CWD}
RULES = ("git *", "rm *", "*", "[a-z]*", "?", "", "sudo *", "*[*", "cat ./*", "[^a]*[]]")
# Words with these characters are more than a path to a shell, or name another folder.
MORE_THAN_A_PATH = frozenset("=~{}*?[],:%")
ENTERING = ("cd", "pushd", "git", "tar", "find", "rsync", "make", "env", "npm")
HIDDEN = ("Cc", "Cf", "Zl", "Zp", "Cs")


def shell_command(data: bytes) -> None:
    """Every path of a plain command is found, and no rule that allows covers more than one command."""
    command = data.decode(errors="replace")
    paths = shell_paths(command, CWD, HOME)
    patterns.too_many_commands(command)
    for pattern in RULES:
        allowed = patterns.command_allowed(pattern, command)
        touched = patterns.command_touched(pattern, command)
        stripped = command.strip(patterns.BLANKS)
        assert not allowed or patterns.plain(command) or pattern.strip() == stripped
        # Whatever a rule would allow, the same rule would also deny.
        assert touched or not allowed
    if paths is None or not patterns.plain(command):
        return
    try:
        words = shlex.split(command)
    except ValueError:
        return
    if not words or os.path.basename(words[0]) in ENTERING or "=" in words[0]:
        return
    named = {path.path for path in paths}
    for word in words[1:]:
        parts = word.split("/")
        if word and not word.startswith("-") and ".." not in parts and MORE_THAN_A_PATH.isdisjoint(word):
            if any(other.startswith("-") for other in words):
                continue  # An option may name another folder.
            assert os.path.normpath(os.path.join(CWD, word)) in named, word


def globs_and_paths(data: bytes) -> None:
    """Any text can be a pattern; a pattern without wildcards covers itself."""
    pattern, _, path = data.decode(errors="replace").partition("\0")
    globs.matches(pattern, path)
    globs.matches_end(pattern, path, [0, len(path) // 2])
    globs.matches_names(pattern.split("/"), path.split("/"))
    globs.empty_set(pattern)
    patterns.path_matches(pattern, f"/{path}", CWD)
    patterns.path_holds(pattern, f"/{path}", CWD, folder=True)
    assert globs.matches(globs.escape(path), path)


def shown_texts(data: bytes) -> None:
    """A text that a person reads hides nothing, controls no terminal and does not leave its quotation."""
    text = data.decode(errors="replace")
    seen = visible(text)
    assert visible(seen) == seen
    assert not any(unicodedata.category(char) in HIDDEN and char not in "\n\t" for char in seen)
    printed = clean(text)
    assert not any(unicodedata.category(char) == "Cc" and char not in "\n\t" for char in printed)
    assert all(line.startswith("> ") for line in quoted(text).splitlines())
    assert len(one_line(text).splitlines()) == 1


def search_query(data: bytes) -> None:
    """Any text is a query that both databases can be asked, and it cannot leave its quotation marks."""
    parsed = query.parse(data.decode(errors="replace"))
    words = [word for term in (*parsed.required, *parsed.excluded) for word in term.words]
    assert len(words) <= query.MOST_WORDS
    assert not any(char in word for word in words for char in "\"'\\%_ ")
    if parsed.required:
        for dialect in ("sqlite", "postgres"):
            query.to_sql(parsed, dialect, "session")


TARGETS = (
    Target("shell_command", shell_command),
    Target("globs_and_paths", globs_and_paths),
    Target("shown_texts", shown_texts),
    Target("search_query", search_query),
)
