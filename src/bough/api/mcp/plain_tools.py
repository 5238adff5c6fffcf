"""Five plain tools for agents that want no more than to open sessions, send to them and see how they are (5b). They are
the same services as the others, in simpler words."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from bough.api.mcp.session_tools import quote
from bough.api.mcp.tool import Changing, Desk, Nothing, Params, Tool
from bough.core.paths import resolve_inside
from bough.core.rows import TASKS
from bough.core.sessions import NewSession, SessionFilter
from bough.core.store import decoded
from bough.core.worktree_rows import SessionWorktree
from bough.errors import BoughError, NotFound
from bough.model.call import Claim
from bough.model.repo import Repo
from bough.model.session import PermissionMode, Session

MOST_LISTED = 200


class NewPlace(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    branch: Annotated[str, Meta(description="Made if it does not exist.")]
    path: Annotated[str | None, Meta(description="Default .worktrees/<branch>.")] = None


class CreateSession(Changing):
    name: str
    working_dir: Annotated[str, Meta(description="Absolute path of a repository or folder.")]
    worktree: Annotated[NewPlace | None, Meta(description="Work in a new git worktree.")] = None
    initial_message: str | None = None
    permission_mode: PermissionMode = "default"
    agent: Annotated[str | None, Meta(description="Your own if left out.")] = None


class Send(Changing):
    session_id: str
    message: str


class One(Params):
    session_id: str


async def _agent(desk: Desk, wanted: CreateSession) -> str | None:
    if wanted.agent is not None or desk.caller.kind != "session":
        return wanted.agent
    return (await desk.me()).agent


async def _repo(desk: Desk, folder: str) -> Repo | None:
    """The repository that a folder is, or is known to lie in."""
    services = desk.services
    path = str(resolve_inside(services.settings.root_path, folder, data=services.settings.data_path))
    page = await services.repos.list(MOST_LISTED, 0)
    inside = [one for one in page.rows if path == one.path or path.startswith(f"{one.path}/")]
    return max(inside, key=lambda one: len(one.path), default=None)


async def _create_claim(desk: Desk, wanted: CreateSession) -> Claim:
    repo = await _repo(desk, wanted.working_dir)
    place = wanted.working_dir
    if wanted.worktree is not None:
        place = wanted.worktree.path or f".worktrees/{wanted.worktree.branch}"
    agent = await _agent(desk, wanted)
    title = f"Create session {wanted.name!r} in {place}?"
    me = await desk.me() if desk.caller.kind == "session" else None
    # A folder that nobody has made known yet lies beyond the reach of every session.
    target = None if me is None or repo is not None else ""
    if target == "":
        raise NotFound(
            "repo_not_found",
            f"{wanted.working_dir} is in no repository that Bough knows: agor_repos_list shows those. A person can "
            "make it known with `bough repo add`.",
        )
    return Claim(title=title, mode=wanted.permission_mode, agent=agent, repo=repo.id if repo else None)


async def _create(desk: Desk, wanted: CreateSession) -> dict[str, Any]:
    services = desk.services
    repo = await _repo(desk, wanted.working_dir) or await services.repos.add(desk.caller, wanted.working_dir)
    new = None
    if wanted.worktree is not None:
        new = SessionWorktree(branch=wanted.worktree.branch, path=wanted.worktree.path)
    opened = await services.worktree_sessions.create(
        desk.caller,
        NewSession(
            repo_id=repo.id,
            worktree=new,
            agent=await _agent(desk, wanted),
            title=wanted.name,
            permission_mode=wanted.permission_mode,
            initial_prompt=wanted.initial_message,
        ),
    )
    return {"sessionId": opened.session.id, "workingDir": opened.session.cwd}


async def _send_claim(desk: Desk, wanted: Send) -> Claim:
    target = await desk.services.sessions.get(wanted.session_id)
    named = repr(target.title) if target.title else target.id
    return Claim(title=f"Send to session {named}: {quote(wanted.message)}?", target=target.id, commands=True)


async def _send(desk: Desk, wanted: Send) -> dict[str, Any]:
    try:
        await desk.services.tasks.prompt(desk.caller, wanted.session_id, wanted.message, resume=True)
    except BoughError as error:
        return {"success": False, "error": error.message}
    return {"success": True}


async def _status(desk: Desk, wanted: One) -> dict[str, Any]:
    try:
        session = await desk.see(wanted.session_id)
    except NotFound:
        return {"exists": False, "status": "not_started", "workingDir": ""}
    waiting = await desk.services.store.read(lambda tx: tx.value(TASKS.waiting, session_id=session.id))
    return {
        "exists": True,
        "status": _plain(session),
        "lifecycle": session.status,
        "workingDir": session.cwd,
        "lastActivity": session.active_at,
        "pendingMessages": waiting or 0,
    }


def _plain(session: Session) -> str:
    if session.status == "error":
        return "error"
    if session.status != "active":
        return "idle"
    return {"running": "thinking"}.get(session.activity, session.activity)


async def _list(desk: Desk, _wanted: Nothing) -> dict[str, Any]:
    within = SessionFilter(archived=False, roots=await desk.roots())
    page = await desk.services.sessions.list(within, MOST_LISTED, 0)
    found = [decoded(msgspec.json.encode(one), Session) for one in page.rows]
    return {"sessions": [_listed(one) for one in found]}


def _listed(session: Session) -> dict[str, Any]:
    active = session.status == "active" and session.activity in ("running", "waiting_permission")
    return {
        "id": session.id,
        "name": session.title,
        "workingDir": session.cwd,
        "type": "claude" if session.agent == "claude-code" else session.agent,
        "status": "active" if active else "idle",
    }


async def _me(desk: Desk, _wanted: Nothing) -> dict[str, Any]:
    return {"sessionId": (await desk.me()).id}


def _object(required: list[str], **properties: str) -> dict[str, Any]:
    found = {name: {"type": kind} for name, kind in properties.items()}
    return {"type": "object", "properties": found, "required": required}


TOOLS: tuple[Tool[Any], ...] = (
    Tool(
        "create_session",
        "Create a session, in a new git worktree if you like.",
        CreateSession,
        _object(["sessionId"], sessionId="string", workingDir="string"),
        _create,
        _create_claim,
        "change",
    ),
    Tool(
        "send_to_session",
        "Send a message to a session; it is queued if the session is busy.",
        Send,
        _object(["success"], success="boolean", error="string"),
        _send,
        _send_claim,
        "change",
    ),
    Tool(
        "get_session_status",
        "How a session is: idle, thinking, waiting_permission, error or not_started.",
        One,
        _object(["exists", "status"], exists="boolean", status="string", workingDir="string"),
        _status,
    ),
    Tool("list_sessions", "List sessions.", Nothing, _object(["sessions"], sessions="array"), _list),
    Tool("get_current_session_id", "Your own session's id.", Nothing, _object(["sessionId"], sessionId="string"), _me),
)
