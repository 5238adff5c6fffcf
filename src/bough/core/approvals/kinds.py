"""The table of approval kinds, by the name that an approval's row has. Whoever asks or answers looks its handler up
here."""

from __future__ import annotations

from bough.core.approvals.base import ApprovalKind
from bough.core.approvals.held_turns import AgentLimitKind, InterruptedKind, LimitKind, TrustKind
from bough.core.approvals.network import NetworkKind
from bough.core.approvals.questions import QuestionKind
from bough.core.approvals.tool_uses import CallKind, ModeSwitchKind, ToolUseKind
from bough.model.approval import (
    AGENT_LIMIT_KIND,
    CALL_KIND,
    INTERRUPTED_KIND,
    LIMIT_KIND,
    NETWORK_KIND,
    QUESTION_KIND,
    TRUST_KIND,
    Approval,
)

# Covers every kind of tool use that has no handler of its own: edit, execute, fetch and so on.
TOOL_USE = ToolUseKind("tool_use")
MODE_SWITCH = ModeSwitchKind("switch_mode")
CALL = CallKind(CALL_KIND)
NETWORK = NetworkKind(NETWORK_KIND)
QUESTION = QuestionKind(QUESTION_KIND)
INTERRUPTED = InterruptedKind(INTERRUPTED_KIND)
TRUST = TrustKind(TRUST_KIND)
LIMIT = LimitKind(LIMIT_KIND)
AGENT_LIMIT = AgentLimitKind(AGENT_LIMIT_KIND)

KINDS: dict[str, ApprovalKind] = {
    kind.name: kind for kind in (MODE_SWITCH, CALL, NETWORK, QUESTION, INTERRUPTED, TRUST, LIMIT, AGENT_LIMIT)
}


def kind_of(approval: Approval) -> ApprovalKind:
    """Returns the handler of an approval's kind."""
    return KINDS.get(approval.tool_kind, TOOL_USE)
