"""Creates, reads and changes sessions (R2, T1–T6). Their queues are in `tasks`; `control` stops and ends
them, `resume` reopens them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import structlog

from bough.agents.catalog import Catalog
from bough.agents.catalog.find_program import startable
from bough.core.approvals.deadlines import reschedule
from bough.core.environment.variables import checked_env
from bough.core.live_agents.offers import known_options
from bough.core.policy.admin_only import check_servers, check_variables
from bough.core.policy.sandbox_choice import StoredChoice, check_sandbox_change, sandbox_of_new
from bough.core.sessions.additional_directories import checked_directories
from bough.core.sessions.audit_rights import audit_rights
from bough.core.sessions.from_preset import fill_in, preset_of
from bough.core.sessions.list_sessions import SessionPages
from bough.core.sessions.repo_defaults import RepoDefaults
from bough.core.sessions.requests import (
    NewSession,
    OpenedSession,
    SessionFilter,
    SessionPatch,
    check_choice,
    check_texts,
)
from bough.core.sessions.tasks import Tasks
from bough.core.state.enqueue import checked_prompt, enqueue
from bough.core.state.limits.session_limit import admit
from bough.core.store import records
from bough.core.store.idempotency import RecordScope
from bough.core.store.paging import Page
from bough.core.store.session_secrets import remember_secrets
from bough.core.store.short_ids import find_id
from bough.core.store.sql import CALLS, HOME, SESSIONS
from bough.core.store.transactions import Change, Store
from bough.core.transcripts import files
from bough.core.worktrees.allowed_paths import file_inside, resolve_inside
from bough.core.worktrees.records import session_folder, usable
from bough.core.worktrees.session_folders import check_session_folder, folder_warnings
from bough.errors import Conflict, Denied, Internal, Invalid
from bough.git.working_copy.folder_state import state as git_state
from bough.git.workspace import check_workspace
from bough.model.message import raw
from bough.model.repo import Worktree
from bough.model.session import Caller, Session
from bough.model.values.ids import new_id
from bough.settings import Settings
from bough.storage.backend import Tx

log = structlog.get_logger("bough.sessions")

CREATE = "sessions.create"
# Fields of a patch that are columns as they are.
STORED_AS_GIVEN = (
    *("title", "description", "permission_mode", "model", "effort", "queue_paused"),
    *("headless", "approval_timeout", "resume_after_limit", "sandbox", "sandbox_profile"),
)


class _Child(msgspec.Struct):
    id: str
    source: str


class Sessions:
    """Everything that can be done to a session without its agent."""

    def __init__(self, store: Store, settings: Settings, catalog: Catalog, tasks: Tasks) -> None:
        self._store = store
        self._settings = settings
        self._catalog = catalog
        self._tasks = tasks
        self._pages = SessionPages(store)
        self._repo_defaults = RepoDefaults(store, settings, catalog)

    async def filled_in(self, new: NewSession, expected_preset: str | None = None) -> NewSession:
        """Returns a new session with the fields of its preset, if that has the expected version."""
        return await fill_in(self._store, new, expected_preset)

    def check(self, caller: Caller, new: NewSession) -> tuple[str, str | None]:
        """Raises if a new session is invalid, wherever it is to work; returns the agent and the prompt. The fields of
        its preset must be filled in."""
        entry = self._catalog.get(new.agent or self._catalog.default(self._settings.default_agent))
        startable(entry, self._settings.data_path)
        check_texts(new.title, new.description)
        check_choice("model", new.model)
        check_choice("effort", new.effort)
        check_variables(caller, self._catalog, checked_env(new.env))
        prompt = None
        if new.initial_prompt is not None:
            prompt = checked_prompt(new.initial_prompt, self._settings.max_prompt)
        files.checked(new.files, prompt)
        return entry.name, prompt

    def _checked_folder(self, caller: Caller, new: NewSession, folder: str) -> tuple[Path, list[str], list[str]]:
        """Returns the real folder of a new session, its further folders and its context files. Reads the disk, so it
        runs in a thread."""
        root, data = self._settings.root_path, self._settings.data_path
        cwd = resolve_inside(root, folder, noun="folder", data=data)
        if new.folder is not None:
            cwd = resolve_inside(cwd, str(cwd / new.folder), noun="folder", data=data)
        check_workspace(root, data, str(cwd))
        check_session_folder(caller, cwd, data, confirmed=new.confirm_folder)
        directories = checked_directories(caller, self._settings, cwd, new)
        return cwd, directories, [str(file_inside(cwd, path, data=data)) for path in new.context_files]

    async def opened_before(self, caller: Caller, new: NewSession) -> OpenedSession | None:
        """Returns what an equal request with the same idempotency key has created."""
        request = msgspec.structs.replace(new, idempotency_key=None)
        return await self._store.stored_answer(caller, CREATE, request, OpenedSession)

    async def create(
        self,
        caller: Caller,
        new: NewSession,
        made: Worktree | None = None,
        also: Callable[[Change], Awaitable[None]] | None = None,
        *,
        expected_preset: str | None = None,
    ) -> OpenedSession:
        """Creates a root session and queues its first prompt in the same transaction (Q2). `with_worktree` creates the
        worktree that it asks for before (`made`), and may do more in that transaction (`also`). `expected_preset` is
        the version of the preset that a person has seen."""
        if new.worktree is not None and made is None:
            raise Internal("worktree_not_made", "The worktree of a new session must be created before it.")
        request = new
        if new.preset is not None and (earlier := await self.opened_before(caller, new)) is not None:
            # The preset may be gone since.
            return earlier
        new = await self.filled_in(new, expected_preset)
        agent, prompt = self.check(caller, new)
        attached = files.checked(new.files, prompt)
        repo, worktree = await self._store.read(
            lambda tx: session_folder(tx, new.repo_id, made.id if made else new.worktree_id)
        )
        folder = worktree.path if worktree else repo.path
        cwd, directories, context_files = await asyncio.to_thread(self._checked_folder, caller, new, folder)
        defaults = await self._repo_defaults.complete(new, agent, folder, repo.path)
        new, agent, warnings = defaults.session, defaults.agent, defaults.warnings
        git = await git_state(str(cwd)) if repo.kind == "git" else None
        session_id = new_id()

        async def work(change: Change) -> OpenedSession:
            made_room = await admit(change, self._settings, caller, make_room=new.make_room)
            maker = await records.session(change.tx, caller.id) if caller.kind == "session" and caller.id else None
            if worktree is not None:
                # It may have been removed meanwhile.
                await usable(change.tx, worktree.id)
            mcp_ids = [await find_id(change.tx, "mcp_servers", server_id) for server_id in new.mcp_server_ids or []]
            requested = StoredChoice(new.sandbox, new.sandbox_profile)
            choice = await sandbox_of_new(change.tx, caller, self._settings, repo.id, requested)
            session = await records.add_session(
                change,
                caller,
                session_id=session_id,
                repo_id=repo.id,
                worktree_id=worktree.id if worktree else None,
                cwd=str(cwd),
                agent=agent,
                title=new.title.strip(),
                description=new.description,
                permission_mode=defaults.mode,
                model=new.model,
                effort=new.effort,
                mcp_server_ids=raw(mcp_ids),
                env=new.env,
                context_files=raw(context_files),
                callback=raw(new.callback),
                git_state=raw(git or {}),
                headless=new.headless,
                approval_timeout=new.approval_timeout,
                resume_after_limit=new.resume_after_limit,
                sandbox=choice.sandbox,
                sandbox_profile=choice.profile,
                preset=preset_of(new),
                config_options=await known_options(change.tx, agent),
                additional_directories=raw(directories),
            )
            await check_servers(change.tx, caller, self._settings, self._catalog.get(agent), session, None)
            if maker is not None:
                await change.tx.run(CALLS.made, root=session.id, maker=maker.id, maker_root=maker.root_session_id)
            if also is not None:
                await also(change)
            task_id = None
            if prompt is not None:
                task = await enqueue(
                    change, session, prompt, source="initial", from_session=caller.id, files=attached, caller=caller
                )
                task_id = task.id
                session = await records.session(change.tx, session.id)
            return OpenedSession(session, task_id, [*folder_warnings(cwd), *warnings], made_room)

        opened = await self._store.write_once(
            caller, CREATE, msgspec.structs.replace(request, idempotency_key=None), OpenedSession, work
        )
        active = await self._store.read(lambda tx: tx.value(SESSIONS.active_total))
        log.info("session_opened", session=opened.session.id, agent=agent, cwd=str(cwd), active_sessions=active)
        return opened

    async def get(self, session_id: str) -> Session:
        return await self._store.read(lambda tx: records.session(tx, session_id))

    async def with_ancestors(self, session_id: str) -> tuple[Session, ...]:
        """Returns a session and the sessions above it, nearest first; empty if the session was deleted."""

        async def work(tx: Tx) -> tuple[Session, ...]:
            path: tuple[Session, ...] = ()
            above: str | None = session_id
            while above is not None and (session := await tx.one(SESSIONS.get, Session, id=above)) is not None:
                path = (*path, session)
                above = session.parent_session_id or session.forked_from_session_id
            return path

        return await self._store.read(work)

    async def children(self, session_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Returns the ids of the sessions directly below each session, in the order of their creation."""
        if not session_ids:
            return {}
        rows = await self._store.read(lambda tx: tx.all(SESSIONS.offspring, _Child, ids=session_ids))
        return {session_id: tuple(row.id for row in rows if row.source == session_id) for session_id in session_ids}

    async def list(self, filters: SessionFilter, limit: int, offset: int) -> Page[Any]:
        """Returns a page of sessions, newest first, as structs or as their JSON."""
        return await self._pages.list(filters, limit, offset)

    async def patch(self, caller: Caller, session_id: str, patch: SessionPatch) -> Session:
        check_texts(patch.title or "", patch.description or "")
        check_choice("model", patch.model)
        check_choice("effort", patch.effort)
        env = checked_env(patch.env) if patch.env is not msgspec.UNSET else None
        check_variables(caller, self._catalog, env or {})
        data = self._settings.data_path

        async def work(change: Change) -> Session:
            session = await records.session(change.tx, session_id)
            if session.kind == "btw" and patch.permission_mode not in (msgspec.UNSET, "plan"):
                raise Conflict("aside_reads_only", "A side question only reads: its mode stays plan.")
            await check_sandbox_change(change.tx, caller, self._settings, session, patch.sandbox, patch.sandbox_profile)
            columns: dict[str, Any] = {
                name: value for name in STORED_AS_GIVEN if (value := getattr(patch, name)) is not msgspec.UNSET
            }
            if patch.callback is not msgspec.UNSET:
                columns["callback"] = raw(patch.callback)
            if patch.context_files is not msgspec.UNSET:
                columns["context_files"] = raw(
                    [str(file_inside(Path(session.cwd), path, data=data)) for path in patch.context_files]
                )
            if env is not None or patch.mcp_server_ids is not msgspec.UNSET:
                await remember_secrets(change.tx, session.id)
            if patch.mcp_server_ids is not msgspec.UNSET:
                server_ids = [await find_id(change.tx, "mcp_servers", server_id) for server_id in patch.mcp_server_ids]
                columns["mcp_server_ids"] = raw(server_ids)
            if env is not None:
                columns["env"] = raw(dict.fromkeys(env, "***"))
                await change.tx.run(SESSIONS.set_env, id=session.id, env=raw(env), trusted=caller.may("admin"))
            if not columns:
                raise Invalid("nothing_to_change", "Give at least one field to change.")
            fresh = await records.update_session(change, session.id, **columns)
            if patch.mcp_server_ids is not msgspec.UNSET:
                entry = self._catalog.get(session.agent)
                await check_servers(change.tx, caller, self._settings, entry, fresh, session.mcp_server_ids)
            audit_rights(change, caller, session.id, columns)
            if not (patch.headless is msgspec.UNSET and patch.approval_timeout is msgspec.UNSET):
                await reschedule(change, fresh, self._settings)
            if patch.queue_paused is False:
                change.wake()
            return fresh

        return await self._store.write(work)

    async def change_agent(self, caller: Caller, session_id: str, agent: str) -> Session:
        """Gives a session another agent, unless one has already worked in it."""
        entry = self._catalog.get(agent)
        startable(entry, self._settings.data_path)

        async def work(change: Change) -> Session:
            session = await records.session(change.tx, session_id)
            if session.agent == entry.name:
                return session
            if session.activity != "not_started" or session.kind != "root":
                raise Conflict(
                    "agent_at_work",
                    f"Session {session.id} has already worked with {session.agent}. Fork it to use another agent.",
                )
            audit_rights(change, caller, session.id, {"agent": entry.name})
            options = await known_options(change.tx, entry.name)
            columns = {"agent": entry.name, "model": None, "effort": None, "config_options": options, "commands": None}
            return await records.update_session(change, session.id, **columns)

        return await self._store.write(work)

    async def see(self, caller: Caller, session_id: str) -> Session:
        """Notes that a person has looked at a session; writes nothing if no turn has ended since the last time. This
        is no activity: neither the idle clock nor the order of recent sessions changes."""
        if caller.kind == "session":
            raise Denied("seen_for_people", "Only people can mark a session as seen.")

        async def work(change: Change) -> Session:
            session = await records.session(change.tx, session_id)
            was_unread = await change.tx.run(HOME.read, session_id=session.id)
            if not was_unread and session.seen_at is not None:
                return session
            return await records.update_session(change, session.id, seen_at=change.now)

        scope = RecordScope("sessions.seen", "sessions", session_id)
        return await self._store.write_once(caller, scope, None, Session, work)

    async def unsee(self, caller: Caller, session_id: str) -> Session:
        """Marks a session as unread again by its last turn; does nothing if none has completed or failed."""
        if caller.kind == "session":
            raise Denied("seen_for_people", "Only people can mark a session as unread.")

        async def work(change: Change) -> Session:
            session = await records.session(change.tx, session_id)
            if not await change.tx.run(HOME.unread_again, session_id=session.id):
                return session
            return await records.update_session(change, session.id, seen_at=session.seen_at)

        scope = RecordScope("sessions.unseen", "sessions", session_id)
        return await self._store.write_once(caller, scope, None, Session, work)
