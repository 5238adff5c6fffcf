"""The tools that open, change and stop sessions (5a). Each says what it will do in a sentence for people, and does it
through the same services as every other door; giving work is `delegating_tools`, reading `reading_tools`."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from bough.agents.catalog import Catalog
from bough.api.mcp.tools import delegate, results
from bough.api.mcp.tools.base import Changing, Desk, Tool
from bough.api.mcp.tools.phrases import Id, named, quote
from bough.core.sessions.mark import Mark
from bough.core.sessions.requests import NewSession, SessionPatch, check_texts
from bough.errors import Invalid, NotFound
from bough.model.call import Claim
from bough.model.session import CallbackConfig, PermissionMode


class Create(Changing):
    worktree_id: Annotated[str, Meta(description="Where to work; a repository's own folder by its repo_id.")]
    agentic_tool: Annotated[str, Meta(description="claude-code, codex, gemini, opencode …")]
    title: str | None = None
    description: str | None = None
    permission_mode: Annotated[
        PermissionMode | None, Meta(description="Default: the agent's own default, for most acceptEdits.")
    ] = None
    context_files: list[str] | None = None
    mcp_server_ids: list[str] | None = None
    initial_prompt: Annotated[str | None, Meta(description="Starts work at once.")] = None
    enable_callback: Annotated[bool, Meta(description="Report each finished task to you (default false).")] = False


class Update(Changing):
    session_id: Id
    title: str | None = None
    description: str | None = None
    status: Annotated[Mark | None, Meta(description="Of one at work: takes effect when its turn ends.")] = None
    permission_mode: Annotated[PermissionMode | None, Meta(description="From the next prompt on.")] = None


class Stop(Changing):
    session_id: Id
    expected_task_id: Annotated[str | None, Meta(description="Only if this task runs.")] = None


# Opening


async def _place(desk: Desk, text: str) -> tuple[str, str, str | None]:
    """Repository, path and worktree of where a session is to work."""
    try:
        worktree = await desk.services.worktrees.get(text)
    except NotFound as missing:
        try:
            repo = await desk.services.repos.get(text)
        except NotFound:
            raise missing from None
        return repo.id, repo.path, None
    return worktree.repo_id, worktree.path, worktree.id


def _asked(catalog: Catalog, wanted: Create, repo: str, worktree: str | None) -> NewSession:
    return NewSession(
        repo_id=repo if worktree is None else None,
        worktree_id=worktree,
        agent=wanted.agentic_tool,
        title=wanted.title or "",
        description=wanted.description or "",
        permission_mode=wanted.permission_mode or catalog.get(wanted.agentic_tool).default_mode,
        context_files=wanted.context_files or [],
        mcp_server_ids=wanted.mcp_server_ids or [],
        initial_prompt=wanted.initial_prompt,
        callback=CallbackConfig(enabled=wanted.enable_callback),
    )


async def _create_claim(desk: Desk, wanted: Create) -> Claim:
    repo, path, worktree = await _place(desk, wanted.worktree_id)
    asked = _asked(desk.services.catalog, wanted, repo, worktree)
    desk.services.sessions.check(asked)
    name = f" {asked.title.strip()!r}" if asked.title.strip() else ""
    title = f"Create session{name} in {path} with {asked.agent} in mode {asked.permission_mode}?"
    servers = tuple(asked.mcp_server_ids)
    return Claim(title=title, mode=asked.permission_mode, agent=asked.agent, servers=servers, repo=repo)


async def _create(desk: Desk, wanted: Create) -> results.Created:
    repo, _, worktree = await _place(desk, wanted.worktree_id)
    opened = await desk.services.worktree_sessions.create(
        desk.caller, _asked(desk.services.catalog, wanted, repo, worktree)
    )
    return results.created(opened.session, opened.task_id)


# Changing


async def _update_claim(desk: Desk, wanted: Update) -> Claim:
    target = await desk.services.sessions.get(wanted.session_id)
    parts = [
        f"{name} to {quote(value)}"
        for name, value in (
            ("the title", wanted.title),
            ("the description", wanted.description),
            ("the status", wanted.status),
            ("the mode", wanted.permission_mode),
        )
        if value is not None
    ]
    if not parts:
        raise Invalid("nothing_to_change", "Give at least one of title, description, status, permissionMode.")
    check_texts(wanted.title or "", wanted.description or "")
    who = "itself" if target.id == desk.caller.id else f"session {named(target)}"
    return Claim(title=f"Change {who}: {', '.join(parts)}?", target=target.id, mode=wanted.permission_mode)


async def _update(desk: Desk, wanted: Update) -> results.SessionResult:
    services = desk.services
    # First what may be refused, so that nothing is changed by half.
    if wanted.status is not None:
        await services.marking.mark(desk.caller, wanted.session_id, wanted.status)
    changes: dict[str, Any] = {
        name: value
        for name in ("title", "description", "permission_mode")
        if (value := getattr(wanted, name)) is not None
    }
    if changes:
        await services.sessions.patch(wanted.session_id, SessionPatch(**changes))
    return await results.session(services, await services.sessions.get(wanted.session_id))


async def _stop_claim(desk: Desk, wanted: Stop) -> Claim:
    target = await desk.services.sessions.get(wanted.session_id)
    if target.id == desk.caller.id:
        raise Invalid("stops_itself", "You would stop yourself: end your turn instead.")
    if wanted.expected_task_id is not None:
        await desk.services.tasks.get(wanted.expected_task_id)
    return Claim(title=f"Stop what session {named(target)} does?", target=target.id)


async def _stop(desk: Desk, wanted: Stop) -> Any:
    stopped = await desk.services.control.stop(desk.caller, wanted.session_id, wanted.expected_task_id)
    if stopped.task is None:
        how = results.status(stopped.session)
        return {"session_id": stopped.session.id, "status": how, "message": "Nothing ran there."}
    return await results.task(desk.services, stopped.task)


CREATE: Tool[Create] = Tool(
    "agor_sessions_create",
    "Open a new, separate session in a worktree.",
    Create,
    results.SESSION | {"properties": {**results.SESSION["properties"], "taskId": {"type": "string"}}},
    _create,
    _create_claim,
    "change",
)
UPDATE: Tool[Update] = Tool(
    "agor_sessions_update",
    "Change a session's title, description, status or permission mode.",
    Update,
    results.SESSION,
    _update,
    _update_claim,
    "change",
    repeatable=True,
)
STOP: Tool[Stop] = Tool(
    "agor_sessions_stop",
    "Stop the turn that runs in a session; what waits there waits on until it is prompted again.",
    Stop,
    results.TASK,
    _stop,
    _stop_claim,
    "end",
    repeatable=True,
)

TOOLS: tuple[Tool[Any], ...] = (delegate.PROMPT, CREATE, delegate.SPAWN, UPDATE, STOP)
