"""Opens, lists, attaches to and ends terminals. A row comes before its shell and goes after it, so that each start of
the server finds shells without rows and rows without shells."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Coroutine
from typing import Any

import msgspec
import structlog

from bough.agents.errors import KeeperGone
from bough.agents.keeper_client import keeper_folder
from bough.agents.pty_client import start_terminal
from bough.agents.pty_client.terminal_link import TerminalLink
from bough.agents.pty_keeper.protocol import bounded
from bough.core.store import records
from bough.core.store.short_ids import find, missing
from bough.core.store.sql import TERMINALS
from bough.core.store.transactions import Change, Store
from bough.core.store.until_available import UNDO_WITHIN, until_available
from bough.core.worktrees.ports import PortBlocks
from bough.core.worktrees.records import usable
from bough.core.worktrees.session_folders import require_folder
from bough.errors import AgentFailed, BoughError, Busy, Denied, Invalid, Unavailable
from bough.git.workspace import check_workspace
from bough.model.session import Caller
from bough.model.terminal import Terminal
from bough.model.values.ids import new_id
from bough.settings import Settings
from bough.storage.backend import Tx

log = structlog.get_logger("bough.terminals")

# Seconds between looks for shells that ended while nobody watched.
LOOK_EVERY = 15.0
HOUR = 3600.0
BOUGH = Caller(kind="system")


class NewTerminal(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A terminal to open: in a worktree, or where a session works."""

    worktree_id: str | None = None
    session_id: str | None = None
    columns: int = 80
    rows: int = 24
    idempotency_key: str | None = None


