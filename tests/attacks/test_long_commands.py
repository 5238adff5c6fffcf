"""Tries to keep the server busy with commands that are slow to read."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from bough.agents.catalog import load_catalog
from bough.core.policy.decide import decide
from bough.core.policy.shell.paths import LONGEST_COMMAND
from bough.core.policy.tool_use.read import read
from tests.core.policy.policies import rule

SIZE = LONGEST_COMMAND - 100
# Takes well under a second each; the limit leaves room for a machine that is busy with other tests.
SECONDS = 5.0
SLOW = {
    "words": "ab " * (SIZE // 3),
    "different words": " ".join(str(number) for number in range(SIZE // 6)),
    "single quotes": "'" * SIZE,
    "double quotes": '"' * SIZE,
    "backslashes": "\\" * SIZE,
    "quotes and backslashes": '"\\' * (SIZE // 2),
    "here documents": "<<a " * (SIZE // 4) + "\n" * 10,
    "here documents by line": "<<a\n" * (SIZE // 4),
    "braces": "{a,b}" * (SIZE // 5),
    "open braces": "{a," * (SIZE // 3),
    "substitutions": "$(" * (SIZE // 2),
    "nested script": 'sh -c "' + "x " * (SIZE // 2 - 10) + '"',
    "one word": "a" * SIZE,
    "slashes": "/" * SIZE,
    "parents": "../" * (SIZE // 3),
    "operators": ";" * SIZE,
    "assignments": "A=b " * (SIZE // 4),
    "doubling": "A=$A$A;" * (SIZE // 7),
    "doubling from text": "A=xxxxxxxx;" + "A=$A$A;" * (SIZE // 7 - 2),
    "wrappers": "sudo " * (SIZE // 5),
    "folders": "-C a " * (SIZE // 5),
    "changes of folder": "cd a;" * (SIZE // 5),
    "different commands": "".join(f"{number};" for number in range(SIZE // 6)),
    "pieces": "a,b=c:" * (SIZE // 6),
    "homes": "~a " * (SIZE // 3),
    "an address": "fetch https://example.com/a",
    "two slashes": "//a " * (SIZE // 4),
}


@pytest.mark.parametrize("name", SLOW)
def test_reading_takes_linear_time(name: str, tmp_path: Path) -> None:
    """P3: No command of 64 kB takes long to read and to compare with 100 rules."""
    command = SLOW[name]
    assert len(command) <= LONGEST_COMMAND
    rules = [
        rule("deny", command=f"{program} *") for program in ("rm", "git push", "*a*b*c*", "sudo x") for _ in range(25)
    ]
    started = time.process_time()
    use = read(load_catalog(tmp_path), "demo", str(tmp_path), {"kind": "execute", "args": {"command": command}})
    decide("default", use, rules, [])
    assert time.process_time() - started < SECONDS


def test_long_commands_cost_nothing(tmp_path: Path) -> None:
    """P3: A command of several megabytes is asked about without being read."""
    command = "a;" * 2_000_000
    started = time.process_time()
    use = read(load_catalog(tmp_path), "demo", str(tmp_path), {"kind": "execute", "args": {"command": command}})
    verdict = decide("allow-all", use, [rule("deny", command="rm *")] * 100, [])
    assert verdict.effect == "ask"
    assert time.process_time() - started < SECONDS


def test_two_slashes_are_one_root(tmp_path: Path) -> None:
    """P3: A path that begins with two slashes is the same as with one: it ends, and it is protected."""
    catalog, home = load_catalog(tmp_path / "data"), str(Path.home())
    for path in ("//a", "///a/b", "https://example.com/a"):
        edit = {"kind": "edit", "locations": [{"path": path}], "args": {"path": path}}
        assert read(catalog, "demo", str(tmp_path), edit).protected == ()
    for path in (f"/{home}/.bashrc", f"//{home}/.bashrc"):
        edit = {"kind": "edit", "locations": [{"path": path}], "args": {"path": path}}
        command = {"kind": "execute", "args": {"command": f"tee {path}"}}
        assert all(read(catalog, "demo", str(tmp_path), body).protected for body in (edit, command))
