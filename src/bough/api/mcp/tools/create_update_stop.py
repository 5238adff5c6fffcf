"""Tools that create, change and stop sessions."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from bough.agents.catalog import usual_agents
from bough.api.mcp.tools import prompt_and_spawn, results
from bough.api.mcp.tools.base import ChangingParams, Tool, ToolContext
from bough.api.mcp.tools.presets import expected_preset, with_preset
from bough.api.mcp.tools.shared_wording import STOP_TOOL, Id, PresetName, named, quote
from bough.core.sessions.ending.mark import Mark
from bough.core.sessions.requests import NewSession, SessionPatch, check_texts
from bough.core.worktrees.records import WorktreePatch
from bough.core.worktrees.repos import RepoPatch
from bough.errors import Invalid, NotFound
from bough.model.call import Claim
from bough.model.session import CallbackConfig, PermissionMode


class Create(ChangingParams):
    worktree_id: Annotated[str, Meta(description="Where to work; for a repo's own folder, its repo_id.")]
    agentic_tool: Annotated[str | None, Meta(description=f"{usual_agents()} …; or a preset's.")] = None
    preset: PresetName = None
    title: str | None = None
    description: str | None = None
    permission_mode: Annotated[PermissionMode | None, Meta(description="Default: the agent's, mostly acceptEdits.")] = (
        None
    )
    context_files: list[str] | None = None
    mcp_server_ids: list[str] | None = None
    initial_prompt: Annotated[str | None, Meta(description="Starts work at once.")] = None
    enable_callback: Annotated[bool, Meta(description="Reports to you (default false).")] = False
    board_id: Annotated[str | None, Meta(description="Board for the worktree's card.")] = None
    x: float | None = None
    y: float | None = None


class UpdateSession(ChangingParams):
    session_id: Id
    title: str | None = None
    description: str | None = None
    status: Annotated[Mark | None, Meta(description="Takes effect when the turn ends.")] = None
    permission_mode: Annotated[PermissionMode | None, Meta(description="From the next prompt on.")] = None


class StopSession(ChangingParams):
    session_id: Id
    expected_task_id: Annotated[str | None, Meta(description="Stop only if this task is running.")] = None


# Creating


async def find_folder(ctx: ToolContext, text: str) -> tuple[str, str, str | None]:
    """Returns the repo, path and worktree for a worktree id or a repo id."""
    try:
        worktree = await ctx.services.worktrees.get(text)
    except NotFound as missing:
        try:
            repo = await ctx.services.repos.get(text)
        except NotFound:
            raise missing from None
        return repo.id, repo.path, None
    return worktree.repo_id, worktree.path, worktree.id


def _request(ctx: ToolContext, params: Create, repo: str, worktree: str | None) -> NewSession:
    mode = params.permission_mode
    if params.preset is None:
        if params.agentic_tool is None:
            raise Invalid("bad_arguments", "Pass agenticTool or preset.")
        mode = mode or ctx.services.catalog.get(params.agentic_tool).default_mode
    return NewSession(
        repo_id=repo if worktree is None else None,
        worktree_id=worktree,
        preset=params.preset,
        agent=params.agentic_tool,
        title=params.title or "",
        description=params.description or "",
        permission_mode=mode,
        context_files=params.context_files or [],
        mcp_server_ids=params.mcp_server_ids,
        initial_prompt=params.initial_prompt,
        callback=CallbackConfig(enabled=params.enable_callback),
    )


async def _create_claim(ctx: ToolContext, params: Create) -> Claim:
    repo, path, worktree = await find_folder(ctx, params.worktree_id)
    request = await ctx.services.sessions.filled_in(_request(ctx, params, repo, worktree))
    ctx.services.sessions.check(ctx.caller, request)
    if params.board_id is not None:
        await ctx.services.boards.get(params.board_id)
    name = f" {request.title.strip()!r}" if request.title.strip() else ""
    assert request.agent is not None
    mode = request.permission_mode or ctx.services.catalog.get(request.agent).default_mode
    title = f"Create session{name} in {path} with {request.agent} in mode {mode}?"
    servers = tuple(request.mcp_server_ids or ())
    return with_preset(Claim(title=title, mode=mode, agent=request.agent, servers=servers, repo=repo), request)


async def _create(ctx: ToolContext, params: Create) -> results.Created:
    repo, _, worktree = await find_folder(ctx, params.worktree_id)
    request = _request(ctx, params, repo, worktree)
    created = await ctx.services.worktree_sessions.create(ctx.caller, request, expected_preset=expected_preset(ctx))
    await _place(ctx, params, repo, worktree)
    return results.created(created.session, created.task_id)


async def _place(ctx: ToolContext, params: Create, repo: str, worktree: str | None) -> None:
    """Puts the card of the session's worktree, or of its repo's own folder, where the call says."""
    places = {name: value for name in ("board_id", "x", "y") if (value := getattr(params, name)) is not None}
    if places and worktree is not None:
        await ctx.services.worktrees.patch(worktree, WorktreePatch(**places))
    elif places:
        await ctx.services.repos.patch(ctx.caller, repo, RepoPatch(**places))


# Changing


async def _update_claim(ctx: ToolContext, params: UpdateSession) -> Claim:
    target = await ctx.services.sessions.get(params.session_id)
    parts = [
        f"{name} to {quote(value)}"
        for name, value in (
            ("the title", params.title),
            ("the description", params.description),
            ("the status", params.status),
            ("the mode", params.permission_mode),
        )
        if value is not None
    ]
    if not parts:
        raise Invalid("nothing_to_change", "Pass at least one of title, description, status, permissionMode.")
    check_texts(params.title or "", params.description or "")
    subject = "itself" if target.id == ctx.caller.id else f"session {named(target)}"
    return Claim(title=f"Change {subject}: {', '.join(parts)}?", target=target.id, mode=params.permission_mode)


async def _update(ctx: ToolContext, params: UpdateSession) -> results.SessionResult:
    services = ctx.services
    # The status comes first because it may be refused; then nothing has changed.
    if params.status is not None:
        await services.marking.mark(ctx.caller, params.session_id, params.status)
    changes: dict[str, Any] = {
        name: value
        for name in ("title", "description", "permission_mode")
        if (value := getattr(params, name)) is not None
    }
    if changes:
        await services.sessions.patch(ctx.caller, params.session_id, SessionPatch(**changes))
    return await results.session(services, await services.sessions.get(params.session_id))


async def _stop_claim(ctx: ToolContext, params: StopSession) -> Claim:
    target = await ctx.services.sessions.get(params.session_id)
    if target.id == ctx.caller.id:
        raise Invalid("stops_itself", "You cannot stop yourself; end your turn instead.")
    if params.expected_task_id is not None:
        await ctx.services.tasks.get(params.expected_task_id)
    return Claim(title=f"Stop the running turn of session {named(target)}?", target=target.id)


async def _stop(ctx: ToolContext, params: StopSession) -> Any:
    stopped = await ctx.services.control.stop(ctx.caller, params.session_id, params.expected_task_id)
    if stopped.task is None:
        status = results.status(stopped.session)
        return {"session_id": stopped.session.id, "status": status, "message": "Nothing ran there."}
    return await results.task(ctx.services, stopped.task)


CREATE: Tool[Create] = Tool(
    "agor_sessions_create",
    "Create a separate session in a worktree.",
    Create,
    results.SESSION | {"properties": {**results.SESSION["properties"], "taskId": {"type": "string"}}},
    _create,
    _create_claim,
    "change",
)
UPDATE: Tool[UpdateSession] = Tool(
    "agor_sessions_update",
    "Change a session's title, description, status or permission mode.",
    UpdateSession,
    results.SESSION,
    _update,
    _update_claim,
    "change",
    repeatable=True,
)
STOP: Tool[StopSession] = Tool(
    STOP_TOOL,
    "Stop a session's running turn and pause its queue until its next prompt.",
    StopSession,
    results.TASK,
    _stop,
    _stop_claim,
    "end",
    repeatable=True,
)

TOOLS: tuple[Tool[Any], ...] = (prompt_and_spawn.PROMPT, CREATE, prompt_and_spawn.SPAWN, UPDATE, STOP)