class Terminals:
    """A person's shells. Each has a keeper of its own and outlives the server."""

    def __init__(self, store: Store, settings: Settings, ports: PortBlocks) -> None:
        self._store = store
        self._settings = settings
        self._ports = ports
        self._root = settings.data_path / "terminals"
        # Those whose shells are being started, and must not be taken for dead.
        self._starting: set[str] = set()
        # Those that somebody ends. Their viewers see the end, too, but the trail must name who ended them.
        self._ending: set[str] = set()

    async def open(self, caller: Caller, new: NewTerminal) -> Terminal:
        """Starts a shell. Raises `Denied` unless an admin asks, `Busy` at the limit."""
        _check(caller, "open a terminal")
        if (new.worktree_id is None) == (new.session_id is None):
            raise Invalid("bad_terminal", "Give either `worktreeId` or `sessionId`.")
        most, terminal_id = self._settings.max_terminals, new_id()

        async def work(change: Change) -> Terminal:
            if (await change.tx.value(TERMINALS.count) or 0) >= most:
                raise Busy(
                    "too_many_terminals", f"At most {most} terminals may be open (max_terminals). Close one of them."
                )
            worktree_id, folder = await _place(change.tx, new.worktree_id, new.session_id)
            row = await change.tx.one(
                TERMINALS.add,
                Terminal,
                id=terminal_id,
                worktree_id=worktree_id,
                folder=folder,
                opened_by=caller.person,
                now=change.now,
            )
            assert row is not None
            change.emit("terminal.created", row)
            change.audit(caller, "terminal.opened", subject_id=row.id, path=folder)
            return row

        request = msgspec.structs.replace(new, idempotency_key=None)
        self._starting.add(terminal_id)
        try:
            row = await self._store.write_once(caller, "terminals.open", request, Terminal, work)
            if row.id == terminal_id:
                await self._start(caller, row, new)
        finally:
            self._starting.discard(terminal_id)
        return row

    async def _start(self, caller: Caller, row: Terminal, new: NewTerminal) -> None:
        try:
            await asyncio.to_thread(check_workspace, self._settings.root_path, self._settings.data_path, row.folder)
            await asyncio.to_thread(require_folder, row.folder)
            ports = await self._ports.variables_of(row.worktree_id)
            idle_hours = self._settings.terminal_idle_timeout
            await start_terminal.start_terminal(
                self._root,
                row.id,
                cwd=row.folder,
                columns=bounded(new.columns),
                rows=bounded(new.rows),
                idle_limit=idle_hours * HOUR if idle_hours else None,
                env=start_terminal.shell_env(os.environ) | ports,
            )
            # Its worktree may have been removed meanwhile.
            await self._store.read(lambda tx: _get(tx, row.id))
        except BaseException as error:
            reason = error.code if isinstance(error, BoughError) else "failed"
            with contextlib.suppress(OSError):  # What a failing disk keeps goes at a later look.
                await asyncio.shield(self._end(caller, row, reason))
            await asyncio.shield(self._store.forget_answer(caller, "terminals.open"))
            raise

    async def list(
        self, caller: Caller, worktree_id: str | None = None, session_id: str | None = None
    ) -> list[Terminal]:
        """Lists the open terminals: all, or those in the folder of a worktree or session."""
        _check(caller, "see terminals")

        async def work(tx: Tx) -> list[Terminal]:
            if worktree_id is None and session_id is None:
                return await tx.all(TERMINALS.all, Terminal)
            _, folder = await _place(tx, worktree_id, session_id)
            return await tx.all(TERMINALS.in_folder, Terminal, folder=folder)

        return await self._store.read(work)

    async def attach(self, caller: Caller, terminal_id: str) -> tuple[Terminal, TerminalLink]:
        """Returns a terminal with a link for one viewer. Raises `NotFound` if it has ended."""
        _check(caller, "attach to a terminal")
        row = await self._store.read(lambda tx: _get(tx, terminal_id))
        try:
            link = await start_terminal.attach_terminal(self._root / row.id)
        except KeeperGone as error:
            if await self.gone(row):
                raise missing("terminals", terminal_id) from None
            raise Unavailable(
                "terminal_silent", "The terminal does not answer just now. It keeps running; attach to it again."
            ) from error
        if caller.person != row.opened_by:
            await self._store.write(lambda change: _note_join(change, caller, row))
        return row, link

    async def end(self, caller: Caller, terminal_id: str) -> Terminal:
        """Ends a shell and everything that it started."""
        _check(caller, "end a terminal")
        row = await self._store.read(lambda tx: _get(tx, terminal_id))
        await self._end(caller, row, "ended")
        return row

    async def end_in(self, worktree_id: str) -> None:
        """Ends all terminals of a worktree, which is about to be removed."""
        rows = await self._store.read(lambda tx: tx.all(TERMINALS.of_worktree, Terminal, worktree_id=worktree_id))
        for row in rows:
            await self._end(BOUGH, row, "worktree_removed")

    async def gone(self, row: Terminal) -> bool:
        """Removes a terminal whose shell has ended by itself. Returns False if it has not: its keeper may only be too
        busy to answer, and a lost connection ends nobody's shell."""
        folder = self._root / row.id
        if row.id in self._starting:
            return False
        if row.id in self._ending:
            return True
        exit = await asyncio.to_thread(keeper_folder.read_terminal_exit, folder)
        if exit is None and await asyncio.to_thread(keeper_folder.is_alive, folder):
            return False
        # Somebody may have begun to end it meanwhile.
        if row.id in self._ending:
            return True
        await self._end(BOUGH, row, (exit.reason if exit is not None else None) or "lost")
        return True

    async def _end(self, caller: Caller, row: Terminal, reason: str) -> None:
        self._ending.add(row.id)
        try:
            await self._end_and_remove(caller, row, reason)
        finally:
            self._ending.discard(row.id)

    async def _end_and_remove(self, caller: Caller, row: Terminal, reason: str) -> None:
        code = await start_terminal.end_terminal(self._root / row.id)

        async def work(change: Change) -> None:
            if await change.tx.one(TERMINALS.remove, Terminal, id=row.id) is not None:
                change.emit("terminal.removed", row)
                change.audit(caller, "terminal.ended", subject_id=row.id, path=row.folder, reason=reason, code=code)

        await until_available(lambda: self._store.write(work), "a terminal's end", within=UNDO_WITHIN, terminal=row.id)

    async def repair(self) -> None:
        """Removes the rows of shells that have ended, and ends shells without a row or whose worktree is gone. One that
        cannot be ended is tried again at the next look."""

        async def work(tx: Tx) -> tuple[list[Terminal], list[Terminal]]:
            return await tx.all(TERMINALS.all, Terminal), await tx.all(TERMINALS.of_removed_worktrees, Terminal)

        folders = await asyncio.to_thread(keeper_folder.list_keepers, self._root)
        rows, orphaned = await self._store.read(work)
        # As of now: one whose start ends while the others are looked at must not be taken for dead.
        starting = set(self._starting)
        known = {row.id for row in rows} | starting
        for row in rows:
            if row.id not in starting:
                await self._repaired(row.id, self._end_if_dead(row))
        for row in orphaned:
            await self._repaired(row.id, self._end(BOUGH, row, "worktree_removed"))
        for folder in folders:
            if folder.name not in known:
                await self._repaired(folder.name, start_terminal.end_terminal(folder))

    async def _end_if_dead(self, row: Terminal) -> None:
        if not await asyncio.to_thread(keeper_folder.is_alive, self._root / row.id):
            await self.gone(row)

    async def _repaired(self, terminal_id: str, work: Coroutine[Any, Any, object]) -> None:
        """Does one piece of a repair, whose failure stops neither the others nor the server's start."""
        try:
            await work
        except (AgentFailed, OSError) as error:
            log.warning("terminal_not_repaired", terminal=terminal_id, error=str(error))

    async def close(self) -> None:
        """Ends all terminals if agents, too, end with the server; they outlive it otherwise."""
        if not self._settings.stop_agents:
            return
        try:
            for row in await self._store.read(lambda tx: tx.all(TERMINALS.all, Terminal)):
                await self._end(BOUGH, row, "server_stopped")
        except BoughError as error:
            # The next start removes the rows.
            log.warning("terminals_not_removed", error=str(error))
            for folder in await asyncio.to_thread(keeper_folder.list_keepers, self._root):
                await self._repaired(folder.name, start_terminal.end_terminal(folder))

    async def run(self) -> None:
        """Looks regularly for shells that have ended while nobody watched."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            try:
                await self.repair()
            except (BoughError, OSError) as error:
                log.warning("terminals_not_checked", error=str(error))


def _check(caller: Caller, action: str) -> None:
    """Raises `Denied` unless the caller is a person and an admin: what is typed in a terminal is bounded by nothing."""
    if caller.kind != "person":
        raise Denied("terminal_for_people", "Only people can use terminals.")
    caller.require("admin", action)


async def _get(tx: Tx, terminal_id: str) -> Terminal:
    return await find(tx, "terminals", terminal_id, TERMINALS.get, Terminal)


async def _place(tx: Tx, worktree_id: str | None, session_id: str | None) -> tuple[str | None, str]:
    """Returns the worktree, if there is one, and the folder that a request names."""
    if session_id is not None:
        session = await records.session(tx, session_id)
        if session.worktree_id is None:
            return None, session.cwd
        worktree_id = session.worktree_id
    assert worktree_id is not None
    worktree = await usable(tx, worktree_id)
    return worktree.id, worktree.path


async def _note_join(change: Change, caller: Caller, row: Terminal) -> None:
    details: dict[str, Any] = {"path": row.folder, "openedBy": row.opened_by}
    change.audit(caller, "terminal.joined", subject_id=row.id, **details)
