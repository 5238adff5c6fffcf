"""Applies a session's mode to its running turn, if a person says so. Otherwise it counts from the next prompt
on (P2)."""

from __future__ import annotations

import msgspec

from bough.agents.catalog import Catalog
from bough.core.approvals import ask
from bough.core.approvals.kinds import kind_of
from bough.core.approvals.options import once, options_of
from bough.core.approvals.service import conclude
from bough.core.live_agents.agent_pool import AgentPool
from bough.core.policy import decide_for_session
from bough.core.store import records
from bough.core.store.idempotency import RecordScope
from bough.core.store.sql import TASKS
from bough.core.store.transactions import Change, Store
from bough.errors import Denied
from bough.model.approval import Approval
from bough.model.message import notice
from bough.model.session import RANK, Caller, PermissionMode, Session
from bough.model.task import Task
from bough.storage.backend import Tx


class RunningTurn(msgspec.Struct):
    """A session, and the task of its running turn if that works in another mode than the session's."""

    session: Session
    task: Task | None


class Modes:
    """Changes the modes of running turns."""

    def __init__(self, store: Store, catalog: Catalog, agents: AgentPool) -> None:
        self._store = store
        self._catalog = catalog
        self._agents = agents

    async def apply(self, caller: Caller, session_id: str) -> Session:
        """Gives the running turn the session's mode, and judges its open questions again. Does nothing if no turn is
        running, or if it has that mode.

        A server that is killed in between leaves an agent that asks too much, and never one that asks too little: lower
        rights are set in the agent first, higher ones in the database.
        """
        if caller.kind == "session":
            raise Denied("mode_for_people", "Only people can apply a mode to a running turn.")
        turn = await self._store.read(lambda tx: _running(tx, session_id))
        session, before = turn.session, turn.task.permission_mode if turn.task else None
        lowers = before is not None and RANK[session.permission_mode] < RANK[before]
        taken: bool = True
        stored: bool = False
        if before is not None and lowers:
            taken = await self._agents.apply_mode(session, before)

        async def work(change: Change) -> Session:
            nonlocal stored
            stored = False
            if turn.task is None or before is None or not await _still_applies(change.tx, turn):
                return await records.session(change.tx, session.id)
            await self._store_mode(change, session, turn.task, before, restarts=not taken)
            change.audit(
                caller,
                "session.mode_applied",
                session_id=session.id,
                subject_id=turn.task.id,
                mode=session.permission_mode,
                before=before,
            )
            stored = True
            return await records.session(change.tx, session.id)

        scope = RecordScope("sessions.mode.apply", "sessions", session.id)
        try:
            answer = await self._store.write_once(caller, scope, None, Session, work)
        finally:
            if not taken and turn.task is not None:
                await self._end_agent(turn.task)
        # Not for a repeated key, nor if the turn has ended meanwhile: then the agent must not have more rights.
        if before is not None and stored and not lowers and not await self._agents.apply_mode(session, before):
            await self._store.write(lambda change: self._note_delay(change, turn))
        return answer

    async def _end_agent(self, task: Task) -> None:
        """Ends an agent that keeps more rights than its turn may have; the next attempt has the session's mode."""
        agent = self._agents.get(task.session_id)
        if agent is not None and agent.task_id == task.id:
            await agent.end()

    async def _store_mode(
        self, change: Change, session: Session, task: Task, before: PermissionMode, *, restarts: bool
    ) -> None:
        """Stores the turn's new mode with a notice, and answers the open questions that it decides."""
        mode = session.permission_mode
        await records.update_task(change, task.id, permission_mode=mode)
        text = f"A person applied mode {mode} to this turn, which was working in mode {before}."
        if restarts:
            title = self._catalog.get(session.agent).title
            text += (
                f" {title} did not take it in the middle of a turn: it is ended, and the turn continues with another."
            )
        await records.add_message(change, session.id, task.id, "system", notice(text))
        for approval in await ask.of_attempt(change.tx, task.id, task.attempt):
            if approval.status == "pending" and kind_of(approval).is_judged_again:
                await self._judge_again(change, session, approval)

    async def _judge_again(self, change: Change, session: Session, approval: Approval) -> None:
        """Answers an open question if the turn's new mode decides it."""
        use = await decide_for_session.read_again(change.tx, self._catalog, session, approval)
        sandboxed = self._catalog.get(session.agent).quirks.sandboxed
        verdict = await decide_for_session.judge(change.tx, session, msgspec.structs.replace(use, sandboxed=sandboxed))
        may_allow = once(options_of(approval), "allow") is not None and not decide_for_session.is_masked(approval)
        if verdict.effect == "ask" or (verdict.effect == "allow" and not may_allow):
            return
        by = {"kind": "policy", "id": verdict.id}
        decided = await conclude(change, approval, verdict.effect, by, reason=verdict.reason)
        if verdict.effect == "deny":
            await ask.show_denial(change, decided)

    async def _note_delay(self, change: Change, turn: RunningTurn) -> None:
        """Notes that the agent itself keeps its stricter mode until the next prompt."""
        if turn.task is None:
            return
        title = self._catalog.get(turn.session.agent).title
        text = (
            f"{title} did not take mode {turn.session.permission_mode} in the middle of a turn and keeps its own "
            "settings until the next prompt. Its questions are answered by the new mode."
        )
        await records.add_message(change, turn.session.id, turn.task.id, "system", notice(text))


async def _running(tx: Tx, session_id: str) -> RunningTurn:
    session = await records.session(tx, session_id)
    for task in await tx.all(TASKS.open, Task, session_id=session.id):
        working = task.status in ("running", "waiting_permission")
        if working and task.permission_mode not in (None, session.permission_mode):
            return RunningTurn(session, task)
    return RunningTurn(session, None)


async def _still_applies(tx: Tx, turn: RunningTurn) -> bool:
    """Tells whether the same attempt still runs in its old mode, and the session has the same mode."""
    current = await _running(tx, turn.session.id)
    if current.task is None or turn.task is None:
        return False
    same_attempt = (current.task.id, current.task.attempt) == (turn.task.id, turn.task.attempt)
    return same_attempt and current.session.permission_mode == turn.session.permission_mode
