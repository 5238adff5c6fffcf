"""Compares what a call of Bough's own tools would do with the rights of the session that makes it: its mode, MCP
servers, environment, sandbox and hosts."""

from __future__ import annotations

import msgspec

from bough.agents.catalog import Catalog
from bough.core.policy.network_reach import beyond, host_env, reached_hosts, session_env
from bough.core.policy.sandbox_choice import is_weaker, wanted_sandbox
from bough.core.policy.turn_mode import lowest_mode
from bough.core.state.calls.reach import reaches
from bough.core.store import records
from bough.core.store.short_ids import find_id
from bough.core.store.sql import MCP, REPOS, WORKTREES
from bough.model.call import Claim
from bough.model.message import raw
from bough.model.repo import GitPermissions, McpServer, Repo
from bough.model.session import RANK, PermissionMode, Session
from bough.settings import Settings
from bough.storage.backend import Tx

MOST_NAMED = 5
"""Hosts and variables that a question names."""


class RightsCheck(msgspec.Struct, frozen=True):
    """Holds why a claim exceeds the rights of its caller, if it does (`raises`), and whether it leaves the caller's
    reach."""

    raises: str | None
    foreign: bool


async def check_claim(tx: Tx, catalog: Catalog, settings: Settings, session: Session, claim: Claim) -> RightsCheck:
    """Compares what a call would do with the caller's own rights."""
    if claim.agent is not None:
        # An unknown agent is refused before anybody is asked.
        catalog.get(claim.agent)
    target = await records.session(tx, claim.target) if claim.target is not None else None
    foreign = target is not None and not await reaches(tx, session, target)
    if claim.repo is not None and await find_id(tx, "repos", claim.repo) != session.repo_id:
        foreign = True
    if claim.worktree is not None and claim.worktree != session.worktree_id:
        # A worktree in which no session of the tree works belongs to somebody else.
        root = session.root_session_id
        foreign = foreign or not await tx.value(WORKTREES.is_in_tree, id=claim.worktree, root=root)
    raises = await _raises(tx, catalog, session, claim, target)
    if raises is None and target is not None and not claim.inherits:
        raises = await _less_confined(tx, settings, session, target)
    if raises is None:
        raises = await _more_hosts(tx, catalog, settings, session, claim, target)
    # A person who is asked every time still learns what else it would lead to.
    reasons = [reason for reason in (claim.reason_to_ask, raises) if reason is not None]
    return RightsCheck(" ".join(reasons) or None, foreign)


async def _raises(tx: Tx, catalog: Catalog, session: Session, claim: Claim, target: Session | None) -> str | None:
    """Returns why a person decides about a claim, whatever is remembered; None if it needs nobody."""
    reasons = (claim.reason_to_ask, _variables(claim), await _exceeds(tx, catalog, session, claim, target))
    return " ".join(reason for reason in reasons if reason is not None) or None


def _variables(claim: Claim) -> str | None:
    """Returns why a person decides about variables: they may hold keys, or say where an agent's own files are."""
    if not claim.variables:
        return None
    named = ", ".join(claim.variables[:MOST_NAMED]) + (" and others" if len(claim.variables) > MOST_NAMED else "")
    return f"It would have variables that this session was not given itself: {named}."


async def _exceeds(tx: Tx, catalog: Catalog, session: Session, claim: Claim, target: Session | None) -> str | None:
    """Returns why a claim exceeds the rights of its caller; None if it does not."""
    mode = await lowest_mode(tx, session)
    own = _rank(catalog, session.agent, mode)
    own_mode = f"{mode}, the mode of the session that wants this"
    if claim.mode is not None:
        agent = claim.agent or (target.agent if target else session.agent)
        if _rank(catalog, agent, claim.mode) > own:
            return f"Mode {claim.mode} of {agent} grants more than {own_mode}."
    if claim.sets_up and (own < TOP or _is_confined(session)):
        programs = await _programs_of_setup(tx, claim.repo or session.repo_id)
        if programs is not None:
            return (
                f"A new worktree runs {programs} outside of every sandbox, on files that the session may have written."
            )
    servers = claim.servers
    if target is not None and target.id != session.id:
        if not claim.inherits and _rank(catalog, target.agent, target.permission_mode) > own:
            return f"Session {target.id} works in mode {target.permission_mode}, which grants more than {own_mode}."
        if claim.inherits or claim.commands:
            if own < TOP and await session_env(tx, target.id) != await session_env(tx, session.id):
                return f"It would work in the environment of session {target.id}, which this session was not given."
            servers = (*servers, *msgspec.json.decode(target.mcp_server_ids, type=tuple[str, ...]))
    return await _servers(tx, session, own, servers)


