"""B5: when a budget holds a turn, as a table, without a server."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from bough.core.state import budgets
from bough.core.state.budgets import Overdrawn
from bough.core.store.sql import TREES
from bough.model.tree import Budget, Used
from bough.settings import Settings
from tests.core.state.rows import FakeTx, session, task

BUDGET: dict[str, Any] = {field.name: 0 for field in msgspec.structs.fields(Budget)}
USED: dict[str, Any] = {field.name: 0 for field in msgspec.structs.fields(Used)}
NO_LIMITS: dict[str, Any] = {"max_tokens": None, "max_cost": None, "max_turns": None, "max_minutes": None}


@pytest.mark.parametrize(
    ("limits", "used", "running", "over"),
    [
        ({}, {"tokens": 10**9, "cost": 10**6, "turns": 999, "seconds": 10**6}, 5, None),
        ({"max_tokens": 100}, {"tokens": 99}, 0, None),
        ({"max_tokens": 100}, {"tokens": 100}, 0, "100 tokens"),
        ({"max_tokens": 100, "base_tokens": 50}, {"tokens": 149}, 0, None),
        ({"max_tokens": 100, "base_tokens": 50}, {"tokens": 150}, 0, "100 tokens"),
        ({"max_cost": 0.5}, {"cost": 0.5}, 0, "0.5 cost"),
        ({"max_turns": 2}, {"turns": 1}, 0, None),
        ({"max_turns": 2}, {"turns": 1}, 1, "2 turns"),
        ({"max_minutes": 2}, {"seconds": 119}, 0, None),
        ({"max_minutes": 2}, {"seconds": 120}, 0, "2 minutes"),
    ],
)
async def test_a_turn_starts_below_every_limit(
    limits: dict[str, Any], used: dict[str, Any], running: int, over: str | None
) -> None:
    """Uses count from when the budget was set, and turns that run count as used."""
    tx = FakeTx(
        {
            TREES.budget.name: Budget(**BUDGET | NO_LIMITS | limits),
            TREES.used.name: Used(**USED | used),
            TREES.under_way.name: running,
        }
    )
    if over is None:
        await budgets.check(tx, session(), task(source_session_id=None), Settings())
        return
    with pytest.raises(Overdrawn, match=f"budget of {over}"):
        await budgets.check(tx, session(), task(source_session_id=None), Settings())


@pytest.mark.parametrize(
    ("from_session", "turns", "over"), [(None, 999, False), ("other", 3, False), ("other", 4, True)]
)
async def test_unattended_turns(from_session: str | None, turns: int, over: bool) -> None:
    """A person's prompt always starts; what agents cause among themselves is limited."""
    tx = FakeTx({TREES.unattended.name: turns})
    settings = Settings(max_unattended=3)
    if not over:
        await budgets.check(tx, session(), task(source_session_id=from_session), settings)
        return
    with pytest.raises(Overdrawn) as raised:
        await budgets.check(tx, session(), task(source_session_id=from_session), settings)
    assert raised.value.code == "unattended"
