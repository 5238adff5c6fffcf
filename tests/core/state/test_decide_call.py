"""Tests as a table what a mode, rules, remembered choices and the weight of a call decide (5d, 5e). The tests of the
MCP door check what a call weighs."""

from __future__ import annotations

import pytest

from bough.core.state.calls import decide_call
from bough.core.state.calls.raised_rights import RightsCheck
from bough.model.call import Claim
from bough.model.message import raw
from bough.model.rule import Choice, Effect, Rule
from bough.model.session import MODES, RANK, PermissionMode
from bough.model.tool import ToolUse

TOOL = "agor_sessions_spawn"
WITHIN = RightsCheck(None, foreign=False)
BEYOND = RightsCheck(None, foreign=True)
RAISES = RightsCheck("It is more.", foreign=False)


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


def verdict(mode: PermissionMode, weighed: RightsCheck, rules: list[Rule], choices: list[Choice]) -> str:
    use = ToolUse(agent="demo", cwd="/", kind="mcp", name=TOOL, server="bough", key=f"bough/{TOOL}")
    return decide_call._decide(mode, use, rules, choices, weighed).effect  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("mode", MODES)
def test_a_call_that_raises_rights_is_never_allowed(mode: PermissionMode) -> None:
    """5e: A call that raises rights asks or is denied in every mode, whatever rules and choices allow."""
    for rules in ([], [rule("allow")], [rule("ask")], [rule("allow", "*")]):
        for choices in ([], [choice()]):
            assert verdict(mode, RAISES, rules, choices) == "ask"
    assert verdict(mode, RAISES, [rule("deny")], [choice()]) == "deny"


@pytest.mark.parametrize("mode", MODES)
def test_a_call_within_the_callers_rights(mode: PermissionMode) -> None:
    """5d: Runs at once in the mode that allows everything; other modes ask unless a rule or a choice allows it; plan
    always asks."""
    top = RANK[mode] == RANK["allow-all"]
    allowed = "ask" if mode == "plan" else "allow"
    assert verdict(mode, WITHIN, [], []) == ("allow" if top else "ask")
    assert verdict(mode, WITHIN, [rule("allow")], []) == allowed
    assert verdict(mode, WITHIN, [], [choice()]) == allowed
    assert verdict(mode, WITHIN, [rule("ask")], []) == "ask"
    assert verdict(mode, WITHIN, [rule("deny"), rule("allow")], [choice()]) == "deny"
    assert verdict(mode, WITHIN, [rule("allow", "other/*")], []) == ("allow" if top else "ask")


@pytest.mark.parametrize("mode", MODES)
def test_a_call_beyond_the_callers_tree(mode: PermissionMode) -> None:
    """5d: Asks in every mode unless a rule allows it."""
    assert verdict(mode, BEYOND, [], []) == "ask"
    assert verdict(mode, BEYOND, [rule("allow")], []) == ("ask" if mode == "plan" else "allow")


def test_the_keys_of_remembered_calls() -> None:
    """P3: An "always" covers a tool within the tree, or one target beyond it; a call that raises rights has no key."""
    claim = Claim(title="?", target="t", repo="r")
    assert decide_call.key(TOOL, claim, WITHIN) == f"bough/{TOOL}"
    assert decide_call.key(TOOL, claim, BEYOND) == f"bough/{TOOL} t"
    assert decide_call.key(TOOL, Claim(title="?", repo="r"), BEYOND) == f"bough/{TOOL} r"
    assert decide_call.key(TOOL, claim, RAISES) == ""
