"""Tests that patterns of rules over commands and paths cover what they say, and cannot be evaded (P3)."""

from __future__ import annotations

import shlex
import string
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bough.core.policy import globs
from bough.core.policy.patterns import command_allowed, command_touched, path_matches

WORDS = st.lists(st.text(string.ascii_letters + string.digits + "-_./=", min_size=1), min_size=1, max_size=4)
OPERATORS = [";", "&", "&&", "|", "||", ">", ">>", "<", "\n", "$(", "`", "${x", "$x", "(", ")", "\r", "\0", "<(", ">|"]
# Few letters, so that much matches, and every character with a meaning.
LETTERS = st.text("ab-]", max_size=12)
PIECES = st.lists(st.sampled_from(["a", "b", "*", "*", "?", "[ab]", "[!a]", "[^b]", "[]-]", "[b-a]", "[", "]", "-"]))
HOSTILE = """
from bough.core.policy.patterns import command_allowed, command_touched, path_matches
line = "a" * 20_000
for count in (1, 5, 20, 400):
    for piece in ("*a", "*a?", "*[a-z]", "a*", "?", "**"):
        pattern = piece * count + "b"
        assert not command_allowed(pattern, line)
        assert not command_touched(pattern, "sudo " + "a " * 10_000)
        assert not path_matches(pattern, "/r/" + line, "/r")
    assert not path_matches("**/a/" * count + "b", "/r/" + "a/" * 2_000 + "a", "/r")
"""


@pytest.mark.parametrize(
    "command",
    [
        "git log; rm -rf .",
        "git log && rm -rf .",
        "git log & rm -rf .",
        "git log | sh",
        "git log > ~/.bashrc",
        "git log < /etc/passwd",
        "git log $(rm -rf .)",
        "git log `rm -rf .`",
        "git log ${x:-$(rm y)}",
        "git log $IFS",
        "git log\nrm -rf .",
        "git log \\\nrm",
        "git log 'a; b'",
        "rm -rf .; git log",
        "GIT_PAGER=x git log",
        "agit log",
    ],
)
def test_an_allow_pattern_is_not_tricked(command: str) -> None:
    """P3: A star does not reach beyond the one plain command that was meant, quoted or not."""
    assert not command_allowed("git *", command)
    assert command_allowed(command, command), "the very line, character by character, is what was meant"
    assert not command_allowed(command, command + " ; x")


@pytest.mark.parametrize(
    ("pattern", "command", "covered"),
    [
        ("git status", "git status", True),
        ("git status", " git status\n", True),
        ("git status", "git status -s", False),
        ("git *", "git log --oneline 'a b'", True),
        ("git log --oneline -n [0-9]", "git log --oneline -n 5", True),
        ("npm run ?est", "npm run test", True),
        ("git *", "GIT log", False),
        ("*", "anything at all", True),
        ("*", "anything; at all", False),
        ("make * && make test", "make * && make test", True),
        ("make * && make test", "make x && make test", False),
    ],
)
def test_allow_patterns(pattern: str, command: str, covered: bool) -> None:
    """P3: Matches the whole line, with case."""
    assert command_allowed(pattern, command) is covered


@given(WORDS, WORDS, st.sampled_from(OPERATORS), st.sampled_from(["*", "x *", "x*", "* *"]))
def test_no_operator_passes_a_star(first: list[str], second: list[str], operator: str, pattern: str) -> None:
    """P3: A pattern never covers a line with an operator unless it is that line."""
    line = f"x {' '.join(first)} {operator} {' '.join(second)}"
    assert not command_allowed(pattern, line)


