"""Defines an approval: a question to a person that a turn waits for (P4)."""

from __future__ import annotations

from typing import Literal

import msgspec

ApprovalStatus = Literal["pending", "allowed", "denied", "cancelled", "expired"]
Decision = Literal["allow", "allow_always", "deny"]
OptionKind = Literal["allow_once", "allow_always", "reject_once", "reject_always"]

# The values of `tool_kind` that are not kinds of an agent's tool uses: a call of one of Bough's tools, which may
# outlive its turn; a host that a program of the agent wants to reach; and the questions that hold a turn, for which no
# agent waits.
CALL_KIND = "call"
NETWORK_KIND = "network"
INTERRUPTED_KIND = "interrupted"
TRUST_KIND = "trust"
LIMIT_KIND = "limit"
AGENT_LIMIT_KIND = "agent_limit"
# A question that the agent asks in its own words; its `tool_call` holds a `QuestionForm`.
QUESTION_KIND = "question"
HELD_TURN_KINDS = (INTERRUPTED_KIND, TRUST_KIND, LIMIT_KIND, AGENT_LIMIT_KIND)
# Questions for which the turn itself does not wait.
BESIDE_TURN_KINDS = (CALL_KIND, NETWORK_KIND)


class Option(msgspec.Struct, rename="camel"):
    """One answer that the agent offers. Ids differ between agents, so decisions go by kind."""

    option_id: str
    name: str
    kind: str


class Approval(msgspec.Struct, rename="camel"):
    """A row of `approvals`, with the agent's options and the tool call in question."""

    id: str
    session_id: str
    task_id: str
    attempt: int
    status: ApprovalStatus
    title: str
    tool_kind: str
    tool_call: msgspec.Raw
    options: msgspec.Raw
    option_id: str | None
    decision: Decision | None
    decided_by: msgspec.Raw | None
    request_id: msgspec.Raw
    created_at: str
    updated_at: str
    decided_at: str | None
    # When it expires and the answer it then gets; null waits forever.
    expires_at: str | None
    on_expiry: Literal["allow", "deny"] | None
    # Why a person is asked, or why it was decided without one.
    reason: str | None
    # Identifies this exact tool use for an "always" answer.
    key: str | None
    # The answer to a question, without secrets: `{"action", "content"}`.
    answer: msgspec.Raw | None = None
