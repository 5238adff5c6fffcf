"""5d, 5e as a table: what a mode, a rule, a remembered choice and the weight of a call come to. What a call weighs is
found out at the real door, in the api suite."""

from __future__ import annotations

import pytest

from bough.core.state import call_rights
from bough.core.state.call_rights import Weighed
from bough.model.call import Claim
from bough.model.message import raw
from bough.model.rule import Choice, Effect, Rule
from bough.model.session import MODES, RANK, PermissionMode
from bough.model.tool import ToolUse

TOOL = "agor_sessions_spawn"
WITHIN = Weighed(None, foreign=False)
BEYOND = Weighed(None, foreign=True)
RAISES = Weighed("It is more.", foreign=False)


def rule(effect: Effect, tool: str = f"bough/{TOOL}") -> Rule:
    return Rule(
        id="01a1e01a-0000-7000-8000-000000000000",
        position=1,
        effect=effect,
        agent=None,
        kind=None,
        tool=tool,
        command=None,
        path=None,
        note="",
        created_by=raw({}),
        created_at="",
        updated_at="",
    )


def choice() -> Choice:
    return Choice(
        id="01a1e01a-0000-7000-8000-000000000001",
        scope="everywhere",
        session_id=None,
        cwd=None,
        agent="demo",
        tool_kind="call",
        title="",
        key=f"bough/{TOOL}",
        approval_id=None,
        decided_by=raw({}),
        created_at="",
    )


def verdict(mode: PermissionMode, weighed: Weighed, rules: list[Rule], choices: list[Choice]) -> str:
    use = ToolUse(agent="demo", cwd="/", kind="mcp", name=TOOL, server="bough", key=f"bough/{TOOL}")
    return call_rights._decide(mode, use, rules, choices, weighed).effect  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("mode", MODES)
def test_what_raises_rights_asks_or_is_denied(mode: PermissionMode) -> None:
    """5e: in every mode, whatever is remembered and allowed."""
    for rules in ([], [rule("allow")], [rule("ask")], [rule("allow", "*")]):
        for choices in ([], [choice()]):
            assert verdict(mode, RAISES, rules, choices) == "ask"
    assert verdict(mode, RAISES, [rule("deny")], [choice()]) == "deny"


@pytest.mark.parametrize("mode", MODES)
def test_within_ones_rights(mode: PermissionMode) -> None:
    """5d: the mode that allows everything acts at once, others ask unless a rule or a choice allows; plan asks."""
    top = RANK[mode] == RANK["allow-all"]
    allowed = "ask" if mode == "plan" else "allow"
    assert verdict(mode, WITHIN, [], []) == ("allow" if top else "ask")
    assert verdict(mode, WITHIN, [rule("allow")], []) == allowed
    assert verdict(mode, WITHIN, [], [choice()]) == allowed
    assert verdict(mode, WITHIN, [rule("ask")], []) == "ask"
    assert verdict(mode, WITHIN, [rule("deny"), rule("allow")], [choice()]) == "deny"
    assert verdict(mode, WITHIN, [rule("allow", "other/*")], []) == ("allow" if top else "ask")


@pytest.mark.parametrize("mode", MODES)
def test_beyond_ones_tree(mode: PermissionMode) -> None:
    """5d: asks in every mode, unless a rule or a choice allows exactly that."""
    assert verdict(mode, BEYOND, [], []) == "ask"
    assert verdict(mode, BEYOND, [rule("allow")], []) == ("ask" if mode == "plan" else "allow")


def test_by_what_calls_are_known_again() -> None:
    """P3: a tool within the tree, one target beyond it, and nothing for what raises rights."""
    claim = Claim(title="?", target="t", repo="r")
    assert call_rights.key(TOOL, claim, WITHIN) == f"bough/{TOOL}"
    assert call_rights.key(TOOL, claim, BEYOND) == f"bough/{TOOL} t"
    assert call_rights.key(TOOL, Claim(title="?", repo="r"), BEYOND) == f"bough/{TOOL} r"
    assert call_rights.key(TOOL, claim, RAISES) == ""
