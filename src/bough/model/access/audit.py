"""Defines the entries of the audit trail: who did what, when, and through which door."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

from bough.model.access.user import Role
from bough.model.session import Door, Who

AuditAction = Literal[
    "session.created",
    "session.prompted",
    "conversation.imported",
    "session.handed_over",
    "session.stopped",
    "session.completed",
    "session.cancelled",
    "session.resumed",
    "session.archived",
    "session.unarchived",
    "session.purged",
    "session.changed",
    "session.mode_applied",
    "prompt.changed",
    "approval.decided",
    "files.restored",
    "race.kept",
    "budget.changed",
    "transcript.limited",
    "rule.added",
    "rule.changed",
    "rule.removed",
    "choice.removed",
    "repo.added",
    "repo.changed",
    "repo.removed",
    "clone.started",
    "clone.cancelled",
    "worktree.created",
    "worktree.removed",
    "worktree.recovered",
    "worktree.committed",
    "worktree.updated",
    "worktree.merged",
    "worktree.merge_undone",
    "worktree.pushed",
    "worktree.pull_request",
    "worktree.cleaned_up",
    "worktree.checks_rule",
    "schedule.added",
    "schedule.changed",
    "schedule.removed",
    "schedule.run",
    "terminal.opened",
    "terminal.joined",
    "terminal.ended",
    "run.started",
    "run.stopped",
    "checkpoints.pruned",
    "git_permissions.changed",
    "repo_config.decided",
    "mcp_server.added",
    "mcp_server.changed",
    "mcp_server.removed",
    "preset.added",
    "preset.changed",
    "preset.removed",
    "agent.added",
    "agent.removed",
    "user.added",
    "user.changed",
    "user.removed",
    "token.added",
    "token.rotated",
    "token.revoked",
    "token.expired",
    "server_token.rotated",
    "page.signed_in",
    "page.signed_out",
    "audit.pruned",
]
AUDIT_ACTIONS: tuple[AuditAction, ...] = get_args(AuditAction)


class AuditEntry(msgspec.Struct, rename="camel", frozen=True):
    """A row of `audit`. No row is ever changed; numbers follow the order of commits."""

    number: int
    at: str
    # A person, an agent's session, or Bough itself.
    kind: Who
    # The person's id and name at that time; the owner has only the name.
    user_id: str | None
    user_name: str | None
    role: Role | None
    # The session whose agent did it.
    caller_session_id: str | None
    door: Door
    # The token or page key that was used; null for the server's token.
    token_id: str | None
    action: AuditAction
    # The session that it concerns, and the id of the record that was changed.
    session_id: str | None
    subject_id: str | None
    details: msgspec.Raw
