"""What a session's agent may do with Bough's own tools: how far it reaches, and whether a person must be asked (5d,
5e). The course of a call is `calls`; uses of any other tool are `judging`."""

from __future__ import annotations

import msgspec

from bough.agents.catalog import Catalog
from bough.core.policy import decide
from bough.core.policy.decide import OWN_SERVER, Verdict
from bough.core.store import records
from bough.core.store.short_ids import find_id
from bough.core.store.sql import CALLS, CHOICES, MCP, REPOS, RULES, SESSIONS
from bough.errors import Denied
from bough.model.call import Claim
from bough.model.repo import McpServer, Repo
from bough.model.rule import Choice, Rule
from bough.model.session import RANK, PermissionMode, Session
from bough.model.tool import ToolUse
from bough.storage.backend import Tx


class Weighed(msgspec.Struct, frozen=True):
    """A claim against the rights of its caller: why it goes beyond them, if it does; whether it leaves its reach."""

    raises: str | None
    foreign: bool


class _Root(msgspec.Struct):
    id: str


async def reach(tx: Tx, session: Session) -> tuple[str, ...]:
    """The roots of the trees that a session reaches: its own, and those that were opened from there."""
    return tuple(row.id for row in await tx.all(CALLS.reach, _Root, root=session.root_session_id))


async def reaches(tx: Tx, session: Session, target: Session) -> bool:
    if target.root_session_id == session.root_session_id:
        return True
    return target.root_session_id in await reach(tx, session)


async def readable(tx: Tx, session: Session, tool: str, target: Session) -> None:
    """Refuses to read a session that the caller does not reach, unless a rule opens it."""
    if not await reaches(tx, session, target) and not await opened(tx, session, tool):
        raise Denied(
            "session_out_of_reach",
            f"Session {target.id} belongs to another tree. You reach the sessions of your own tree and those you "
            f"opened; a person can open the others to you with a rule that allows the tool {OWN_SERVER}/{tool}.",
        )


async def check_read(tx: Tx, session_id: str, tool: str) -> None:
    """Reading asks nobody, but a rule that denies is final."""
    rules = await tx.all(RULES.all, Rule)
    if not any(rule.effect == "deny" for rule in rules):
        return
    rule, sure = decide.first(rules, _use(await records.session(tx, session_id), tool, ""))
    if rule is not None and sure and rule.effect == "deny":
        raise Denied("call_denied", f"{decide.named(rule)} denies this.")


async def opened(tx: Tx, session: Session, tool: str) -> bool:
    """Whether a rule lets a session use a tool beyond its own reach."""
    rule, sure = decide.first(await tx.all(RULES.all, Rule), _use(session, tool, ""))
    return rule is not None and sure and rule.effect == "allow"


async def weigh(tx: Tx, catalog: Catalog, session: Session, claim: Claim) -> Weighed:
    """Holds what is wanted against what the caller may itself."""
    if claim.agent is not None:
        # Nobody is asked about an agent that does not exist.
        catalog.get(claim.agent)
    target = await records.session(tx, claim.target) if claim.target is not None else None
    foreign = target is not None and not await reaches(tx, session, target)
    if claim.repo is not None and await find_id(tx, "repos", claim.repo) != session.repo_id:
        foreign = True
    return Weighed(await _raises(tx, catalog, session, claim, target), foreign)


async def _raises(tx: Tx, catalog: Catalog, session: Session, claim: Claim, target: Session | None) -> str | None:
    """Why a claim goes beyond the rights of its caller; nothing if it does not."""
    own = _rank(catalog, session.agent, session.permission_mode)
    who = f"{session.permission_mode}, the mode of the session that wants this"
    if claim.mode is not None:
        agent = claim.agent or (target.agent if target else session.agent)
        if _rank(catalog, agent, claim.mode) > own:
            return f"Mode {claim.mode} of {agent} grants more than {who}."
    if claim.sets_up and own < TOP and await _sets_up(tx, claim.repo or session.repo_id):
        return "A new worktree runs the repository's own command, on files that the session may have written."
    given = claim.servers
    if target is not None and target.id != session.id:
        if not claim.inherits and _rank(catalog, target.agent, target.permission_mode) > own:
            return f"Session {target.id} works in mode {target.permission_mode}, which grants more than {who}."
        if claim.inherits or claim.commands:
            if own < TOP and await _env(tx, target) != await _env(tx, session):
                return f"It would work in the environment of session {target.id}, which this session was not given."
            given = (*given, *msgspec.json.decode(target.mcp_server_ids, type=tuple[str, ...]))
    return await _servers(tx, session, own, given)


