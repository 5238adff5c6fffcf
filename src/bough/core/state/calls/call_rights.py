"""Decides what a session's agent may do with Bough's own tools: which sessions it reaches, and whether a person must be
asked about a call."""

from __future__ import annotations

import msgspec

from bough.agents.catalog import Catalog
from bough.core.policy import decide
from bough.core.policy.decide import OWN_SERVER, Verdict
from bough.core.policy.network_reach import beyond, host_env, reached_hosts, session_env
from bough.core.policy.sandbox_choice import is_weaker, wanted_sandbox
from bough.core.policy.turn_mode import lowest_mode, turn_mode
from bough.core.store import records
from bough.core.store.short_ids import find_id
from bough.core.store.sql import CALLS, CHOICES, MCP, REPOS, RULES
from bough.errors import Denied
from bough.model.call import Claim
from bough.model.message import raw
from bough.model.repo import McpServer, Repo
from bough.model.rule import Choice, Rule
from bough.model.session import RANK, PermissionMode, Session
from bough.model.tool import ToolUse
from bough.settings import Settings
from bough.storage.backend import Tx

MOST_NAMED = 5
"""Hosts that a question names."""


class RightsCheck(msgspec.Struct, frozen=True):
    """Holds why a claim exceeds the rights of its caller, if it does (`raises`), and whether it leaves the caller's
    reach."""

    raises: str | None
    foreign: bool


class _Root(msgspec.Struct):
    id: str


async def reach(tx: Tx, session: Session) -> tuple[str, ...]:
    """Returns the roots of the trees that a session reaches: its own, and those that were created from there."""
    return tuple(row.id for row in await tx.all(CALLS.reach, _Root, root=session.root_session_id))


async def reaches(tx: Tx, session: Session, target: Session) -> bool:
    if target.root_session_id == session.root_session_id:
        return True
    return target.root_session_id in await reach(tx, session)


async def readable(tx: Tx, session: Session, tool: str, target: Session) -> None:
    """Raises `Denied` if the caller does not reach the session and no rule opens it."""
    if not await reaches(tx, session, target) and not await opened(tx, session, tool):
        raise Denied(
            "session_out_of_reach",
            f"Session {target.id} belongs to another tree. You can reach the sessions of your own tree and those "
            f"you opened; a person can open the others to you with a rule that allows the tool {OWN_SERVER}/{tool}.",
        )


async def check_read(tx: Tx, session_id: str, tool: str) -> None:
    """Raises `Denied` if a rule denies a tool that only reads; reading never asks."""
    rules = await tx.all(RULES.all, Rule)
    if not any(rule.effect == "deny" for rule in rules):
        return
    rule, sure = decide.first(rules, _use(await records.session(tx, session_id), tool, ""))
    if rule is not None and sure and rule.effect == "deny":
        raise Denied("call_denied", f"{decide.named(rule)} denies this.")


async def opened(tx: Tx, session: Session, tool: str) -> bool:
    """Tells whether a rule lets a session use a tool beyond its own reach."""
    rule, sure = decide.first(await tx.all(RULES.all, Rule), _use(session, tool, ""))
    return rule is not None and sure and rule.effect == "allow"


async def check_claim(tx: Tx, catalog: Catalog, settings: Settings, session: Session, claim: Claim) -> RightsCheck:
    """Compares what a call would do with the caller's own rights."""
    if claim.agent is not None:
        # An unknown agent is refused before anybody is asked.
        catalog.get(claim.agent)
    target = await records.session(tx, claim.target) if claim.target is not None else None
    foreign = target is not None and not await reaches(tx, session, target)
    if claim.repo is not None and await find_id(tx, "repos", claim.repo) != session.repo_id:
        foreign = True
    raises = await _raises(tx, catalog, session, claim, target)
    if raises is None and target is not None and not claim.inherits:
        raises = await _less_confined(tx, settings, session, target)
    if raises is None:
        raises = await _more_hosts(tx, catalog, settings, session, claim, target)
    return RightsCheck(raises, foreign)