@given(st.text(max_size=30), st.sampled_from(["git *", "*", "* x", "a?b*"]))
def test_a_covered_line_is_one_command(line: str, pattern: str) -> None:
    """P3: A shell would see nothing but words in any line that a star covers."""
    covered = line.strip() != pattern and command_allowed(pattern, line)
    lexer = shlex.shlex(line.strip(" \t\r\n").replace("'", "").replace('"', ""), punctuation_chars=True)
    lexer.commenters = ""
    lexer.escape = ""
    assert not (covered and set("".join(lexer)) & set(";&|<>()`$\n"))


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf x",
        "  rm   -rf x",
        "cd y && rm -rf x",
        "cd y&&rm -rf x",
        "true; rm -rf x",
        "true | rm -rf x",
        "true & rm -rf x",
        "true\nrm -rf x",
        "echo $(rm -rf x)",
        "echo `rm -rf x`",
        "(rm -rf x)",
        "{ rm -rf x; }",
        "/bin/rm -rf x",
        '"rm" -rf x',
        "r\\m -rf x",
        "A=b C=d rm -rf x",
        "sudo rm -rf x",
        "sudo -u me rm -rf x",
        "env A=b rm -rf x",
        "bash -c 'rm -rf x'",
        'sh -lc "cd y; rm -rf x"',
        "find . | xargs rm -rf x",
        "timeout 5 rm -rf x",
        "if true; then rm -rf x; fi",
        "while ! rm -rf x; do :; done",
        "cd y && rm \\\n -rf x",
        "r\\\nm -rf x",
        "echo y\\\\\nrm -rf x",
        ">out rm -rf x",
        "2>/dev/null rm -rf x",
        "2>&1 rm -rf x",
        "<'a b' rm -rf x",
        "A='b c' rm -rf x",
        "A=b\\ c rm -rf x",
        'A="b;c" D=e rm -rf x',
    ],
)
def test_a_deny_pattern_finds_its_command(command: str) -> None:
    """P3: Matches the whole line or any command in it."""
    assert command_touched("rm *", command)
    assert command_touched("rm -rf*", command)


@pytest.mark.parametrize("command", ["git rm x", "echo rm x", "rmdir x", "ls rm", "rm", ""])
def test_a_deny_pattern_leaves_others_alone(command: str) -> None:
    """P3: A word among the arguments is not a command."""
    assert not command_touched("rm *", command)


@given(WORDS, st.sampled_from([";", "&&", "||", "|", "&", "\n"]), WORDS)
def test_a_denied_command_is_found_behind_any_other(before: list[str], operator: str, args: list[str]) -> None:
    """P3: Finds a denied command whatever comes before it."""
    assert command_touched("curl *", f"{' '.join(before)} {operator} curl {' '.join(args)}")


@pytest.mark.parametrize(
    ("pattern", "path", "covered"),
    [
        ("src/*", "/r/src/a", True),
        ("src/*", "/r/src/a/b", False),
        ("src/**", "/r/src/a/b", True),
        ("src/**", "/r/src", True),
        ("src/", "/r/src/a/b", True),
        ("src/**", "/r/srcs/a", False),
        ("**/*.py", "/r/a.py", True),
        ("**/*.py", "/r/x/y/a.py", True),
        ("**/*.py", "/q/a.py", False),
        ("a/**/b", "/r/a/b", True),
        ("a/**/b", "/r/a/x/y/b", True),
        ("*", "/r/a", True),
        ("*", "/r/a/b", False),
        ("**", "/r/a/b", True),
        (".", "/r", True),
        ("./a", "/r/a", True),
        ("../q/*", "/q/a", True),
        ("/etc/**", "/etc/x/y", True),
        ("/**", "/anything/at all", True),
        ("/etc/*", "/r/etc/a", False),
        ("a?c", "/r/abc", True),
        ("a?c", "/r/a/c", False),
        ("[ab].txt", "/r/a.txt", True),
        ("[!ab].txt", "/r/a.txt", False),
        ("[!ab].txt", "/r/c.txt", True),
        ("x[!a]y", "/r/x/y", False),
        ("[", "/r/[", True),
        ("[!]", "/r/[!]", True),
        ("[]", "/r/[]", True),
        ("[]a]", "/r/]", True),
        ("[z-a]", "/r/m", False),
        ("[!z-a]", "/r/m", True),
        ("[a-]", "/r/-", True),
        ("[^ab].txt", "/r/c.txt", True),
        ("..", "/", True),
        ("../", "/q/a", True),
        ("a/../b", "/r/b", True),
        ("a/**/b/**/c", "/r/a/b/b/c", True),
        ("a/**/b/**/c", "/r/a/b/x", False),
        ("~nobody-at-all/x", "/r/~nobody-at-all/x", True),
        ("a.b", "/r/aXb", False),
        (".env", "/r/.env", True),
        ("*", "/r/.env", True),
    ],
)
def test_path_patterns(pattern: str, path: str, covered: bool) -> None:
    """P3: Patterns are relative to the session's folder; one star matches within a folder, two across folders."""
    assert path_matches(pattern, path, "/r") is covered


