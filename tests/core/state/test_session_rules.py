"""Tests as tables which ended sessions can be resumed, and what a turn has cost."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from bough.core.state.end_reasons import IDLE, MARKED_FAILED
from bough.core.state.limits.cost import grown_cost
from bough.core.state.session_lifecycle import check_resumable, refuse_side_question
from bough.errors import Conflict
from bough.model.message import raw
from bough.model.session import Kind, SessionMetadata, Status
from tests.core.state.fake_rows import session, task


@pytest.mark.parametrize(
    ("status", "reason"),
    [("completed", IDLE), ("completed", "completed"), ("cancelled", "cancelled"), ("error", MARKED_FAILED)],
)
def test_sessions_that_can_be_resumed(status: Status, reason: str) -> None:
    """T2: A completed or cancelled session can be resumed, and so can one that was marked as failed by hand."""
    check_resumable(session(status=status, metadata=SessionMetadata(end_reason=reason)))


@pytest.mark.parametrize("reason", ["agent_failed", None])
def test_a_fatal_error_is_not_resumed(reason: str | None) -> None:
    """T2: Refuses to resume a session that ended in an error, and says that it can be forked."""
    with pytest.raises(Conflict, match="Fork it") as raised:
        check_resumable(session(status="error", metadata=SessionMetadata(end_reason=reason)))
    assert raised.value.code == "session_failed"


@pytest.mark.parametrize("kind", ["root", "fork", "subsession"])
def test_kinds_that_accept_prompts(kind: Kind) -> None:
    """B5: Every session of a tree accepts prompts, except side questions."""
    refuse_side_question(session(kind=kind))


def test_a_side_question_is_asked_once() -> None:
    """B4: Refuses a second prompt to a side question."""
    with pytest.raises(Conflict) as raised:
        refuse_side_question(session(kind="btw"))
    assert raised.value.code == "aside_asked_once"


def dollars(amount: float, currency: str = "USD") -> dict[str, Any]:
    return {"amount": amount, "currency": currency}


@pytest.mark.parametrize(
    ("before", "now", "grown"),
    [
        (None, dollars(2), 2),
        (dollars(0.5), dollars(2), 1.5),
        (dollars(2), dollars(2), 0),
        (dollars(0.1), dollars(0.3), 0.2),
        # The agent has restarted its count.
        (dollars(5), dollars(2), 2),
        (dollars(1, "EUR"), dollars(2), 2),
    ],
)
def test_the_cost_of_a_turn(before: dict[str, Any] | None, now: dict[str, Any], grown: float) -> None:
    """B5: A turn costs what the session's cost has grown by since the prompt was sent."""
    sent = task(sent_attempt=1, cost_before=raw(before) if before is not None else None)
    cost = grown_cost(session(cost=raw(now)), sent)
    assert cost is not None
    assert msgspec.json.decode(cost)["amount"] == grown


@pytest.mark.parametrize(("cost", "sent_attempt"), [(None, 1), (dollars(2), 0)])
def test_an_unknown_cost(cost: dict[str, Any] | None, sent_attempt: int) -> None:
    """B5: The cost is unknown if the agent reports none or was not sent the prompt."""
    owner = session(cost=raw(cost) if cost is not None else None)
    assert grown_cost(owner, task(sent_attempt=sent_attempt)) is None
