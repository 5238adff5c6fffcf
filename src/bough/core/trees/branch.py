"""Creates sessions from a session: forks, children and side questions (B1–B4), which inherit settings from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import structlog

from bough.agents.catalog import Catalog
from bough.agents.catalog.find_program import startable
from bough.core.environment.variables import checked_env
from bough.core.live_agents.offers import known_options
from bough.core.policy.admin_only import check_servers, check_variables
from bough.core.policy.network_reach import session_env
from bough.core.policy.sandbox_choice import INHERITED, StoredChoice, sandbox_of_branch
from bough.core.presets.find import preset_of_session
from bough.core.sessions.requests import check_choice, check_texts
from bough.core.state.enqueue import checked_prompt, enqueue
from bough.core.store import records
from bough.core.store.idempotency import RecordScope
from bough.core.store.session_secrets import redactor_with, remember_secrets
from bough.core.store.short_ids import find_id, whole_id
from bough.core.store.sql import SESSIONS, TREES
from bough.core.store.transactions import Change, Store
from bough.core.transcripts import files
from bough.core.trees.fork_titles import fork_title
from bough.core.trees.from_preset import fill_in_branch, preset_of
from bough.core.trees.requests import NewBranch, NewBranchWorktree
from bough.core.trees.tree_limits import BranchKind, check_mode, check_room, mode_warnings, refuse_side_question
from bough.core.worktrees.for_branch import BranchFolder, BranchWorktrees, WorktreeRequest, clear_mark
from bough.core.worktrees.records import usable, worktree
from bough.core.worktrees.session_folders import check_settings_folder
from bough.errors import Conflict, Invalid
from bough.git.working_copy.folder_state import state as git_state
from bough.model.message import notice, raw
from bough.model.repo import GitState
from bough.model.session import CallbackConfig, Caller, PermissionMode, RacePosition, Session
from bough.model.task import Source, Task
from bough.model.values.ids import new_id
from bough.settings import Settings
from bough.storage.backend import Tx

log = structlog.get_logger("bough.sessions")

SCOPE = "sessions.branch"


class Branched(msgspec.Struct, rename="camel", omit_defaults=True):
    """A new session, the task of its first prompt if it has one, and warnings for people."""

    session_id: str
    task_id: str | None
    warnings: list[str] = []


class Branches:
    """Creates forks, children and side questions."""

    def __init__(self, store: Store, settings: Settings, catalog: Catalog, worktrees: BranchWorktrees) -> None:
        self._store = store
        self._settings = settings
        self._catalog = catalog
        self._worktrees = worktrees

    async def fork(
        self, caller: Caller, session_id: str, new: NewBranch, *, expected_preset: str | None = None
    ) -> Branched:
        """Creates a session that knows the conversation so far."""
        return await self._branch(caller, session_id, new, "fork", expected_preset)

    async def spawn(
        self, caller: Caller, session_id: str, new: NewBranch, *, expected_preset: str | None = None
    ) -> Branched:
        """Creates a child that starts with no context and reports to its parent."""
        return await self._branch(caller, session_id, new, "subsession", expected_preset)

    async def side_question(
        self, caller: Caller, session_id: str, new: NewBranch, *, expected_preset: str | None = None
    ) -> Branched:
        """Asks a side question: a fork that only reads, and is archived when it has answered."""
        return await self._branch(caller, session_id, new, "btw", expected_preset)

    async def admit(self, caller: Caller, session_id: str, new: list[NewBranch], kind: BranchKind) -> None:
        """Raises if one of several branches, or all of them together, would be refused. Creates nothing."""
        for branch in new:
            self._check(caller, branch, kind)
        new = [await self.filled_in(branch) for branch in new]
        for branch in new:
            self._check_variables(caller, branch)
            if branch.agent is not None:
                startable(self._catalog.get(branch.agent), self._settings.data_path)

        async def work(change: Change) -> None:
            for branch in new:
                await self._check_admissible(change, caller, session_id, branch, kind, len(new))

        await self._store.write(work)

    async def _branch(
        self, caller: Caller, session_id: str, new: NewBranch, kind: BranchKind, expected_preset: str | None
    ) -> Branched:
        self._check(caller, new, kind)
        prompt = checked_prompt(new.prompt, self._settings.max_prompt) if new.prompt is not None else None
        source = await self._store.read(lambda tx: records.session(tx, session_id))
        if (task_id := new.task_id) is not None:
            whole = await self._store.read(lambda tx: whole_id(tx, "tasks", task_id))
            new = msgspec.structs.replace(new, task_id=whole)
        request = [kind, msgspec.structs.replace(new, idempotency_key=None)]
        if new.preset is not None:
            # The preset may be gone since an earlier request with the same key.
            scope = RecordScope(SCOPE, "sessions", source.id)
            if (earlier := await self._store.stored_answer(caller, scope, request, Branched)) is not None:
                return earlier
            new = await self.filled_in(new, expected_preset)
            self._check_variables(caller, new)
        if new.agent is not None:
            startable(self._catalog.get(new.agent), self._settings.data_path)
        if new.worktree == "same":
            folder = await self._store.read(lambda tx: self._existing_folder(tx, caller, source, new))
            return await self._write(caller, source, new, kind, prompt, folder, request)
        # This continues even if the caller stops waiting.
        return await self._worktrees.through(self._branch_in_worktree(caller, source, new, kind, prompt, request))

    async def _existing_folder(self, tx: Tx, caller: Caller, source: Session, new: NewBranch) -> BranchFolder:
        """Returns where a branch without a new worktree works: in its source's folder, or in the requested worktree."""
        if new.worktree_id is None:
            return BranchFolder(source.worktree_id, source.cwd)
        requested = await worktree(tx, new.worktree_id)
        if requested.repo_id != source.repo_id:
            raise Invalid("worktree_of_other_repo", f"Worktree {requested.id} belongs to another repo.")
        check_settings_folder(caller, Path(requested.path), self._settings.data_path)
        return BranchFolder(requested.id, requested.path)

    async def _branch_in_worktree(
        self, caller: Caller, source: Session, new: NewBranch, kind: BranchKind, prompt: str | None, request: Any
    ) -> Branched:
        """Creates a branch in a new worktree."""
        async with self._worktrees.turn(caller, source):
            scope = RecordScope(SCOPE, "sessions", source.id)
            earlier = await self._store.stored_answer(caller, scope, request, Branched)
            if earlier is not None:
                return earlier
            # Refusals come before the worktree is created.
            await self._store.write(lambda change: self._check_admissible(change, caller, source.id, new, kind))
            options = NewBranchWorktree() if isinstance(new.worktree, str) else new.worktree
            # Masked before it is cut: git branches and folders are named after it.
            values = (new.env or {}).values()
            secrets = await self._store.read(lambda tx: redactor_with(tx, source.id, values))
            title = secrets.text(new.title or new.prompt or source.title)[:80]
            requested = WorktreeRequest(title, options.branch, options.path, new.task_id, options.ignored)
            async with self._worktrees.create(caller, source, requested) as folder:
                return await self._write(caller, source, new, kind, prompt, folder, request)

    async def repair(self) -> None:
        """Removes what the last server left of branches that it was creating."""
        await self._worktrees.repair()

    async def run(self) -> None:
        """Removes what branches that failed have left, until cancelled."""
        await self._worktrees.run()

    async def close(self) -> None:
        """Waits for branches that are being created."""
        await self._worktrees.close()

    async def _write(
        self,
        caller: Caller,
        source: Session,
        new: NewBranch,
        kind: BranchKind,
        prompt: str | None,
        folder: BranchFolder,
        request: Any,
    ) -> Branched:
        git = await git_state(folder.cwd)
        session_id = source.id

        async def work(change: Change) -> Branched:
            source = await records.session(change.tx, session_id)
            return await self.plant(change, caller, source, new, kind, folder, git, prompt)

        scope = RecordScope(SCOPE, "sessions", source.id)
        branched = await self._store.write_once(caller, scope, request, Branched, work)
        active = await self._store.read(lambda tx: tx.value(SESSIONS.active_total))
        log.info(
            "session_branched",
            session=branched.session_id,
            kind=kind,
            source=source.id,
            cwd=folder.cwd,
            active_sessions=active,
        )
        return branched

    async def plant(
        self,
        change: Change,
        caller: Caller,
        source: Session,
        new: NewBranch,
        kind: BranchKind,
        folder: BranchFolder,
        git: GitState,
        prompt: str | None,
        race: RacePosition | None = None,
    ) -> Branched:
        """Inserts the session of a branch and queues its first prompt, in a transaction that may do more."""
        session = await self._add(change, caller, source, new, kind, folder, raw(git), race)
        await clear_mark(change, folder)
        task = None
        if prompt is not None:
            origin: Source = "btw" if kind == "btw" else "session" if caller.kind == "session" else "initial"
            attached = files.checked(new.files, prompt)
            task = await enqueue(
                change, session, prompt, source=origin, from_session=caller.id, files=attached, caller=caller
            )
        return Branched(session.id, task.id if task else None, mode_warnings(source, session.permission_mode))

    async def _check_admissible(
        self, change: Change, caller: Caller, session_id: str, new: NewBranch, kind: BranchKind, count: int = 1
    ) -> None:
        source = await records.session(change.tx, session_id)
        depth = records.depth_below(source, kind)
        await refuse_side_question(change.tx, caller, source, kind)
        await check_room(change.tx, self._settings, source, kind, depth, count)
        await check_mode(change.tx, caller, source, new.permission_mode or source.permission_mode, kind)
        await _branch_point(change.tx, source, new, kind)

    def _check(self, caller: Caller, new: NewBranch, kind: BranchKind) -> None:
        check_texts(new.title or "", new.description or "")
        check_choice("model", new.model)
        check_choice("effort", new.effort)
        self._check_variables(caller, new)
        files.checked(new.files, new.prompt)
        if new.prompt is None and kind != "fork":
            raise Invalid("empty_prompt", "Add a `prompt` that says what the new session should do.")
        if new.task_id is not None and kind != "fork":
            raise Invalid("bad_branch", "Only a fork can start at a task: omit `taskId`.")
        if new.task_id is not None and isinstance(new.worktree, NewBranchWorktree) and new.worktree.ignored:
            raise Invalid("bad_branch", "Checkpoints hold no ignored files: omit `taskId`, or `ignored`.")
        if new.worktree_id is not None and (kind != "subsession" or new.worktree != "same"):
            raise Invalid("bad_branch", "Only a child can use `worktreeId`, and not together with `worktree`.")
        if kind == "btw" and (new.permission_mode not in (None, "plan") or new.worktree != "same"):
            raise Invalid("bad_branch", "A side question only reads: omit `worktree`, and use the mode plan or none.")

    def _check_variables(self, caller: Caller, new: NewBranch) -> None:
        preset_env = preset.env if (preset := preset_of(new)) is not None else {}
        check_variables(caller, self._catalog, checked_env((new.env or {}) | preset_env))

    async def filled_in(self, new: NewBranch, expected_preset: str | None = None) -> NewBranch:
        """Returns a branch with the fields of its preset, if that has the expected version."""
        return await fill_in_branch(self._store, new, expected_preset)

    async def _add(
        self,
        change: Change,
        caller: Caller,
        source: Session,
        new: NewBranch,
        kind: BranchKind,
        folder: BranchFolder,
        git: msgspec.Raw,
        race: RacePosition | None,
    ) -> Session:
        await change.tx.run(TREES.lock, root=source.root_session_id)
        depth = records.depth_below(source, kind)
        await refuse_side_question(change.tx, caller, source, kind)
        await check_room(change.tx, self._settings, source, kind, depth)
        agent = new.agent or source.agent
        same = agent == source.agent
        mode: PermissionMode = "plan" if kind == "btw" else new.permission_mode or source.permission_mode
        if folder.worktree_id is not None:
            await usable(change.tx, folder.worktree_id)
        await check_mode(change.tx, caller, source, mode, kind)
        preset = preset_of(new)
        env, env_trusted = new.env, None
        if env is None:
            env = await session_env(change.tx, source.id)
            env_trusted = bool(await change.tx.value(SESSIONS.env_trusted, id=source.id))
        if preset is not None and preset.env:
            # Variables that the request itself sets count before the preset's, inherited ones do not.
            env = {**env, **preset.env, **(new.env or {})}
            env_trusted = caller.may("admin") and env_trusted is not False
        servers = source.mcp_server_ids
        if new.mcp_server_ids is not None:
            servers = raw([await find_id(change.tx, "mcp_servers", server_id) for server_id in new.mcp_server_ids])
        branch_task = await _branch_point(change.tx, source, new, kind)
        if (title := new.title) is None:
            title = await fork_title(change, source, new.prompt, env) if kind == "fork" else ""
        requested = StoredChoice(preset.sandbox, preset.sandbox_profile) if preset is not None else INHERITED
        choice = await sandbox_of_branch(change.tx, caller, self._settings, source, requested)
        session = await records.add_session(
            change,
            caller,
            session_id=new_id(),
            repo_id=source.repo_id,
            worktree_id=folder.worktree_id,
            cwd=folder.cwd,
            agent=agent,
            title=title.strip(),
            description=new.description or "",
            permission_mode=mode,
            model=new.model or (source.model if same else None),
            effort=new.effort or (source.effort if same else None),
            mcp_server_ids=servers,
            env=env,
            context_files=source.context_files if folder.cwd == source.cwd else raw([]),
            callback=raw(new.callback or CallbackConfig()) if kind == "subsession" else source.callback,
            git_state=git,
            headless=new.headless or source.headless,
            approval_timeout=new.approval_timeout or source.approval_timeout,
            resume_after_limit=source.resume_after_limit,
            sandbox=choice.sandbox,
            sandbox_profile=choice.profile,
            kind=kind,
            source=source,
            branch_task_id=branch_task.id if branch_task else None,
            race=race,
            env_trusted=env_trusted,
            preset=preset or await preset_of_session(change.tx, source),
            additional_directories=source.additional_directories,
            config_options=source.metadata.config_options if same else await known_options(change.tx, agent),
        )
        # Its agent learns the conversation so far, with the values that the source has or had.
        await remember_secrets(change.tx, session.id, source.id)
        entry = self._catalog.get(agent)
        await check_servers(change.tx, caller, self._settings, entry, session, source.mcp_server_ids)
        if kind == "fork":
            at = f" after task {branch_task.id}" if branch_task else ", before its first task"
            text = f"Forked from session {source.id}{at}."
            if folder.cwd != source.cwd:
                # The agent reads this too: paths in the transcript so far lead into the other folder.
                text += f" From here on the work is in {folder.cwd}, not in {source.cwd}."
            await records.add_message(change, session.id, None, "system", notice(text))
        return await records.session(change.tx, session.id)


async def _branch_point(tx: Tx, source: Session, new: NewBranch, kind: BranchKind) -> Task | None:
    """Returns the task after which a fork begins; None for a child, or before the first task."""
    if kind == "subsession":
        return None
    if new.task_id is None:
        return await tx.one(TREES.last_ended, Task, session_id=source.id)
    task = await records.task(tx, new.task_id)
    if task.session_id != source.id:
        raise Invalid("task_of_other_session", f"Task {task.id} belongs to session {task.session_id}.")
    if task.ended_at is None or not task.sent_attempt:
        raise Conflict("task_not_ended", f"Task {task.id} is {task.status}. Fork after a turn has ended.")
    return task
