"""Reads, refreshes and sends the checks and review threads of pull requests. Each failure is sent once: the note of it
and the prompt are one transaction."""

from __future__ import annotations

import asyncio
from weakref import WeakValueDictionary

import msgspec
import structlog

from bough.core.finish.checks.prompt import LONGEST_PROMPT, MOST_LOGS, failures_prompt, tail
from bough.core.finish.checks.rows import (
    MOST_PROMPTS,
    Failures,
    PullRequestChecks,
    PullRequestRow,
    find_failures,
    find_row,
    show,
    track,
)
from bough.core.finish.folder import find_remote
from bough.core.finish.service import Finishing
from bough.core.sessions.tasks import Tasks
from bough.core.state.enqueue import checked_prompt
from bough.core.store import records as sessions
from bough.core.store.idempotency import RecordScope
from bough.core.store.short_ids import whole_id
from bough.core.store.sql import CHECKS
from bough.core.store.transactions import Change, Store
from bough.core.worktrees import records
from bough.errors import BoughError, Conflict, Unavailable
from bough.git.finish.forge_checks import RequestState, read_log, read_request
from bough.git.finish.forge_programs import ForgeFailed, find_open
from bough.git.finish.forges import find_forge
from bough.model.session import Caller
from bough.model.task import Task
from bough.settings import Settings
from bough.storage.backend import Tx

log = structlog.get_logger("bough.finish")

# At most this many pull requests are listed.
MOST_LISTED = 1_000
SYSTEM = Caller("system", door="server")


class SentChecks(msgspec.Struct, rename="camel"):
    """The prompt that told a session about failures: how many checks and threads it holds."""

    task: Task
    checks: int
    threads: int