async def _less_confined(tx: Tx, settings: Settings, session: Session, target: Session) -> str | None:
    """Returns why a session's sandbox makes it more powerful than the caller. New sessions get no weaker sandbox
    (`policy.sandbox_choice`)."""
    choice = await wanted_sandbox(tx, target, settings)
    own = await wanted_sandbox(tx, session, settings)
    if not is_weaker(choice, own):
        return None
    return (
        f"The sandbox of session {target.id} is {choice.text}, which confines less than {own.text}, the caller's own."
    )


async def _more_hosts(
    tx: Tx, catalog: Catalog, settings: Settings, session: Session, claim: Claim, target: Session | None
) -> str | None:
    """Returns why a strictly confined session would reach more hosts through the session that a claim is about: a new
    one, or the target."""
    choice = await wanted_sandbox(tx, session, settings)
    if choice.sandbox == "off" or choice.profile != "strict" or (claim.agent is None and target is None):
        return None
    worker = target or msgspec.structs.replace(session, mcp_server_ids=raw([]))
    env = await host_env(tx, target.id) if target is not None else {}
    if claim.agent is not None:
        inherited = msgspec.json.decode(worker.mcp_server_ids, type=list[str])
        added = [await find_id(tx, "mcp_servers", server) for server in claim.servers]
        worker = msgspec.structs.replace(
            worker,
            id="",
            agent=claim.agent,
            repo_id=await find_id(tx, "repos", claim.repo) if claim.repo is not None else worker.repo_id,
            mcp_server_ids=raw([*inherited, *added]),
        )
    own = await reached_hosts(tx, catalog.get(session.agent), session, settings, await host_env(tx, session.id))
    anywhere = claim.agent is not None and claim.repo is not None
    others = await reached_hosts(tx, catalog.get(worker.agent), worker, settings, env, anywhere=anywhere)
    more = beyond(own, others)
    if not more:
        return None
    named = ", ".join(more[:MOST_NAMED]) + (" and others" if len(more) > MOST_NAMED else "")
    return f"It would reach hosts that the strict sandbox of this session does not allow: {named}."


def _is_confined(session: Session) -> bool:
    """Returns whether a session's agent was started in a box, which also limits it in the top modes."""
    return session.confinement not in (None, "unconfined")


async def _programs_of_setup(tx: Tx, repo_id: str) -> str | None:
    """Returns what people let run in new worktrees of a repository; None if that is nothing."""
    repo = await tx.one(REPOS.get, Repo, id=await find_id(tx, "repos", repo_id))
    if repo is None:
        return None
    allowed = GitPermissions()
    if repo.git_permissions is not None:
        allowed = msgspec.json.decode(repo.git_permissions, type=GitPermissions)
    programs = {
        "the repository's own command": bool(msgspec.json.decode(repo.setup, type=list[str])),
        "the repository's hooks": allowed.hooks,
        "git for its submodules": allowed.submodules,
    }
    return " and ".join(name for name, runs in programs.items() if runs) or None


async def _servers(tx: Tx, session: Session, own: float, servers: tuple[str, ...]) -> str | None:
    """Returns why these MCP servers exceed the caller's rights. A server on stdio runs a command, and any server has
    rights of its own."""
    ids = {await find_id(tx, "mcp_servers", server) for server in servers}
    beyond = sorted(ids - set(msgspec.json.decode(session.mcp_server_ids, type=list[str])))
    if not beyond or own >= TOP:
        return None
    named = ", ".join(server.name for server in await tx.all(MCP.some, McpServer, ids=beyond))
    return f"It would have MCP servers that this session was not given itself: {named}."


TOP = float(RANK["allow-all"])


def _rank(catalog: Catalog, agent: str, mode: PermissionMode) -> float:
    """Returns how much a mode grants with an agent; a sandboxed agent may less than others in the top mode."""
    rank = float(RANK[mode])
    return rank - 0.5 if rank == TOP and agent in catalog.names() and catalog.get(agent).quirks.sandboxed else rank
