"""Starts, lists and stops runs, and reads their logs. A row comes before its process, so that each start of the server
finds processes without rows and rows without processes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any

import msgspec
import structlog

from bough.agents.keeper_client import keeper_folder, orphans
from bough.agents.pty_client import start_terminal
from bough.core.runs.command import NewRun, check_request, prepare
from bough.core.runs.log_text import log_text
from bough.core.runs.watch import answers_at
from bough.core.store.idempotency import RecordScope
from bough.core.store.records import session as session_record
from bough.core.store.short_ids import find, find_id
from bough.core.store.sql import RUNS, WORKTREES
from bough.core.store.transactions import Change, Store
from bough.core.store.until_available import UNDO_WITHIN, until_available
from bough.core.worktrees import records
from bough.core.worktrees.ports import PortBlocks
from bough.core.worktrees.session_folders import require_folder
from bough.errors import AgentFailed, BoughError, Busy, Conflict, Denied, NotFound, Unavailable
from bough.git.workspace import check_workspace
from bough.model.repo import Repo, Worktree
from bough.model.run import Run, RunState
from bough.model.session import Caller
from bough.model.values.ids import new_id
from bough.model.values.visible import visible
from bough.settings import Settings
from bough.storage.backend import Tx

log = structlog.get_logger("bough.runs")

# Seconds between looks at what runs, and at what a crash may have left.
LOOK_EVERY = 1.0
REPAIR_EVERY = 15
# Looks until the port of a run that has answered is tried again.
CONFIRM_EVERY = 10
# Runs of a worktree whose logs stay after their end.
MOST_ENDED = 5
# Bytes of a log that are shown.
LOG_TAIL = 128 * 1024
COLUMNS, ROWS = 120, 40
BOUGH = Caller(kind="system")


class RunLog(msgspec.Struct, rename="camel"):
    """The end of what a run printed, as plain text. `cut` says that there was more before it."""

    run: Run
    text: str
    cut: bool


class Runs:
    """Commands in worktrees. Each has a keeper of its own and outlives the server."""

    def __init__(self, store: Store, settings: Settings, ports: PortBlocks) -> None:
        self._store = store
        self._settings = settings
        self._ports = ports
        self._root = settings.data_path / "runs"
        # Those whose processes are being started, and must not be taken for dead.
        self._starting: set[str] = set()
        # While nothing runs, the database is left alone.
        self._is_any_running = False

    async def start(self, caller: Caller, worktree_id: str, new: NewRun) -> Run:
        """Starts a command in a worktree. Raises `Conflict` if its name runs there already or nobody has allowed it,
        and `Busy` at the limit."""
        check_request(caller, new)
        worktree, repo = await self._store.read(lambda tx: _place(tx, worktree_id))
        for path in (worktree.path, repo.path):
            await asyncio.to_thread(check_workspace, self._settings.root_path, self._settings.data_path, path)
        await asyncio.to_thread(require_folder, worktree.path)
        first_port = await self._ports.claim(worktree.id)
        prepared = await prepare(self._store, self._settings, repo, worktree, new, first_port)
        run_id, most = new_id(), self._settings.max_runs
        scope = RecordScope("runs.start", "worktrees", worktree.id)

        async def work(change: Change) -> Run:
            await records.usable(change.tx, worktree.id)
            same = await change.tx.one(RUNS.same_running, Run, worktree_id=worktree.id, name=new.name)
            if same is not None:
                raise Conflict("already_running", f"{new.name} is already running in {worktree.name}.", runId=same.id)
            if (await change.tx.value(RUNS.count_running) or 0) >= most:
                raise Busy("too_many_runs", f"At most {most} commands may run (max_runs). Stop one of them.")
            row = await change.tx.one(
                RUNS.add,
                Run,
                id=run_id,
                worktree_id=worktree.id,
                name=new.name,
                command=visible(prepared.command),
                port=first_port + prepared.port,
                confined=prepared.confined,
                started_by=caller.person or "an agent",
                now=change.now,
            )
            assert row is not None
            change.emit("run.created", row)
            # A typed command may hold secrets.
            change.audit(caller, "run.started", subject_id=row.id, worktree=worktree.id, name=new.name)
            return row

        request = msgspec.structs.replace(new, idempotency_key=None)
        self._starting.add(run_id)
        self._is_any_running = True
        try:
            row = await self._store.write_once(caller, scope, request, Run, work)
            if row.id != run_id:
                # A repeated request: its command may have ended, or may never have been started before a crash.
                return await self.get(row.id)
            try:
                await start_terminal.start_terminal(
                    self._root,
                    row.id,
                    cwd=worktree.path,
                    columns=COLUMNS,
                    rows=ROWS,
                    command=prepared.words,
                    env=prepared.env,
                    keeps_output=True,
                )
                # Its worktree may have been removed meanwhile.
                await self._store.read(lambda tx: records.usable(tx, worktree.id))
            except BaseException as error:
                with contextlib.suppress(OSError):  # What a failing disk keeps goes at a later look.
                    await asyncio.shield(self._forget(row))
                await asyncio.shield(self._store.forget_answer(caller, scope))
                if isinstance(error, AgentFailed):
                    raise AgentFailed("run_failed", f"The command could not be started: {error.message}") from error
                raise
        finally:
            self._starting.discard(run_id)
        await self._prune(worktree.id)
        return row

    async def list(self, worktree_id: str | None = None) -> list[Run]:
        """Lists the runs, oldest first: those that run, and the last ones that have ended."""

        async def work(tx: Tx) -> list[Run]:
            if worktree_id is None:
                return await tx.all(RUNS.all, Run)
            return await tx.all(RUNS.of_worktree, Run, worktree_id=await find_id(tx, "worktrees", worktree_id))

        return await self._store.read(work)

    async def get(self, run_id: str) -> Run:
        return await self._store.read(lambda tx: _get(tx, run_id))

    async def named(self, caller: Caller, worktree_id: str, name: str | None) -> Run:
        """Returns what runs in a worktree or ran there last, or the same of one of its commands. Raises `NotFound`
        without one, and `Denied` if an agent asks about a worktree in which no session of its tree works."""
        await self._store.read(lambda tx: _check_reach(tx, caller, worktree_id))
        rows = [row for row in await self.list(worktree_id) if name is None or row.name == name]
        if not rows:
            what = f"{name!r} has" if name is not None else "Nothing has"
            raise NotFound("run_not_found", f"{what} not been run in this worktree.")
        return next((row for row in reversed(rows) if row.state == "running"), rows[-1])

    async def log(self, run_id: str) -> RunLog:
        """Returns the end of a run's log."""
        row = await self.get(run_id)
        data = b""
        if row.id not in self._starting:
            data = await start_terminal.read_output(self._root / row.id, LOG_TAIL + 1)
        is_cut = len(data) > LOG_TAIL
        text = await asyncio.to_thread(lambda: log_text(data[-LOG_TAIL:], is_cut=is_cut))
        return RunLog(await self.get(row.id), text, is_cut)

    async def stop(self, caller: Caller, run_id: str) -> Run:
        """Stops a command and everything that it started. One that has ended stays as it is."""
        row = await self.get(run_id)
        if row.state != "running":
            return row
        return await self._end(caller, row)

    async def end_in(self, worktree_id: str) -> None:
        """Stops all commands of a worktree, which is about to be removed."""
        for row in await self.list(worktree_id):
            if row.state == "running":
                await self._end(BOUGH, row)

    async def _end(self, caller: Caller, row: Run) -> Run:
        """Ends what still runs and stores how it ended."""
        folder = self._root / row.id
        await orphans.end_keeper(folder)
        exit = await asyncio.to_thread(keeper_folder.read_terminal_exit, folder)
        state: RunState = "lost" if exit is None else "exited" if exit.reason == "exited" else "stopped"
        code = exit.code if exit is not None else None

        async def work(change: Change) -> Run:
            ended = await change.tx.one(RUNS.end, Run, id=row.id, state=state, code=code, now=change.now)
            if ended is None:
                return await change.tx.one(RUNS.get, Run, id=row.id) or row
            change.emit("run.patched", ended)
            if caller.kind != "system":
                change.audit(caller, "run.stopped", subject_id=row.id, worktree=row.worktree_id, name=row.name)
            return ended

        return await until_available(lambda: self._store.write(work), "a run's end", within=UNDO_WITHIN, run=row.id)

    async def _forget(self, row: Run) -> None:
        """Ends a run and removes its log and row."""
        await start_terminal.end_terminal(self._root / row.id)

        async def work(change: Change) -> None:
            if await change.tx.one(RUNS.remove, Run, id=row.id) is not None:
                change.emit("run.removed", row)

        await until_available(lambda: self._store.write(work), "a run", within=UNDO_WITHIN, run=row.id)

    async def _prune(self, worktree_id: str) -> None:
        ended = [row for row in await self.list(worktree_id) if row.state != "running"]
        for row in ended[:-MOST_ENDED]:
            await _attempted(row.id, self._forget(row))

    async def repair(self) -> None:
        """Stores the ends that nobody has seen, ends processes without a row, and forgets runs whose worktree is
        gone. What cannot be ended is tried again at the next look."""

        async def work(tx: Tx) -> tuple[list[Run], list[Run]]:
            return await tx.all(RUNS.all, Run), await tx.all(RUNS.of_removed_worktrees, Run)

        folders = await asyncio.to_thread(keeper_folder.list_keepers, self._root)
        rows, orphaned = await self._store.read(work)
        self._is_any_running = any(row.state == "running" for row in rows)
        await self._note_ends(rows)
        for row in orphaned:
            await _attempted(row.id, self._forget(row))
        known = {row.id for row in rows} | self._starting
        for folder in folders:
            if folder.name not in known:
                await _attempted(folder.name, start_terminal.end_terminal(folder))

    async def _note_ends(self, rows: list[Run]) -> None:
        for row in rows:
            if row.state != "running" or row.id in self._starting:
                continue
            if not await asyncio.to_thread(keeper_folder.is_alive, self._root / row.id):
                await _attempted(row.id, self._end(BOUGH, row))

    async def _look(self, number: int) -> None:
        """Notices what has ended, and which ports answer."""
        rows = await self._store.read(lambda tx: tx.all(RUNS.running, Run))
        self._is_any_running = bool(rows)
        await self._note_ends(rows)
        for row in rows:
            if row.port is None or (row.answers and number % CONFIRM_EVERY):
                continue
            answers = await answers_at(row.port)
            if answers != row.answers:
                await self._store.write(lambda change, row=row, answers=answers: _set_answers(change, row, answers))

    async def close(self) -> None:
        """Ends everything if agents, too, end with the server; it outlives the server otherwise."""
        if not self._settings.stop_agents:
            return
        try:
            for row in await self.list():
                if row.state == "running":
                    await self._end(BOUGH, row)
        except BoughError as error:
            # The next start notes the ends.
            log.warning("runs_not_noted", error=str(error))
            for folder in await asyncio.to_thread(keeper_folder.list_keepers, self._root):
                await start_terminal.end_terminal(folder)

    async def run(self) -> None:
        """Looks regularly for ends and for ports that answer."""
        number = 0
        while True:
            await asyncio.sleep(LOOK_EVERY)
            number += 1
            try:
                if self._is_any_running:
                    await self._look(number)
                if number % REPAIR_EVERY == 0:
                    await self.repair()
            except (BoughError, OSError) as error:
                log.warning("runs_not_checked", error=str(error))


