"""Decides whether a call of Bough's own tools acts at once, waits for a person or is refused, and how "always"
recognizes it. A call that does the work of two tools is decided by the stricter of both."""

from __future__ import annotations

from bough.core.policy import choices, decide
from bough.core.policy.decide import OWN_SERVER, Verdict
from bough.core.policy.turn_mode import turn_mode
from bough.core.state.calls.raised_rights import RightsCheck
from bough.core.state.calls.reach import call_as_use
from bough.core.store.sql import RULES
from bough.model.call import Claim
from bough.model.rule import Choice, Effect, Rule
from bough.model.session import RANK, PermissionMode, Session
from bough.model.tool import ToolUse
from bough.storage.backend import Tx

_STRICTNESS: dict[Effect, int] = {"allow": 0, "ask": 1, "deny": 2}


async def judge(tx: Tx, session: Session, tool: str, claim: Claim, rights: RightsCheck) -> Verdict:
    """Decides whether a call acts at once, waits for a person or is refused."""
    own_key = key(tool, claim, rights)
    uses = [call_as_use(session, name, own_key) for name in (tool, *claim.also)]
    rules = await tx.all(RULES.all, Rule)
    remembered = await choices.matching(tx, session, own_key)
    if session.kind == "btw":
        return Verdict("deny", "mode", None, "A side question changes nothing; it can only read.")
    mode = await turn_mode(tx, session)
    verdicts = [_decide(mode, use, rules, remembered, rights) for use in uses]
    return max(verdicts, key=lambda verdict: _STRICTNESS[verdict.effect])


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
    target beyond it or with its worktree. A call that raises rights has none."""
    if rights.raises is not None:
        return ""
    beyond = f" {claim.target or claim.worktree or claim.repo}" if rights.foreign or claim.worktree else ""
    return f"{OWN_SERVER}/{'+'.join((tool, *claim.also))}{beyond}"
