"""Five basic tools, for agents that only create sessions, send them messages and check their status. They use the same
services as the other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from bough.agents.catalog import CatalogEntry
from bough.api.mcp.tools.base import ChangingParams, NoArguments, Params, SessionById, Tool, ToolContext
from bough.api.mcp.tools.presets import expected_preset, with_preset
from bough.api.mcp.tools.read import Limit, Offset
from bough.api.mcp.tools.shared_wording import STOP_TOOL, WHEN_WORDS, Id, PresetName, check_when, named, quote
from bough.core.sessions.requests import NewSession, SessionFilter
from bough.core.state.enqueue import checked_prompt
from bough.core.worktrees.allowed_paths import resolve_inside
from bough.core.worktrees.records import SessionWorktree
from bough.core.worktrees.session_folders import check_session_folder
from bough.errors import Conflict, Invalid, NotFound
from bough.git.worktrees import no_worktrees
from bough.model.call import Claim
from bough.model.repo import Repo, Worktree
from bough.model.session import CallbackConfig, PermissionMode, Session
from bough.model.task import When


class WorktreeToCreate(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    branch: Annotated[str, Meta(description="Created if it does not exist.")]
    path: Annotated[str | None, Meta(description="Default .worktrees/<branch>.")] = None


class CreateSession(ChangingParams):
    name: str
    working_dir: Annotated[str, Meta(description="Absolute path to work in.")]
    worktree: Annotated[WorktreeToCreate | None, Meta(description="Work in a new git worktree.")] = None
    initial_message: str | None = None
    permission_mode: Annotated[PermissionMode | None, Meta(description="Default: default.")] = None
    agent: Annotated[str | None, Meta(description="Defaults to your own.")] = None
    preset: PresetName = None
    enable_callback: Annotated[bool, Meta(description="Reports to you (default false).")] = False


class Send(ChangingParams):
    session_id: Id
    message: str
    when: When = "next"


class SessionPageParams(Params):
    limit: Annotated[Limit, Meta(description="Default 200.")] = 200
    offset: Offset = 0


class ListedSession(msgspec.Struct):
    """The columns of a session's row that the list needs."""

    id: str
    title: str
    cwd: str
    agent: str
    status: str
    activity: str


# Creating


async def _find_folder(ctx: ToolContext, folder: str) -> tuple[Repo | None, Worktree | None]:
    """Returns the known repo and worktree of a folder; for a session, a plain folder inside a known one counts too."""
    return await ctx.services.worktrees.of_folder(folder, inside=ctx.caller.kind == "session")


async def _request(
    ctx: ToolContext, params: CreateSession, repo: str | None, worktree: str | None, folder: str | None = None
) -> NewSession:
    agent = params.agent
    if agent is None and params.preset is None and ctx.caller.kind == "session" and ctx.caller.id is not None:
        agent = (await ctx.services.sessions.get(ctx.caller.id)).agent
    worktree_request = None
    if params.worktree is not None:
        worktree_request = SessionWorktree(branch=params.worktree.branch, path=params.worktree.path)
    mode = params.permission_mode or ("default" if params.preset is None else None)
    return NewSession(
        repo_id=repo if worktree is None else None,
        worktree_id=worktree,
        worktree=worktree_request,
        folder=folder,
        preset=params.preset,
        agent=agent,
        title=params.name,
        permission_mode=mode,
        initial_prompt=params.initial_message,
        callback=CallbackConfig(enabled=params.enable_callback),
    )


def _real_folder(ctx: ToolContext, folder: str) -> str:
    """Returns where a folder leads now, which must be in the workspace."""
    settings = ctx.services.settings
    return str(resolve_inside(settings.root_path, folder, data=settings.data_path))


async def _unknown_folder(ctx: ToolContext, folder: str) -> tuple[str, bool]:
    """Returns the folder that a session in `folder` would have registered, and whether that is a git repository.
    Refuses at once what would be refused after a person has been asked."""
    check_session_folder(ctx.caller, Path(folder), ctx.services.settings.data_path, confirmed=False)
    path, inspected = await ctx.services.repos.preview_add(ctx.caller, folder)
    return str(path), inspected.kind == "git"