class SendChecksBody(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Sends the failed checks and open review threads that were not sent yet as one prompt, to the session that
    `sessionId` names or else to the one that was last used in the worktree. An ended session is resumed."""

    session_id: str | None = None
    idempotency_key: str | None = None


class ChecksPatch(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Sets whether failures are sent automatically; null uses the server's setting."""

    auto_send: bool | None


class RequestChecks:
    """Follows the pull requests of worktrees."""

    def __init__(self, store: Store, settings: Settings, finishing: Finishing, tasks: Tasks) -> None:
        self._store = store
        self._settings = settings
        self._finishing = finishing
        self._tasks = tasks
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def get(self, worktree_id: str) -> PullRequestChecks | None:
        """Returns what is stored about a worktree's pull request; None if no pull request is known."""

        async def work(tx: Tx) -> PullRequestChecks | None:
            row = await find_row(tx, (await records.worktree(tx, worktree_id)).id)
            return await self._show(tx, row) if row is not None else None

        return await self._store.read(work)

    async def list(self) -> list[PullRequestChecks]:
        """Returns what is stored about the pull requests of all worktrees, without each check and thread: others
        write those, and there may be many."""

        async def work(tx: Tx) -> list[PullRequestChecks]:
            listed: list[PullRequestChecks] = []
            for (worktree_id,) in await tx.all(CHECKS.of_live_worktrees, tuple[str], limit=MOST_LISTED):
                # One after another, so that only one is in memory with all its comments.
                row = await find_row(tx, worktree_id)
                if row is not None:
                    shown = await self._show(tx, row)
                    shown.checks, shown.threads = [], []
                    listed.append(shown)
            return listed

        return await self._store.read(work)

    async def open_rows(self) -> list[PullRequestRow]:
        return await self._store.read(lambda tx: tx.all(CHECKS.open, PullRequestRow))

    async def _show(self, tx: Tx, row: PullRequestRow) -> PullRequestChecks:
        return await show(tx, row, sends_by_default=self._settings.send_checks)

    async def refresh(self, worktree_id: str) -> PullRequestChecks | None:
        """Asks the server about a worktree's pull request, and whether there is one if none is known. Then sends new
        failures, if a rule says so. A server that cannot be asked is noted in `error`."""
        whole = await self._store.read(lambda tx: whole_id(tx, "worktrees", worktree_id))
        async with self._locks.setdefault(whole, asyncio.Lock()):
            row = await self._store.read(lambda tx: find_row(tx, whole))
            if row is None or row.state != "open":
                row = await self._discover(whole) or row
            if row is None:
                return None
            if row.state == "open":
                row = await self._read(row)
        shown = await self.get(whole)
        if shown is not None and shown.sends and shown.unsent and not shown.needs_person and row.error is None:
            try:
                await self._send(SYSTEM, whole, SendChecksBody(), by_rule=True)
            except Unavailable:
                raise
            except BoughError as error:
                # What was read is stored; the next look tries again.
                log.info("checks_not_sent", worktree=whole, error=error.message)
            shown = await self.get(whole)
        return shown

    async def _discover(self, worktree_id: str) -> PullRequestRow | None:
        """Looks for an open pull request of the worktree's branch. None also if no program can tell."""
        try:
            folder = await self._finishing.look(worktree_id)
            forge = find_forge(await find_remote(folder, folder.branch)) if folder.branch is not None else None
            opened = await find_open(forge, folder.branch) if forge is not None and folder.branch is not None else None
        except (ForgeFailed, Conflict) as error:
            log.debug("pull_request_not_found", worktree=worktree_id, error=str(error))
            return None
        if forge is None or opened is None:
            return None

        async def work(change: Change) -> PullRequestRow | None:
            await track(change, worktree_id, forge, opened.number, opened.url)
            return await find_row(change.tx, worktree_id)

        return await self._store.write(work)

    async def _read(self, row: PullRequestRow) -> PullRequestRow:
        try:
            read = await read_request(row.server, row.number)
        except ForgeFailed as error:
            message = str(error)
            return await self._store.write(lambda change: _note_error(change, row, message))
        return await self._store.write(lambda change: _note_state(change, row, read))

    async def set_rule(self, caller: Caller, worktree_id: str, body: ChecksPatch) -> PullRequestChecks:
        """Sets whether failures of a worktree's pull request are sent automatically."""

        async def work(change: Change) -> PullRequestChecks:
            worktree = await records.worktree(change.tx, worktree_id)
            row = await change.tx.one(
                CHECKS.set_auto_send, PullRequestRow, worktree_id=worktree.id, auto_send=body.auto_send
            )
            if row is None:
                raise _no_request(worktree.name)
            change.emit("worktree.patched", worktree)
            change.audit(caller, "worktree.checks_rule", subject_id=worktree.id, autoSend=body.auto_send)
            return await self._show(change.tx, row)

        return await self._store.write(work)

    async def send(self, caller: Caller, worktree_id: str, body: SendChecksBody) -> SentChecks:
        """Sends the failures that were not sent yet as one prompt. Raises `Conflict` if there is nothing to send,
        nobody to send it to, or if five prompts were sent already."""
        whole = await self._store.read(lambda tx: whole_id(tx, "worktrees", worktree_id))
        return await self._send(caller, whole, body, by_rule=False)

    async def _send(self, caller: Caller, whole: str, body: SendChecksBody, *, by_rule: bool) -> SentChecks:
        scope, request = RecordScope("worktrees.checks.send", "worktrees", whole), body.session_id
        earlier = await self._store.stored_answer(caller, scope, request, SentChecks)
        if earlier is not None:
            return earlier
        row, failures, session_id = await self._store.read(lambda tx: _to_send(tx, whole, body.session_id, by_rule))
        logs = await self._logs(row, failures)
        escaped = await self._tasks.escaped(session_id)

        async def work(change: Change) -> SentChecks:
            fresh, rest, _ = await _to_send(change.tx, whole, session_id, by_rule)
            session = await sessions.session(change.tx, session_id)
            text = _text(fresh, rest, logs)
            while len(text) > LONGEST_PROMPT and rest.total > 1:
                rest = rest.first(rest.total // 2)
                text = _text(fresh, rest, logs)
            # Secret values of the session, which its own commands may have printed on that server.
            text = (await change.redactor(session.id)).text(text)
            prompt = checked_prompt(text, self._settings.max_prompt)
            session, _ = await self._tasks.open(change, caller, session, escaped, resume=True, make_room=None)
            task = await self._tasks.queue(change, caller, session, prompt)
            for item in (*rest.checks, *rest.threads):
                fields = {"worktree_id": whole, "number": fresh.number, "item": item, "head": fresh.head or ""}
                fields |= {"prompt": rest.prompt, "session_id": session.id, "task_id": task.id}
                await change.tx.run(CHECKS.add_check_prompt, now=change.now, **fields)
            change.emit("worktree.patched", await records.worktree(change.tx, whole))
            return SentChecks(await change.shown(task), len(rest.checks), len(rest.threads))

        return await self._store.write_once(caller, scope, request, SentChecks, work)

    async def _logs(self, row: PullRequestRow, failures: Failures) -> dict[str, str]:
        """Returns the ends of the logs of the first failed checks."""
        logs: dict[str, str] = {}
        for check in list(failures.checks.values())[:MOST_LOGS]:
            try:
                logs[check.id] = tail(await read_log(row.server, check))
            except ForgeFailed as error:
                logs[check.id] = f"(no log: {error})"
        return logs


def _text(row: PullRequestRow, failures: Failures, logs: dict[str, str]) -> str:
    checks, threads = list(failures.checks.values()), list(failures.threads.values())
    return failures_prompt(row.number, row.url, row.head, checks, logs, threads)


async def _to_send(tx: Tx, worktree_id: str, chosen: str | None, by_rule: bool) -> tuple[PullRequestRow, Failures, str]:
    """Returns what to send about a pull request, and the session that gets it."""
    worktree = await records.worktree(tx, worktree_id)
    row = await find_row(tx, worktree.id)
    if row is None:
        raise _no_request(worktree.name)
    failures = await find_failures(tx, row, by_rule=by_rule)
    if not failures.total:
        raise Conflict("nothing_to_send", f"No check or review thread of pull request {row.number} is new and open.")
    if failures.prompt > MOST_PROMPTS:
        raise Conflict(
            "too_many_check_prompts",
            f"{MOST_PROMPTS} prompts about pull request {row.number} were sent already. A person should look at it: "
            f"{row.url}",
        )
    session_id = (await sessions.session(tx, chosen)).id if chosen is not None else None
    session_id = session_id or await tx.value(CHECKS.owner, id=worktree.id)
    if session_id is None:
        raise Conflict("no_session", f"No session works in worktree {worktree.name}. Start one first.")
    if chosen is not None and (await sessions.session(tx, str(session_id))).worktree_id != worktree.id:
        raise Conflict("no_session", f"Session {session_id} does not work in worktree {worktree.name}.")
    return row, failures, str(session_id)


async def _note_state(change: Change, row: PullRequestRow, read: RequestState) -> PullRequestRow:
    fields = {"state": read.state, "url": read.url, "head": read.head}
    fields |= {name: msgspec.json.encode(getattr(read, name)).decode() for name in ("checks", "threads")}
    where = {"worktree_id": row.worktree_id, "number": row.number}
    fresh = await change.tx.one(CHECKS.store, PullRequestRow, now=change.now, **where, **fields)
    changed = any(getattr(row, name) != value for name, value in fields.items()) or row.error is not None
    if fresh is not None and changed:
        change.emit("worktree.patched", await records.worktree(change.tx, row.worktree_id))
    return fresh or row


async def _note_error(change: Change, row: PullRequestRow, error: str) -> PullRequestRow:
    fresh = await change.tx.one(CHECKS.fail, PullRequestRow, worktree_id=row.worktree_id, error=error, now=change.now)
    if fresh is not None and row.error != error:
        change.emit("worktree.patched", await records.worktree(change.tx, row.worktree_id))
    return fresh or row


def _no_request(name: str) -> BoughError:
    return Conflict("no_pull_request", f"Worktree {name} has no pull request that is known. Open one, or refresh.")
