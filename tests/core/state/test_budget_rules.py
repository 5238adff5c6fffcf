"""Tests as tables when a budget holds a turn, and which budgets can be set (B5)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from bough.core.state.limits import budgets
from bough.core.state.limits.budgets import BudgetBody, BudgetExceeded, Budgets
from bough.core.store import records
from bough.core.store.sql import TREES
from bough.errors import Denied, Invalid
from bough.model.session import Caller
from bough.model.trees.tree import Budget, TreeUsage
from bough.model.values.times import now
from bough.settings import Settings
from bough.storage.backend import Tx
from tests.core.state.database_rows import StoredRows
from tests.core.state.fake_rows import FakeTx, session, task

BUDGET: dict[str, Any] = {field.name: 0 for field in msgspec.structs.fields(Budget)}
USED: dict[str, Any] = {field.name: 0 for field in msgspec.structs.fields(TreeUsage)}
NO_LIMITS: dict[str, Any] = {"max_tokens": None, "max_cost": None, "max_turns": None, "max_minutes": None}


def tree(limits: dict[str, Any], used: dict[str, Any], running: int) -> Tx:
    """Returns a transaction that sees a tree with these limits, usage and running turns."""
    return FakeTx(
        {
            TREES.budget.name: Budget(**BUDGET | NO_LIMITS | limits),
            TREES.used.name: TreeUsage(**USED | used),
            TREES.under_way.name: running,
        }
    )


@pytest.mark.parametrize(
    ("limits", "used", "running"),
    [
        ({}, {"tokens": 10**9, "cost": 10**6, "turns": 999, "seconds": 10**6}, 5),
        ({"max_tokens": 100}, {"tokens": 99}, 0),
        ({"max_tokens": 100, "base_tokens": 50}, {"tokens": 149}, 0),
        ({"max_cost": 0.5}, {"cost": 0.49}, 0),
        ({"max_turns": 2}, {"turns": 1}, 0),
        ({"max_turns": 2, "base_turns": 3}, {"turns": 3}, 1),
        ({"max_minutes": 2}, {"seconds": 119}, 0),
    ],
)
async def test_a_turn_starts_below_every_limit(limits: dict[str, Any], used: dict[str, Any], running: int) -> None:
    """B5: A turn starts while every use, counted since the budget was set, is below its limit."""
    await budgets.check(tree(limits, used, running), session(), task(source_session_id=None), Settings())


@pytest.mark.parametrize(
    ("limits", "used", "running", "over"),
    [
        ({"max_tokens": 100}, {"tokens": 100}, 0, "100 tokens"),
        ({"max_tokens": 100, "base_tokens": 50}, {"tokens": 150}, 0, "100 tokens"),
        ({"max_cost": 0.5}, {"cost": 0.5}, 0, "0.5 cost"),
        ({"max_turns": 2}, {"turns": 1}, 1, "2 turns"),
        ({"max_turns": 2}, {}, 2, "2 turns"),
        ({"max_minutes": 2}, {"seconds": 120}, 0, "2 minutes"),
    ],
)
async def test_a_limit_holds_a_turn(limits: dict[str, Any], used: dict[str, Any], running: int, over: str) -> None:
    """B5: A turn is held when one limit is reached; running turns count as used."""
    with pytest.raises(BudgetExceeded, match=f"budget of {over}"):
        await budgets.check(tree(limits, used, running), session(), task(source_session_id=None), Settings())


@pytest.mark.parametrize(("from_session", "turns"), [(None, 999), ("other", 3)])
async def test_unattended_turns_within_the_limit(from_session: str | None, turns: int) -> None:
    """B5: A person's prompt always starts; prompts from agents start up to the limit."""
    tx = FakeTx({TREES.unattended.name: turns})
    await budgets.check(tx, session(), task(source_session_id=from_session), Settings(max_unattended=3))


async def test_too_many_unattended_turns() -> None:
    """B5: Holds the turn beyond the limit on turns that agents cause among themselves."""
    tx = FakeTx({TREES.unattended.name: 4})
    with pytest.raises(BudgetExceeded) as raised:
        await budgets.check(tx, session(), task(source_session_id="other"), Settings(max_unattended=3))
    assert raised.value.code == "unattended"


async def test_who_counts_as_a_person(rows: StoredRows) -> None:
    """B5: Prompts of other sessions and outcomes of calls are turns that agents cause; a nudge is neither theirs nor a
    person's, so none of them starts the count again."""
    root = await rows.session()
    await rows.task(root, "A person begins.", "completed")
    await rows.task(root, "work", started_at=now(), source="session", source_session_id=root.id)
    await rows.task(root, "The outcome of a call", started_at=now(), source="callback")
    await rows.task(root, "This message is from Bough.", source="schedule", nudge=True)
    await rows.task(root, "said outside", outside=True)
    assert await rows.store.read(lambda tx: tx.value(TREES.unattended, root=root.id)) == 2
    with pytest.raises(BudgetExceeded):
        outcome = task(source_session_id=None, source="callback")
        await budgets.check(FakeTx({TREES.unattended.name: 4}), session(), outcome, Settings(max_unattended=3))
    await rows.task(root, "A person goes on.")
    assert await rows.store.read(lambda tx: tx.value(TREES.unattended, root=root.id)) == 0


@pytest.mark.parametrize("limits", [{"max_tokens": 0}, {"max_cost": -0.1}, {"max_turns": 0}, {"max_minutes": -1}])
async def test_a_budget_is_positive(rows: StoredRows, limits: dict[str, Any]) -> None:
    """B5: Refuses a limit that no turn could stay below."""
    with pytest.raises(Invalid, match=next(iter(limits))) as raised:
        await Budgets(rows.store).set(Caller(), (await rows.session()).id, BudgetBody(**limits))
    assert raised.value.code == "bad_budget"


async def test_only_people_set_budgets(rows: StoredRows) -> None:
    """B5: A session cannot change the budget of its own tree."""
    root = await rows.session()
    with pytest.raises(Denied):
        await Budgets(rows.store).set(Caller("session", root.id), root.id, BudgetBody(max_turns=9))


async def test_a_budget_counts_from_when_it_was_set_or_renewed(rows: StoredRows) -> None:
    """B5: Setting or renewing a budget starts its count again; it is one budget for the whole tree."""
    root = await rows.session(turns=5)
    child = await rows.session("subsession", root, turns=2)
    prompt = await rows.task(child, "work")

    async def check() -> None:
        await rows.store.read(lambda tx: budgets.check(tx, child, prompt, Settings()))

    await Budgets(rows.store).set(Caller(), child.id, BudgetBody(max_turns=1))
    await check()
    await rows.store.write(lambda change: records.update_session(change, root.id, turns=6))
    with pytest.raises(BudgetExceeded, match="budget of 1 turns"):
        await check()
    await rows.store.write(lambda change: budgets.renew(change, child))
    await check()
