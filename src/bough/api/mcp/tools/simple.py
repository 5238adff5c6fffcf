"""Five plain tools for agents that want no more than to open sessions, send to them and see how they are (5b). They are
the same services as the others, in simpler words."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from bough.api.mcp.tools.base import Changing, Desk, Nothing, Params, Tool
from bough.api.mcp.tools.phrases import Id, named, quote
from bough.core.sessions.requests import NewSession, SessionFilter
from bough.core.state.enqueue import checked_prompt
from bough.core.store.sql import REPOS, TASKS, WORKTREES
from bough.core.worktrees.paths import resolve_inside
from bough.core.worktrees.records import SessionWorktree, repo_of
from bough.errors import Invalid, NotFound
from bough.git.inspect import top_level
from bough.model.call import Claim
from bough.model.repo import Repo, Worktree
from bough.model.session import PermissionMode, Session
from bough.storage.backend import Tx

MOST_LISTED = 200


class NewPlace(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    branch: Annotated[str, Meta(description="Made if it does not exist.")]
    path: Annotated[str | None, Meta(description="Default .worktrees/<branch>.")] = None


class CreateSession(Changing):
    name: str
    working_dir: Annotated[str, Meta(description="Absolute path of a repository or folder.")]
    worktree: Annotated[NewPlace | None, Meta(description="Work in a new git worktree.")] = None
    initial_message: str | None = None
    permission_mode: Annotated[PermissionMode, Meta(description="Default: default.")] = "default"
    agent: Annotated[str | None, Meta(description="Your own if left out.")] = None


class Send(Changing):
    session_id: Id
    message: str


class One(Params):
    session_id: Id


class Place(msgspec.Struct):
    """Where a session is to work: a repository that is known, and its worktree if the folder is one."""

    repo: Repo | None
    worktree: Worktree | None = None


class Known(msgspec.Struct):
    """What is listed of a session."""

    id: str
    title: str
    cwd: str
    agent: str
    status: str
    activity: str


# Creating


async def _place(desk: Desk, folder: str) -> Place:
    """What is known of a folder. One deep inside a working copy stands for the whole; a session that names a plain
    folder gets the one around it that is known."""
    settings = desk.services.settings
    path = resolve_inside(settings.root_path, folder, data=settings.data_path)
    top = await top_level(str(path))
    if top is not None:
        path = resolve_inside(settings.root_path, top, data=settings.data_path)
    around = [str(one) for one in path.parents] if top is None and desk.caller.kind == "session" else []

    async def work(tx: Tx) -> Place:
        worktree = await tx.one(WORKTREES.by_path, Worktree, path=str(path))
        if worktree is not None:
            return Place(await repo_of(tx, worktree), worktree)
        for one in (str(path), *around):
            repo = await tx.one(REPOS.by_path, Repo, path=one)
            if repo is not None:
                return Place(repo)
        return Place(None)

    return await desk.services.store.read(work)


async def _asked(desk: Desk, wanted: CreateSession, repo: str | None, worktree: str | None) -> NewSession:
    agent = wanted.agent
    if agent is None and desk.caller.kind == "session" and desk.caller.id is not None:
        agent = (await desk.services.sessions.get(desk.caller.id)).agent
    new = None
    if wanted.worktree is not None:
        new = SessionWorktree(branch=wanted.worktree.branch, path=wanted.worktree.path)
    return NewSession(
        repo_id=repo if worktree is None else None,
        worktree_id=worktree,
        worktree=new,
        agent=agent,
        title=wanted.name,
        permission_mode=wanted.permission_mode,
        initial_prompt=wanted.initial_message,
    )


async def _create_claim(desk: Desk, wanted: CreateSession) -> Claim:
    place = await _place(desk, wanted.working_dir)
    if place.repo is None and desk.caller.kind == "session":
        raise NotFound(
            "folder_unknown",
            f"{wanted.working_dir} is in no repository that Bough knows: agor_repos_list shows those. A person can "
            "make it known with `bough repo add`.",
        )
    asked = await _asked(desk, wanted, None, None)
    desk.services.sessions.check(asked)
    where = wanted.working_dir
    if wanted.worktree is not None:
        where = wanted.worktree.path or f".worktrees/{wanted.worktree.branch}"
    title = f"Create session {wanted.name!r} in {where}?"
    repo = place.repo.id if place.repo else None
    sets_up = wanted.worktree is not None
    return Claim(title=title, mode=wanted.permission_mode, agent=asked.agent, repo=repo, sets_up=sets_up)


async def _create(desk: Desk, wanted: CreateSession) -> dict[str, Any]:
    services = desk.services
    place = await _place(desk, wanted.working_dir)
    repo = place.repo or await services.repos.add(desk.caller, wanted.working_dir)
    # A new worktree is made beside the one that was named.
    worktree = place.worktree.id if place.worktree and wanted.worktree is None else None
    opened = await services.worktree_sessions.create(desk.caller, await _asked(desk, wanted, repo.id, worktree))
    return {"sessionId": opened.session.id, "workingDir": opened.session.cwd}


# Sending and looking


async def _send_claim(desk: Desk, wanted: Send) -> Claim:
    checked_prompt(wanted.message, desk.services.settings.max_prompt)
    target = await desk.services.sessions.get(wanted.session_id)
    title = f"Send to session {named(target)}: {quote(wanted.message)}?"
    return Claim(title=title, target=target.id, commands=True)


async def _send(desk: Desk, wanted: Send) -> dict[str, Any]:
    await desk.services.tasks.prompt(desk.caller, wanted.session_id, wanted.message, resume=True)
    return {"success": True}


def _unsent(why: str) -> dict[str, Any]:
    return {"success": False, "error": why}


async def _status(desk: Desk, wanted: One) -> dict[str, Any]:
    try:
        session = await desk.see(wanted.session_id)
    except (NotFound, Invalid) as error:
        why = f"{error.message} list_sessions shows the sessions that there are."
        return {"exists": False, "status": "not_started", "workingDir": "", "error": why}
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
    found = [msgspec.json.decode(msgspec.json.encode(one), type=Known) for one in page.rows]
    return {"sessions": [_listed(one) for one in found]}


def _listed(session: Known) -> dict[str, Any]:
    active = session.status == "active" and session.activity in ("running", "waiting_permission")
    return {
        "id": session.id,
        "name": session.title,
        "workingDir": session.cwd,
        "type": "claude" if session.agent == "claude-code" else session.agent,
        "status": "active" if active else "idle",
    }


async def _me(desk: Desk, _wanted: Nothing) -> dict[str, Any]:
    me = await desk.me("list_sessions shows the ids of all sessions.")
    return {"sessionId": me.id}


def _object(required: list[str], **kinds: str) -> dict[str, Any]:
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
        "Create a session, in a new git worktree if you like.",
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
        _object(["success"], success="boolean", error="string"),
        _send,
        _send_claim,
        "change",
        refusal=_unsent,
    ),
    Tool(
        "get_session_status",
        "How a session is: idle, thinking, waiting_permission, error or not_started.",
        One,
        _object(
            ["exists", "status", "workingDir"],
            exists="boolean",
            status="string",
            lifecycle="string",
            workingDir="string",
            lastActivity="string",
            pendingMessages="integer",
            error="string",
        ),
        _status,
    ),
    Tool(
        "list_sessions",
        f"List sessions, the newest {MOST_LISTED}; status is active or idle.",
        Nothing,
        {
            "type": "object",
            "properties": {"sessions": {"type": "array", "items": LISTED}},
            "required": ["sessions"],
        },
        _list,
    ),
    Tool("get_current_session_id", "Your own session's id.", Nothing, _object(["sessionId"], sessionId="string"), _me),
)
