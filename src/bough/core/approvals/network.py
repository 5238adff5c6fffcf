"""Approvals of connections: whether a strictly confined agent may reach a host that is not on its list."""

from __future__ import annotations

from bough.agents.catalog import Catalog
from bough.core.approvals import ask
from bough.core.approvals.base import ApprovalKind, Arguments, By, Conclusion, Expired
from bough.core.policy import choices
from bough.core.policy.allowed_hosts import KEY_PREFIX
from bough.core.state.calls import tool_call
from bough.core.store import records
from bough.core.store.sql import APPROVALS
from bough.core.store.transactions import CHANNEL_APPROVALS, Change
from bough.model.approval import Approval, Option
from bough.model.rule import Scope
from bough.model.session import Session
from bough.model.task import Task
from bough.settings import Settings

OPTIONS = [
    Option("allow", "Allow until the next prompt", "allow_once"),
    Option("always", "Allow for this session", "allow_always"),
    Option("deny", "Deny", "reject_once"),
]
REASON = (
    "A program of the agent wants to connect to this host, which is not on the session's list. Whatever the agent can "
    "read could be sent there. Allowed once, the host can be reached until the next prompt. A host of your own network "
    "stays closed even then; list it as internal:HOST in the repo's or the server's hosts."
)


class NetworkKind(ApprovalKind):
    """A host that is not on the list. The connection waits, not the turn; only a person allows it."""

    async def ask(self, change: Change, session: Session, task: Task, host: str, settings: Settings) -> Approval:
        """Stores the question, or returns the one that the turn has already about this host."""
        key = f"{KEY_PREFIX}{host}"
        known = await change.tx.one(APPROVALS.of_key, Approval, task_id=task.id, key=key)
        # An "always" that is not on the list anymore was revoked.
        if known is not None and known.status != "cancelled" and known.decision != "allow_always":
            return known
        title = f"Allow connections to {host}?"
        approval = await ask.write(
            change,
            session,
            task,
            settings,
            kind=self.name,
            title=title,
            tool_call={"title": title, "rawInput": {"host": host}},
            options=OPTIONS,
            reason=REASON,
            key=key,
            deny_on_expiry=True,
        )
        await tool_call.show_waiting(change, session)
        return approval

    async def decide(self, change: Change, approval: Approval, by: By, arguments: Arguments | None) -> None:
        """Shows the session at work again; the proxy hears of the decision after commit."""
        await tool_call.show_running(change, approval.session_id, approval.task_id)
        change.tx.notify(CHANNEL_APPROVALS, approval.id)

    async def expire(self, change: Change, catalog: Catalog, approval: Approval) -> Expired:
        return Expired("deny", "Nobody answered in time, and only a person can allow a host.")

    def remembered(self, approval: Approval) -> Scope | None:
        return "session" if approval.decision == "allow_always" else None

    async def covered(
        self, change: Change, catalog: Catalog, approval: Approval, like: Approval, by: By
    ) -> Conclusion | None:
        session = await records.session(change.tx, approval.session_id)
        known = await choices.matching(change.tx, session, approval.key)
        return Conclusion("allow", by, f"Allowed with {like.title!r}.") if known else None