async def _create_claim(ctx: ToolContext, params: CreateSession) -> Claim:
    folder = _real_folder(ctx, params.working_dir)
    repo, _ = await _find_folder(ctx, folder)
    reason_to_ask = None
    if repo is None and ctx.caller.kind == "session":
        top, is_git = await _unknown_folder(ctx, folder)
        if params.worktree is not None and not is_git:
            raise no_worktrees(top)
        reason_to_ask = f"It would register {top} as a repo, which agents can then create sessions in."
    request = await ctx.services.sessions.filled_in(await _request(ctx, params, None, None))
    ctx.services.sessions.check(ctx.caller, request)
    where = params.working_dir
    if params.worktree is not None:
        where = params.worktree.path or f".worktrees/{params.worktree.branch}"
    title = f"Create session {params.name!r} in {where}?"
    repo_id = repo.id if repo else None
    sets_up = params.worktree is not None
    mode = request.permission_mode
    if mode is None and request.agent is not None:
        mode = ctx.services.catalog.get(request.agent).default_mode
    claim = Claim(
        title=title,
        mode=mode,
        agent=request.agent,
        repo=repo_id,
        sets_up=sets_up,
        reason_to_ask=reason_to_ask,
        expected={"folder": folder, "repo": repo_id or ""},
    )
    return with_preset(claim, request)


async def _create(ctx: ToolContext, params: CreateSession) -> dict[str, Any]:
    folder = _real_folder(ctx, params.working_dir)
    known_repo, known_worktree = await _find_folder(ctx, folder)
    _check_same_folder(ctx, folder, known_repo)
    if known_repo is not None:
        return await _create_in(ctx, params, folder, known_repo, known_worktree)
    # For a session, a person has decided about this.
    async with ctx.services.repos.added_for(ctx.caller, folder) as repo:
        return await _create_in(ctx, params, folder, repo, None)


def _check_same_folder(ctx: ToolContext, folder: str, repo: Repo | None) -> None:
    """Raises `Conflict` unless the folder is the one that was decided about: a link may lead elsewhere by now. It may
    have become a repo since; the call itself registers it if it is carried out again after a crash."""
    expected_repo = ctx.expected.get("repo")
    same_repo = not expected_repo or (repo is not None and repo.id == expected_repo)
    if ctx.expected.get("folder", folder) != folder or not same_repo:
        raise Conflict("folder_changed", f"The decision was about another folder: this one leads to {folder} now.")


async def _create_in(
    ctx: ToolContext, params: CreateSession, work_folder: str, repo: Repo, known_worktree: Worktree | None
) -> dict[str, Any]:
    services = ctx.services
    # With a new worktree, the session does not work in the named one.
    worktree = known_worktree.id if known_worktree and params.worktree is None else None
    folder = work_folder if params.worktree is None else None
    request = await _request(ctx, params, repo.id, worktree, folder)
    created = await services.worktree_sessions.create(ctx.caller, request, expected_preset=expected_preset(ctx))
    return {"sessionId": created.session.id, "workingDir": created.session.cwd}


# Sending and reading


async def _send_claim(ctx: ToolContext, params: Send) -> Claim:
    checked_prompt(params.message, ctx.services.settings.max_prompt)
    target = await ctx.services.sessions.get(params.session_id)
    check_when(ctx.caller.id, target.id, params.when)
    title = f"Send to session {named(target)}{WHEN_WORDS[params.when]}: {quote(params.message)}?"
    also = (STOP_TOOL,) if params.when == "after_stop" else ()
    return Claim(title=title, target=target.id, commands=True, also=also)


async def _send(ctx: ToolContext, params: Send) -> dict[str, Any]:
    task = await ctx.services.resuming.prompt(
        ctx.caller, params.session_id, params.message, resume=True, make_room=None, when=params.when
    )
    return {"success": True, "taskId": task.id}


