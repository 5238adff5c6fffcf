"""Budgets: limits on a tree's tokens, cost, turns and time, and on turns that no person asked for. Checked before each
turn starts; a running turn may finish. A tree over its limit is held until a person lets it continue."""

from __future__ import annotations

import msgspec

from bough.core.state import interruption
from bough.core.store import records
from bough.core.store.sql import TREES
from bough.core.store.transactions import Change, Store
from bough.errors import Conflict, Denied, Invalid
from bough.model.approval import LIMIT_KIND, Approval
from bough.model.session import Caller, Session
from bough.model.task import Task
from bough.model.trees.tree import Budget, TreeUsage
from bough.settings import Settings
from bough.storage.backend import Tx


class BudgetBody(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A tree's limits from now on; an omitted one is not limited."""

    max_tokens: int | None = None
    max_cost: float | None = None
    max_turns: int | None = None
    max_minutes: float | None = None


class BudgetExceeded(Conflict):
    """A tree has reached a limit of its budget, or its agents have gone on unattended for too long."""


class Budgets:
    """Sets budgets and returns what is used."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def set(self, caller: Caller, session_id: str, body: BudgetBody) -> Budget:
        """Sets the budget of a session's tree, counted from now, and lets turns that were held for it try again."""
        if caller.kind == "session":
            raise Denied("budget_for_people", "Only people can set budgets.")
        for name, value in msgspec.structs.asdict(body).items():
            if value is not None and value <= 0:
                raise Invalid("bad_budget", f"{name} must be positive; omit it for no limit.")

        async def work(change: Change) -> Budget:
            session = await records.session(change.tx, session_id)
            budget = await _set(change, session.root_session_id, body)
            change.emit("tree.patched", budget, session.root_session_id)
            change.audit(
                caller,
                "budget.changed",
                session_id=session.id,
                subject_id=session.root_session_id,
                **msgspec.structs.asdict(body),
            )
            for approval in await pending_limits(change.tx, session):
                await interruption.release(change, await records.task(change.tx, approval.task_id))
            return budget

        return await self._store.write(work)

    async def get(self, session_id: str) -> tuple[Budget | None, TreeUsage]:
        async def work(tx: Tx) -> tuple[Budget | None, TreeUsage]:
            root = (await records.session(tx, session_id)).root_session_id
            used = await tx.one(TREES.used, TreeUsage, root=root)
            assert used is not None
            return await tx.one(TREES.budget, Budget, root=root), used

        return await self._store.read(work)


async def pending_limits(tx: Tx, session: Session) -> list[Approval]:
    """Returns the pending questions of a session's tree whether it may exceed its budget."""
    return await tx.all(TREES.limits, Approval, root=session.root_session_id, limit_kind=LIMIT_KIND)


async def check(tx: Tx, session: Session, task: Task, settings: Settings) -> None:
    """Raises `BudgetExceeded` if a turn must not start. A person's own prompt is limited only by the budget."""
    root = session.root_session_id
    budget = await tx.one(TREES.budget, Budget, root=root)
    if budget is not None:
        used = await tx.one(TREES.used, TreeUsage, root=root)
        assert used is not None
        # Running turns count too; of turns that start at the same time, the earlier ones come first.
        started_at = task.started_at or task.created_at
        running = await tx.value(TREES.under_way, root=root, task_id=task.id, started_at=started_at) or 0
        for name, most, amount in (
            ("tokens", budget.max_tokens, used.tokens - budget.base_tokens),
            ("cost", budget.max_cost, used.cost - budget.base_cost),
            ("turns", budget.max_turns, used.turns - budget.base_turns + running),
            ("minutes", budget.max_minutes, (used.seconds - budget.base_seconds) / 60),
        ):
            if most is not None and amount >= most:
                raise BudgetExceeded("budget_used", f"This tree has used its budget of {most:g} {name} ({amount:g}).")
    if task.source_session_id is None and task.source != "callback":
        return
    turns = await tx.value(TREES.unattended, root=root) or 0
    if turns > settings.max_unattended:
        raise BudgetExceeded(
            "unattended",
            f"Agents have caused {settings.max_unattended} turns in this tree since a person last spoke.",
        )


async def renew(change: Change, session: Session) -> None:
    """Lets a tree continue: its budget and its unattended turns count from now."""
    root = session.root_session_id
    budget = await change.tx.one(TREES.budget, Budget, root=root)
    if budget is not None:
        body = BudgetBody(budget.max_tokens, budget.max_cost, budget.max_turns, budget.max_minutes)
        await _set(change, root, body)
    await change.tx.run(TREES.attend, root=root, now=change.now)


async def forget(change: Change, session: Session) -> None:
    """Keeps what a purged session has used counted against its tree's budget."""
    await change.tx.run(
        TREES.forget,
        root=session.root_session_id,
        tokens=session.tokens,
        cost=session.spent,
        turns=session.turns,
        seconds=session.seconds,
    )


async def _set(change: Change, root: str, body: BudgetBody) -> Budget:
    used = await change.tx.one(TREES.used, TreeUsage, root=root)
    assert used is not None
    budget = await change.tx.one(
        TREES.set_budget,
        Budget,
        root=root,
        base_tokens=used.tokens,
        base_cost=used.cost,
        base_turns=used.turns,
        base_seconds=used.seconds,
        now=change.now,
        **msgspec.structs.asdict(body),
    )
    assert budget is not None
    return budget
