"""Tests what each kind of approval makes of an answer, and of no answer, by the table of kinds alone."""

from __future__ import annotations

from typing import Any, cast

import pytest

from bough.agents.catalog import Catalog
from bough.core.approvals.base import ALLOWED_ON_EXPIRY, DENIED_ON_EXPIRY
from bough.core.approvals.kinds import KINDS, TOOL_USE, kind_of
from bough.core.approvals.options import decision_of, once, options_of, why_not_once
from bough.core.store.transactions import Change
from bough.errors import BoughError
from bough.model.approval import HELD_TURN_KINDS, Approval, Decision, Option
from bough.model.message import raw

MOMENT = "2026-11-01T00:00:00.000000Z"
YES, EVER, NO = Option("y", "Yes", "allow_once"), Option("e", "Ever", "allow_always"), Option("n", "No", "reject_once")
NEVER = Option("never", "Never", "reject_always")
# Nothing that is tested here reads the database or the catalog.
NO_CHANGE, NO_CATALOG = cast("Change", None), cast("Catalog", None)


def approval(kind: str, **changes: Any) -> Approval:
    fields: dict[str, Any] = {
        **{"id": "a", "session_id": "s", "task_id": "t", "attempt": 1, "status": "pending", "title": "Run it?"},
        **{"tool_kind": kind, "tool_call": raw({}), "options": raw([YES, EVER, NO]), "request_id": raw(None)},
        **dict.fromkeys(("created_at", "updated_at", "expires_at"), MOMENT),
        **dict.fromkeys(("option_id", "decision", "decided_by", "decided_at", "reason")),
        **{"on_expiry": "allow", "key": "key"},
    }
    return Approval(**fields | changes)


def refusal(kind: str, decision: Decision, arguments: dict[str, Any] | None = None, **fields: Any) -> str | None:
    """Returns the code with which a kind refuses an answer; None if the answer fits."""
    asked = approval(kind, **fields)
    try:
        kind_of(asked).check(asked, decision, arguments)
    except BoughError as error:
        return error.code
    return None


def test_a_kind_has_one_handler() -> None:
    """P4: Every kind is in the table by its own name; any other one is a tool use of an agent."""
    assert {name for name, kind in KINDS.items() if kind.name != name} == set()
    assert KINDS.keys() >= set(HELD_TURN_KINDS)
    for name in ("execute", "edit", "fetch", "no such kind"):
        assert kind_of(approval(name)) is TOOL_USE


ONLY_ONCE = ("switch_mode", "question")


@pytest.mark.parametrize("kind", [*KINDS, "execute"])
def test_which_answers_fit(kind: str) -> None:
    """P3, P4: Changes of mode and questions are never allowed for always, nor is a call that raises rights; only a call
    that is allowed takes other arguments."""
    assert refusal(kind, "allow") is refusal(kind, "deny") is None
    assert refusal(kind, "allow_always") == ("never_always" if kind in ONLY_ONCE else None)
    assert refusal(kind, "allow_always", key=None) == ("never_always" if kind in (*ONLY_ONCE, "call") else None)
    assert refusal(kind, "allow", {}) == (None if kind == "call" else "bad_answer")
    assert refusal(kind, "deny", {}) == "bad_answer"


def test_always_is_offered_by_key() -> None:
    """P3: People can say "always" to what has a key, by which the same use is recognized again, except to a change of
    mode."""
    for name in (*KINDS, "execute"):
        asked = approval(name)
        assert kind_of(asked).offers_always(asked) is (name != "switch_mode")
        assert not kind_of(asked).offers_always(approval(name, key=None))


def test_how_far_an_answer_is_remembered() -> None:
    """P3: "Always" holds in the session unless the person says otherwise; an allowed repository is trusted in its
    folder; nothing else is remembered."""
    always = {key: [None, "session", None] for key in ("call", "network", "switch_mode", "execute")}
    remembered = always | {"trust": ["worktree", "worktree", None]}
    for name in (*KINDS, "execute"):
        kind = KINDS.get(name, TOOL_USE)
        scopes = [kind.remembered(approval(name, decision=decision)) for decision in ("allow", "allow_always", "deny")]
        assert scopes == remembered.get(name, [None, None, None]), name


@pytest.mark.parametrize("kind", ["call", "switch_mode", "network", *HELD_TURN_KINDS])
async def test_nobody_answers(kind: str) -> None:
    """P4: A session that is set to allow then allows a call within its rights. A host, a change of mode and a held turn
    are for people to allow, and a session that is set to deny denies all."""
    for key in ("key", None):
        for on_expiry in ("allow", "deny"):
            asked = approval(kind, key=key, on_expiry=on_expiry)
            decision, reason, content = await kind_of(asked).expire(NO_CHANGE, NO_CATALOG, asked)
            allowed = kind == "call" and key is not None and on_expiry == "allow"
            assert (decision, content) == ("allow" if allowed else "deny", None)
            assert reason == ALLOWED_ON_EXPIRY if allowed else reason.startswith("Nobody answered in time, and")
            assert kind in ("network", "switch_mode") or reason in (ALLOWED_ON_EXPIRY, DENIED_ON_EXPIRY)


@pytest.mark.parametrize(
    ("options", "allow", "deny"),
    [
        ([YES, EVER, NO], YES, NO),
        ([EVER, NO], None, NO),
        ([YES, Option("y2", "Yes, quickly", "allow_once"), NO], None, NO),
        ([YES, NO, Option("n2", "No, and stop", "reject_once")], YES, NO),
        ([YES, NEVER], YES, None),
        ([], None, None),
    ],
)
def test_the_option_for_this_time(options: list[Option], allow: Option | None, deny: Option | None) -> None:
    """P3: A decision is carried by the agent's option for this one time, never by one for always; if several allow,
    only a person can choose."""
    assert options_of(approval("execute", options=raw(options))) == options
    assert once(options, "allow") == once(options, "allow_always") == allow
    assert once(options, "deny") == deny
    several = sum(option.kind == "allow_once" for option in options) > 1
    assert ("several ways" in why_not_once(options)) is (several or allow is not None)


def test_what_an_option_decides() -> None:
    """P3: An option decides by its kind, whatever it is called."""
    assert [decision_of(option) for option in (YES, EVER, NO, NEVER)] == ["allow", "allow_always", "deny", "deny"]
    assert decision_of(Option("n", "Sure", "reject_once")) == "deny"
