"""Where an editor's sessions work: its folder becomes a repository or a worktree that Bough knows. Opening sessions is
the services' part, the editor's MCP servers `servers`."""

from __future__ import annotations

import os

from bough.api.acp.protocol import wire
from bough.api.acp.sessions import mcp_servers
from bough.core.services import Services
from bough.core.sessions.service import NewSession, SessionPatch
from bough.core.store.short_ids import missing
from bough.core.trees.branch import Branch, NewWorktree
from bough.core.worktrees.paths import resolve_inside
from bough.core.worktrees.records import SessionWorktree
from bough.errors import Invalid
from bough.model.repo import Worktree
from bough.model.session import Caller, Session

MOST_WORKTREES = 1000


async def open_session(services: Services, caller: Caller, asked: wire.New) -> Session:
    """A new session in the editor's folder, or in a worktree of its own if it wishes one."""
    wishes = wire.wishes(asked.meta)
    real = str(resolve_inside(services.settings.root_path, absolute(asked.cwd), data=services.settings.data_path))
    worktree = await _worktree(services, real)
    if worktree is not None:
        repo_id, top = worktree.repo_id, worktree.path
    else:
        repo = await services.repos.add(caller, real)
        repo_id, top = repo.id, repo.path
    if wishes.branch is not None:
        worktree = None
    opened = await services.worktree_sessions.create(
        caller,
        NewSession(
            repo_id=repo_id if worktree is None else None,
            worktree_id=worktree.id if worktree is not None else None,
            worktree=SessionWorktree(branch=wishes.branch) if wishes.branch is not None else None,
            folder=real[len(top) + 1 :] if real != top and wishes.branch is None else None,
            agent=wishes.agent,
            title=wishes.title or "",
            permission_mode=wishes.mode,
            model=wishes.model,
            effort=wishes.effort,
            mcp_server_ids=await mcp_servers.ids(services, caller, asked.mcp_servers),
        ),
    )
    return opened.session


async def find_session(services: Services, session_id: str) -> Session:
    """A session by its whole id: what is told of it is told under the id that the editor knows."""
    session = await services.sessions.get(session_id)
    if session.id != session_id:
        raise missing("sessions", session_id)
    return session


async def open_again(services: Services, caller: Caller, asked: wire.Known) -> Session:
    """A session that is there, with the editor's MCP servers added to its own. It works where it always has."""
    absolute(asked.cwd)
    session = await find_session(services, asked.session_id)
    wanted = await mcp_servers.added(services, caller, session, asked.mcp_servers)
    if wanted is not None:
        session = await services.sessions.patch(session.id, SessionPatch(mcp_server_ids=wanted))
    return session


async def fork_session(services: Services, caller: Caller, asked: wire.Known) -> Session:
    """A fork, with the editor's MCP servers and its source's."""
    absolute(asked.cwd)
    wishes = wire.wishes(asked.meta)
    source = await find_session(services, asked.session_id)
    branch = Branch(
        agent=wishes.agent,
        title=wishes.title,
        permission_mode=wishes.mode,
        model=wishes.model,
        effort=wishes.effort,
        worktree=NewWorktree(branch=wishes.branch) if wishes.branch is not None else "same",
        mcp_server_ids=await mcp_servers.added(services, caller, source, asked.mcp_servers),
    )
    made = await services.branching.fork(caller, source.id, branch)
    return await services.sessions.get(made.session_id)


def absolute(cwd: str) -> str:
    if not os.path.isabs(cwd):
        raise Invalid("path_not_absolute", f"cwd must be an absolute path, not {cwd[:200]!r}.")
    return cwd


def real(cwd: str) -> str:
    """A folder as sessions have it, links resolved."""
    return os.path.realpath(absolute(cwd))


async def _worktree(services: Services, real: str) -> Worktree | None:
    """The innermost worktree of Bough's that a folder lies in."""
    page = await services.worktrees.list(None, False, MOST_WORKTREES, 0)
    inside = [one for one in page.rows if real == one.path or real.startswith(f"{one.path}/")]
    return max(inside, key=lambda one: len(one.path), default=None)