async def _raises(tx: Tx, catalog: Catalog, session: Session, claim: Claim, target: Session | None) -> str | None:
    """Returns why a claim exceeds the rights of its caller; None if it does not."""
    mode = await lowest_mode(tx, session)
    own = _rank(catalog, session.agent, mode)
    who = f"{mode}, the mode of the session that wants this"
    if claim.mode is not None:
        agent = claim.agent or (target.agent if target else session.agent)
        if _rank(catalog, agent, claim.mode) > own:
            return f"Mode {claim.mode} of {agent} grants more than {who}."
    if claim.sets_up and own < TOP and await _sets_up(tx, claim.repo or session.repo_id):
        return "A new worktree runs the repository's own command, on files that the session may have written."
    servers = claim.servers
    if target is not None and target.id != session.id:
        if not claim.inherits and _rank(catalog, target.agent, target.permission_mode) > own:
            return f"Session {target.id} works in mode {target.permission_mode}, which grants more than {who}."
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


async def _sets_up(tx: Tx, repo_id: str) -> bool:
    repo = await tx.one(REPOS.get, Repo, id=await find_id(tx, "repos", repo_id))
    return repo is not None and bool(msgspec.json.decode(repo.setup, type=list[str]))


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


async def judge(tx: Tx, session: Session, tool: str, claim: Claim, rights: RightsCheck) -> Verdict:
    """Decides whether a call acts at once, waits for a person or is refused."""
    use = _use(session, tool, key(tool, claim, rights))
    rules = await tx.all(RULES.all, Rule)
    choices = await tx.all(
        CHOICES.matching, Choice, key=use.key, agent=use.agent, session_id=session.id, cwd=session.cwd
    )
    if session.kind == "btw":
        return Verdict("deny", "mode", None, "A side question changes nothing; it can only read.")
    return _decide(await turn_mode(tx, session), use, rules, choices, rights)


def _decide(
    mode: PermissionMode, use: ToolUse, rules: list[Rule], choices: list[Choice], rights: RightsCheck
) -> Verdict:
    rule, sure = decide.first(rules, use)
    if rule is not None and sure and rule.effect == "deny":
        return Verdict("deny", "rule", rule.id, f"{decide.named(rule)} denies this.")
    if rights.raises is not None:
        return Verdict("ask", "mode", None, f"{rights.raises} That needs approval every time.")
    if mode == "plan":
        return Verdict("ask", "mode", None, "In mode plan, every change needs approval.")
    if rule is not None and rule.effect == "allow":
        return Verdict("allow", "rule", rule.id, f"{decide.named(rule)} allows this.")
    if choices:
        reason = f"A person always allowed this, {decide.REACH[choices[0].scope]}."
        return Verdict("allow", "choice", choices[0].id, reason)
    if rule is not None:
        return Verdict("ask", "rule", rule.id, f"{decide.named(rule)} requires approval.")
    if rights.foreign:
        return Verdict("ask", "mode", None, "This reaches beyond the tree of the session that wants it.")
    if RANK[mode] == RANK["allow-all"]:
        return Verdict("allow", "mode", None, f"Mode {mode} allows everything within its own rights.")
    return Verdict(
        "ask", "mode", None, f"Mode {mode} requires approval before sessions are created, prompted or changed."
    )


def key(tool: str, claim: Claim, rights: RightsCheck) -> str:
    """Returns the key by which "always" recognizes a call: the tool within the caller's tree, and the tool with its one
    target beyond it. A call that raises rights has none."""
    if rights.raises is not None:
        return ""
    beyond = f" {claim.target or claim.repo}" if rights.foreign else ""
    return f"{OWN_SERVER}/{tool}{beyond}"


def _use(session: Session, tool: str, key: str) -> ToolUse:
    return ToolUse(agent=session.agent, cwd=session.cwd, kind="mcp", name=tool, server=OWN_SERVER, key=key)