def test_folder_names_are_not_patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    """P3: Special characters in the session's folder or the home folder have no special meaning."""
    monkeypatch.setenv("HOME", "/home/m[e]")
    assert path_matches("~/*", "/home/m[e]/a", "/r")
    assert path_matches("~", "/home/m[e]", "/r")
    assert path_matches("~/", "/home/m[e]/a/b", "/r")
    assert not path_matches("~/*", "/home/me/a", "/r")
    assert path_matches("a", "/r[x]*/a", "/r[x]*")
    assert not path_matches("a", "/rx/a", "/r[x]*")
    assert path_matches("a/**", "/a/b", "/")


@given(PIECES, LETTERS)
def test_globs_mean_what_they_say(pieces: list[str], text: str) -> None:
    """P3: The fast matching agrees with a slow one that tries everything."""
    pattern = "".join(pieces)
    assert globs.matches(pattern, text) is _slow(pattern, text)
    assert globs.matches(globs.escape(pattern), text) is (pattern == text)
    assert not (globs.empty_set(pattern) and globs.matches(pattern, text))


@given(PIECES, LETTERS, st.sets(st.integers(0, 12)))
def test_ends_are_found(pieces: list[str], text: str, places: set[int]) -> None:
    """P3: Finds a command wherever in a line it may start, without matching the line from each place again."""
    starts = sorted(place for place in places if place <= len(text))
    pattern = "".join(pieces)
    assert globs.matches_end(pattern, text, starts) is any(_slow(pattern, text[place:]) for place in starts)


@given(st.lists(st.sampled_from(["**", "*", "a", "b", "?b", "a*"])), st.lists(st.sampled_from(["a", "b", "ab", ""])))
def test_two_stars_mean_what_they_say(pattern: list[str], parts: list[str]) -> None:
    """P3: The fast matching of folders agrees with a slow one that tries everything."""
    assert globs.matches_names(pattern, parts) is _slow_parts(tuple(pattern), tuple(parts))


@cache
def _slow(pattern: str, text: str) -> bool:
    """Matches a glob by trying everything."""
    if not pattern:
        return not text
    if pattern[0] == "*":
        return any(_slow(pattern[1:], text[skipped:]) for skipped in range(len(text) + 1))
    end = pattern.find("]", 3 if pattern[1:2] in ("!", "^") else 2) if pattern[0] == "[" else -1
    if end == -1:
        return bool(text) and pattern[0] in ("?", text[0]) and _slow(pattern[1:], text[1:])
    other = pattern[1] in "!^"
    fits = bool(text) and _listed(pattern[2 if other else 1 : end], text[0]) is not other
    return fits and _slow(pattern[end + 1 :], text[1:])


def _listed(members: str, char: str) -> bool:
    if members[1:2] == "-" and len(members) > 2:
        return members[0] <= char <= members[2] or _listed(members[3:], char)
    return bool(members) and (members[0] == char or _listed(members[1:], char))


@cache
def _slow_parts(pattern: tuple[str, ...], parts: tuple[str, ...]) -> bool:
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_slow_parts(pattern[1:], parts[skipped:]) for skipped in range(len(parts) + 1))
    return bool(parts) and _slow(pattern[0], parts[0]) and _slow_parts(pattern[1:], parts[1:])


def test_no_pattern_takes_long(tmp_path: Path) -> None:
    """P3: Many stars against a long text that almost matches take no long time."""
    subprocess.run([sys.executable, "-c", HOSTILE], cwd=tmp_path, check=True, timeout=60)


@given(st.text(max_size=20), st.text(max_size=20))
def test_any_text_is_a_pattern(pattern: str, path: str) -> None:
    """P3: No text from people or agents breaks the matching."""
    path_matches(pattern, "/" + path, "/r")
    command_touched(pattern, path)
    command_allowed(pattern, path)
