"""Tests that both spellings of a removal work for every noun."""

from __future__ import annotations

from typing import Any

import pytest

from bough.api.cli.main import build

NOUNS = (
    *("session", "repo", "worktree", "task", "review", "schedule", "preset", "prompt", "agents", "policy", "mcp"),
    *("user", "token"),
)


@pytest.mark.parametrize("noun", NOUNS)
def test_both_spellings_remove(noun: str) -> None:
    """O5: `rm` and `remove` are the same command of every noun, and the help lists one of them."""
    commands: dict[str, Any] = build([noun]).commands[noun].commands
    short, long = commands["rm"], commands["remove"]
    assert short.callback is long.callback and [param.name for param in short.params] == [
        param.name for param in long.params
    ]
    assert [short.hidden, long.hidden].count(False) == (0 if noun in ("task", "token") else 1)


def test_every_noun_is_covered() -> None:
    """O5: No group of commands has a removal that knows one spelling only."""
    groups: dict[str, Any] = build().commands
    removing = {name for name, group in groups.items() if {"rm", "remove"} & {*getattr(group, "commands", {})}}
    assert removing == {*NOUNS}
