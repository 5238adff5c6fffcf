"""Records in the audit trail who changes what a session's agent may do."""

from __future__ import annotations

from typing import Any

from bough.core.store.transactions import Change
from bough.model.session import Caller

RIGHTS = (
    "agent",
    "permission_mode",
    "headless",
    "approval_timeout",
    "sandbox",
    "sandbox_profile",
    "mcp_server_ids",
    "env",
)


def audit_rights(change: Change, caller: Caller, session_id: str, columns: dict[str, Any]) -> None:
    """Records changed rights; None uses the setting of the repo or the server. Values of variables are masked."""
    rights = {name: "inherit" if columns[name] is None else columns[name] for name in RIGHTS if name in columns}
    if rights:
        change.audit(caller, "session.changed", session_id=session_id, subject_id=session_id, **rights)