async def _sets_up(tx: Tx, repo_id: str) -> bool:
    repo = await tx.one(REPOS.get, Repo, id=await find_id(tx, "repos", repo_id))
    return repo is not None and bool(msgspec.json.decode(repo.setup, type=list[str]))


async def _servers(tx: Tx, session: Session, own: float, wanted: tuple[str, ...]) -> str | None:
    """An MCP server on stdio is a command that is run, and any server has the rights that it was given."""
    ids = {await find_id(tx, "mcp_servers", one) for one in wanted}
    beyond = sorted(ids - set(msgspec.json.decode(session.mcp_server_ids, type=list[str])))
    if not beyond or own >= TOP:
        return None
    named = ", ".join(one.name for one in await tx.all(MCP.some, McpServer, ids=beyond))
    return f"It would have MCP servers that this session was not given itself: {named}."


async def _env(tx: Tx, session: Session) -> dict[str, str]:
    return msgspec.json.decode(await tx.value(SESSIONS.env, id=session.id) or b"{}")


TOP = float(RANK["allow-all"])


def _rank(catalog: Catalog, agent: str, mode: PermissionMode) -> float:
    """How much a mode grants with an agent: one that keeps to its sandbox may less than one that does not."""
    rank = float(RANK[mode])
    return rank - 0.5 if rank == TOP and agent in catalog.names() and catalog.get(agent).quirks.sandboxed else rank


async def judge(tx: Tx, session: Session, tool: str, claim: Claim, weighed: Weighed) -> Verdict:
    """Whether a call acts at once, waits for a person, or is refused."""
    use = _use(session, tool, key(tool, claim, weighed))
    rules = await tx.all(RULES.all, Rule)
    choices = await tx.all(
        CHOICES.matching, Choice, key=use.key, agent=use.agent, session_id=session.id, cwd=session.cwd
    )
    if session.kind == "btw":
        return Verdict("deny", "mode", None, "A question aside changes nothing; it may read only.")
    return _decide(session.permission_mode, use, rules, choices, weighed)


def _decide(mode: PermissionMode, use: ToolUse, rules: list[Rule], choices: list[Choice], weighed: Weighed) -> Verdict:
    rule, sure = decide.first(rules, use)
    if rule is not None and sure and rule.effect == "deny":
        return Verdict("deny", "rule", rule.id, f"{decide.named(rule)} denies this.")
    if weighed.raises is not None:
        return Verdict("ask", "mode", None, f"{weighed.raises} That is asked about every time.")
    if mode == "plan":
        return Verdict("ask", "mode", None, "Mode plan changes nothing without a person's word.")
    if rule is not None and rule.effect == "allow":
        return Verdict("allow", "rule", rule.id, f"{decide.named(rule)} allows this.")
    if choices:
        reason = f"A person has said always to this, {decide.REACH[choices[0].scope]}."
        return Verdict("allow", "choice", choices[0].id, reason)
    if rule is not None:
        return Verdict("ask", "rule", rule.id, f"{decide.named(rule)} has a person asked.")
    if weighed.foreign:
        return Verdict("ask", "mode", None, "This reaches beyond the tree of the session that wants it.")
    if RANK[mode] == RANK["allow-all"]:
        return Verdict("allow", "mode", None, f"Mode {mode} allows everything within its own rights.")
    return Verdict("ask", "mode", None, f"Mode {mode} asks before sessions are made, prompted or changed.")


def key(tool: str, claim: Claim, weighed: Weighed) -> str:
    """By what a call is known again when a person says *always*: the tool within the caller's tree; beyond it, that one
    session or repository. What raises rights is never known again."""
    if weighed.raises is not None:
        return ""
    beyond = f" {claim.target or claim.repo}" if weighed.foreign else ""
    return f"{OWN_SERVER}/{tool}{beyond}"


def _use(session: Session, tool: str, key: str) -> ToolUse:
    return ToolUse(agent=session.agent, cwd=session.cwd, kind="mcp", name=tool, server=OWN_SERVER, key=key)
