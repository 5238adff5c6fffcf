"""An approval: a question to a person that a turn waits on (P4)."""

from __future__ import annotations

from typing import Literal

import msgspec

ApprovalStatus = Literal["pending", "allowed", "denied", "cancelled", "expired"]
Decision = Literal["allow", "allow_always", "deny"]
OptionKind = Literal["allow_once", "allow_always", "reject_once", "reject_always"]


class Option(msgspec.Struct, rename="camel"):
    """One answer that the agent offers; ids differ between agents, so choices are made by kind."""

    option_id: str
    name: str
    kind: str


class Approval(msgspec.Struct, rename="camel"):
    """A row of `approvals`, with the agent's own options and the tool call that it asks about."""

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
    # Until when it waits, and what is answered then; null waits for ever.
    expires_at: str | None
    on_expiry: Literal["allow", "deny"] | None
    # Why it is asked, or was answered without asking.
    reason: str | None
    # By what exactly this use of a tool is known again.
    key: str | None
