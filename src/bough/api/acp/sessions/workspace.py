"""Creates, opens and forks an editor's sessions; the editor's folder becomes a repo or is found as a worktree."""

from __future__ import annotations

import os
from typing import NamedTuple

import msgspec

from bough.api.acp.protocol import wire
from bough.api.acp.sessions import mcp_servers
from bough.core.services import Services
from bough.core.sessions.move import folder_within, move
from bough.core.sessions.requests import OpenedSession
from bough.core.sessions.service import NewSession, SessionPatch
from bough.core.store.short_ids import missing
from bough.core.trees.requests import NewBranch, NewBranchWorktree
from bough.core.worktrees.allowed_paths import resolve_inside
from bough.core.worktrees.records import SessionWorktree
from bough.errors import Invalid
from bough.model.repo import Worktree
from bough.model.session import Caller, Session

MOST_WORKTREES = 1000


class _Place(NamedTuple):
    """The editor's folder, and the repo or worktree whose top folder contains it."""

    real: str
    repo_id: str
    top: str
    worktree_id: str | None


async def open_session(
    services: Services, caller: Caller, editor: str, request: wire.NewSessionParams
) -> OpenedSession:
    """Creates a session in the editor's folder, or in a new worktree if the editor names a branch."""
    settings = wire.read_settings(request.meta)
    real = str(resolve_inside(services.settings.root_path, absolute(request.cwd), data=services.settings.data_path))
    worktree = await _worktree(services, real)
    if worktree is not None:
        place = _Place(real, worktree.repo_id, worktree.path, worktree.id)
        return await _create(services, caller, editor, request, settings, place)
    async with services.repos.added_for(caller, real) as repo:
        return await _create(services, caller, editor, request, settings, _Place(real, repo.id, repo.path, None))


async def _create(
    services: Services,
    caller: Caller,
    editor: str,
    request: wire.NewSessionParams,
    settings: wire.SessionSettings,
    place: _Place,
) -> OpenedSession:
    worktree_id = place.worktree_id if settings.branch is None else None
    return await services.worktree_sessions.create(
        caller,
        NewSession(
            repo_id=place.repo_id if worktree_id is None else None,
            worktree_id=worktree_id,
            worktree=SessionWorktree(branch=settings.branch) if settings.branch is not None else None,
            folder=place.real[len(place.top) + 1 :] if place.real != place.top and settings.branch is None else None,
            preset=settings.preset,
            agent=settings.agent,
            title=settings.title or "",
            permission_mode=settings.mode,
            model=settings.model,
            effort=settings.effort,
            confirm_folder=settings.confirm_folder,
            make_room=settings.make_room,
            mcp_server_ids=await _beside_preset(
                services, settings.preset, await mcp_servers.ids(services, caller, editor, request.mcp_servers)
            ),
        ),
    )


async def _beside_preset(services: Services, preset: str | None, ids: list[str] | None) -> list[str] | None:
    """Returns the editor's MCP servers with those of the preset: an editor gives its own to every session. None changes
    nothing; an empty list leaves out what a fork would inherit."""
    if preset is None or ids is None:
        return ids
    server_ids = (await services.presets.get(preset)).mcp_server_ids
    return list(dict.fromkeys([*msgspec.json.decode(server_ids, type=list[str]), *ids]))


async def find_session(services: Services, session_id: str) -> Session:
    """Returns a session by its full id; updates use the id that the editor knows, so short ids are refused."""
    session = await services.sessions.get(session_id)
    if session.id != session_id:
        raise missing("sessions", session_id)
    return session


async def open_again(services: Services, caller: Caller, editor: str, request: wire.ExistingSession) -> Session:
    """Returns an existing session after moving it to the editor's folder and replacing the editor's MCP servers. A
    viewer's editor only watches, so its folder and servers are ignored."""
    cwd = absolute(request.cwd)
    session = await find_session(services, request.session_id)
    if not caller.may("operator"):
        return session
    session = await move(services.store, services.settings, caller, session, cwd)
    server_ids = await mcp_servers.replaced(services, caller, editor, session, request.mcp_servers)
    if server_ids is not None:
        session = await services.sessions.patch(caller, session.id, SessionPatch(mcp_server_ids=server_ids))
    return session


async def fork_session(services: Services, caller: Caller, editor: str, request: wire.ExistingSession) -> Session:
    """Forks a session into the editor's folder or a new worktree, with its MCP servers and the editor's."""
    cwd = absolute(request.cwd)
    settings = wire.read_settings(request.meta)
    source = await find_session(services, request.session_id)
    await folder_within(services.store, services.settings, caller, source, cwd)
    branch = NewBranch(
        preset=settings.preset,
        agent=settings.agent,
        title=settings.title,
        permission_mode=settings.mode,
        model=settings.model,
        effort=settings.effort,
        worktree=NewBranchWorktree(branch=settings.branch) if settings.branch is not None else "same",
        mcp_server_ids=await _beside_preset(
            services,
            settings.preset,
            await mcp_servers.replaced(services, caller, editor, source, request.mcp_servers),
        ),
    )
    created = await services.branches.fork(caller, source.id, branch)
    fork = await services.sessions.get(created.session_id)
    return await move(services.store, services.settings, caller, fork, cwd) if settings.branch is None else fork


def absolute(cwd: str) -> str:
    if not os.path.isabs(cwd):
        raise Invalid("path_not_absolute", f"cwd must be an absolute path, not {cwd[:200]!r}.")
    return cwd


def real(cwd: str) -> str:
    """Returns a folder with its symbolic links resolved."""
    return os.path.realpath(absolute(cwd))


async def _worktree(services: Services, real: str) -> Worktree | None:
    """Returns the innermost known worktree that contains a folder."""
    page = await services.worktrees.list(None, False, MOST_WORKTREES, 0)
    inside = [row for row in page.rows if real == row.path or real.startswith(f"{row.path}/")]
    return max(inside, key=lambda row: len(row.path), default=None)
