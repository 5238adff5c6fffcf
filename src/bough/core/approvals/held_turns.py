"""Approvals that hold a turn: whether an interrupted turn continues, a repository's code may run, a tree may exceed its
budget, a limit of the agent's account is tried again. No agent waits for these."""

from __future__ import annotations

from typing import Any

import msgspec

from bough.core.approvals import ask
from bough.core.approvals.base import ApprovalKind, Arguments, By
from bough.core.state import interruption
from bough.core.state.limits import agent_limits, budgets
from bough.core.state.limits.budgets import BudgetExceeded
from bough.core.store import records
from bough.core.store.transactions import Change
from bough.errors import BoughError
from bough.model.agents.limit import AgentLimit, ParkedTask
from bough.model.approval import Approval, Option
from bough.model.rule import Scope
from bough.model.task import Task
from bough.settings import OnInterrupt, Settings

GO_ON_OPTIONS = [Option("continue", "Continue", "allow_once"), Option("drop", "Cancel the turn", "reject_once")]
TRY_AGAIN_OPTIONS = [Option("continue", "Try again", "allow_once"), Option("drop", "Cancel the turn", "reject_once")]
TRUST_OPTIONS = [Option("trust", "Run it", "allow_once"), Option("drop", "Cancel the turn", "reject_once")]


class HeldTurnKind(ApprovalKind):
    """A question that no agent waits for: the turn itself is held until a person answers."""

    # The stop reason of a turn that is dropped.
    stop_reason = "denied"

    async def decide(self, change: Change, approval: Approval, by: By, arguments: Arguments | None) -> None:
        """Starts the turn's next attempt or drops the turn."""
        task = await records.task(change.tx, approval.task_id)
        if task.status != "interrupted":
            return
        if approval.status == "allowed":
            await interruption.release(change, task)
        else:
            await interruption.drop(change, task, self.stop_reason)

    async def _hold(
        self,
        change: Change,
        task: Task,
        settings: Settings,
        *,
        title: str,
        tool_call: dict[str, Any],
        options: list[Option],
        reason: str,
        key: str | None = None,
    ) -> None:
        """Holds a turn that has not started, and asks about it. Does nothing if the turn was stopped meanwhile."""
        held = await interruption.hold(change, task)
        if held is None:
            return
        session = await records.session(change.tx, task.session_id)
        await ask.write(
            change,
            session,
            held,
            settings,
            kind=self.name,
            title=title,
            tool_call=tool_call,
            options=options,
            reason=reason,
            key=key,
            deny_on_expiry=True,
        )
        await records.update_session(change, session.id, activity="waiting_permission")


class InterruptedKind(HeldTurnKind):
    """Asks whether a turn whose agent died is tried again."""

    stop_reason = interruption.INTERRUPTED

    async def interrupt(self, change: Change, task: Task, error: BoughError, policy: OnInterrupt) -> None:
        """Interrupts a turn whose agent is gone, and asks how it continues if the policy is to ask."""
        if not await interruption.interrupt(change, task, error, policy):
            return
        await ask.add(
            change,
            task,
            title="The agent ended in the middle of this turn. Start it again and tell it to continue?",
            tool_kind=self.name,
            tool_call={},
            options=GO_ON_OPTIONS,
            request_id=None,
        )
        await records.update_session(change, task.session_id, activity="waiting_permission")


class TrustKind(HeldTurnKind):
    """Asks whether an agent may run code that a repository brings for it."""

    async def ask(
        self, change: Change, task: Task, settings: Settings, *, message: str, files: list[str], key: str
    ) -> None:
        """Holds the turn until a person has looked at the files."""
        await self._hold(
            change,
            task,
            settings,
            title=f"{message} Run it?",
            tool_call={"title": message, "locations": [{"path": file} for file in files]},
            options=TRUST_OPTIONS,
            reason="In any mode, this code runs with the rights of the server's user. If you allow it, that is "
            "remembered for this folder until one of these files changes; files that they load from elsewhere are not "
            "watched.",
            key=key,
        )

    def remembered(self, approval: Approval) -> Scope | None:
        """Remembers an allowed repository, which would otherwise be asked about at every start of the agent."""
        return "worktree" if approval.decision != "deny" else None


class LimitKind(HeldTurnKind):
    """Asks whether a tree that has used up its budget continues."""

    async def ask(self, change: Change, task: Task, error: BudgetExceeded, settings: Settings) -> None:
        """Holds the turn until a person lets the tree continue."""
        await self._hold(
            change,
            task,
            settings,
            title=f"{error.message} Continue?",
            tool_call={"title": error.message, "code": error.code},
            options=GO_ON_OPTIONS,
            reason="Allowed, the whole tree gets the same budget again.",
        )

    async def also_decided(self, change: Change, approval: Approval) -> list[Approval]:
        """Renews the tree's budget, and returns the same question of its other sessions."""
        if approval.decision == "deny":
            return []
        session = await records.session(change.tx, approval.session_id)
        await budgets.renew(change, session)
        return await budgets.pending_limits(change.tx, session)


class AgentLimitKind(HeldTurnKind):
    """Asks whether to try again a turn that a usage or rate limit has ended too often."""

    stop_reason = "limit"

    async def ask(self, change: Change, task: Task, title: str, limit: AgentLimit, settings: Settings) -> None:
        """Holds the parked turn until a person says how it continues. Nobody else is asked about the same account."""
        session = await records.session(change.tx, task.session_id)
        held = await records.update_task(change, task.id, held=True)
        await ask.write(
            change,
            session,
            held,
            settings,
            kind=self.name,
            title=f"{title} Try again?",
            tool_call={"title": title, "reason": limit.reason},
            options=TRY_AGAIN_OPTIONS,
            reason="Other sessions of the same account may wait for your answer, too.",
            deny_on_expiry=True,
        )
        await records.update_session(change, session.id, activity="waiting_permission")

    async def decide(self, change: Change, approval: Approval, by: By, arguments: Arguments | None) -> None:
        """Lets the whole account be tried again, or drops this turn."""
        task = await records.task(change.tx, approval.task_id)
        if approval.status == "allowed" and task.parked is not None:
            parked = msgspec.json.decode(task.parked, type=ParkedTask)
            await agent_limits.try_now(change, parked.agent, parked.account)
        await super().decide(change, approval, by, arguments)