def _unsent(why: str) -> dict[str, Any]:
    return {"success": False, "error": why}


async def _status(ctx: ToolContext, params: SessionById) -> dict[str, Any]:
    try:
        find = ctx.services.sessions.get if ctx.lists_all else ctx.readable_session
        session = await find(params.session_id)
    except (NotFound, Invalid) as error:
        why = f"{error.message} list_sessions lists all sessions."
        return {"exists": False, "status": "not_started", "workingDir": "", "error": why}
    queued = await ctx.services.tasks.count_queued(session.id)
    return {
        "exists": True,
        "status": _plain(session),
        "lifecycle": session.status,
        "workingDir": session.cwd,
        "lastActivity": session.active_at,
        "stuck": session.stuck,
        "pendingMessages": queued,
    }


def _plain(session: Session) -> str:
    if session.status == "error":
        return "error"
    if session.status != "active":
        return "idle"
    return {"running": "thinking"}.get(session.activity, session.activity)


async def _list(ctx: ToolContext, params: SessionPageParams) -> dict[str, Any]:
    filters = SessionFilter(archived=False, roots=None if ctx.lists_all else await ctx.readable_roots())
    page = await ctx.services.sessions.list(filters, params.limit, params.offset)
    rows = [msgspec.json.decode(msgspec.json.encode(row), type=ListedSession) for row in page.rows]
    listed = [_listed(row, ctx.services.catalog.entry(row.agent)) for row in rows]
    return {"sessions": listed, "total": page.total}


def _listed(session: ListedSession, entry: CatalogEntry | None) -> dict[str, Any]:
    active = session.status == "active" and session.activity in ("running", "waiting_permission")
    return {
        "id": session.id,
        "name": session.title,
        "workingDir": session.cwd,
        "type": entry.short_name or entry.name if entry is not None else session.agent,
        "status": "active" if active else "idle",
    }


async def _me(ctx: ToolContext, _params: NoArguments) -> dict[str, Any]:
    own = await ctx.own_session("list_sessions lists the ids of all sessions.")
    return {"sessionId": own.id}


MAYBE = ["string", "null"]


def _object(required: list[str], **kinds: str | list[str]) -> dict[str, Any]:
    properties = {name: {"type": kind} for name, kind in kinds.items()}
    return {"type": "object", "properties": properties, "required": required}


LISTED = _object(
    ["id", "name", "workingDir", "type", "status"],
    id="string",
    name="string",
    workingDir="string",
    type="string",
    status="string",
)

TOOLS: tuple[Tool[Any], ...] = (
    Tool(
        "create_session",
        "Create a session, optionally in a new git worktree.",
        CreateSession,
        _object(["sessionId", "workingDir"], sessionId="string", workingDir="string"),
        _create,
        _create_claim,
        "change",
    ),
    Tool(
        "send_to_session",
        "Send a message to a session; it is queued if the session is busy.",
        Send,
        _object(["success"], success="boolean", taskId="string", error="string"),
        _send,
        _send_claim,
        "change",
        refusal=_unsent,
    ),
    Tool(
        "get_session_status",
        "Get a session's status: idle, thinking, waiting_permission, error or not_started.",
        SessionById,
        _object(
            ["exists", "status", "workingDir"],
            exists="boolean",
            status="string",
            lifecycle="string",
            workingDir="string",
            lastActivity="string",
            pendingMessages="integer",
            stuck=MAYBE,
            error="string",
        ),
        _status,
    ),
    Tool(
        "list_sessions",
        "List sessions, newest first; status is active or idle.",
        SessionPageParams,
        {
            "type": "object",
            "properties": {"sessions": {"type": "array", "items": LISTED}, "total": {"type": "integer"}},
            "required": ["sessions", "total"],
        },
        _list,
    ),
    Tool(
        "get_current_session_id",
        "Get the id of your own session.",
        NoArguments,
        _object(["sessionId"], sessionId="string"),
        _me,
    ),
)