async def _attempted(run_id: str, work: Coroutine[Any, Any, object]) -> None:
    """Does one piece of a repair, whose failure stops nothing else."""
    try:
        await work
    except (AgentFailed, OSError, Unavailable) as error:
        log.warning("run_not_repaired", run=run_id, error=str(error))


async def _get(tx: Tx, run_id: str) -> Run:
    return await find(tx, "runs", run_id, RUNS.get, Run)


async def _place(tx: Tx, worktree_id: str) -> tuple[Worktree, Repo]:
    row = await records.usable(tx, worktree_id)
    return row, await records.repo_of(tx, row)


async def _check_reach(tx: Tx, caller: Caller, worktree_id: str) -> None:
    row = await records.worktree(tx, worktree_id)
    if caller.kind == "session" and caller.id is not None:
        session = await session_record(tx, caller.id)
        root = session.root_session_id
        if not await tx.value(WORKTREES.is_in_tree, id=row.id, root=root):
            raise Denied("worktree_out_of_reach", f"No session of your tree works in worktree {row.name}.")


async def _set_answers(change: Change, row: Run, answers: bool) -> None:
    fresh = await change.tx.one(RUNS.set_answers, Run, id=row.id, answers=answers)
    if fresh is not None:
        change.emit("run.patched", fresh)
