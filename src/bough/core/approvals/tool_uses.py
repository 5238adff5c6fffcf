"""Approvals of tool uses: the agent's own tools, changes of its mode, and calls of Bough's tools."""

from __future__ import annotations

from bough.agents.catalog import Catalog
from bough.core.approvals import ask
from bough.core.approvals.ask import Decided, ToolUseQuestion
from bough.core.approvals.base import (
    ALLOWED_ON_EXPIRY,
    DENIED_ON_EXPIRY,
    ApprovalKind,
    Arguments,
    By,
    Conclusion,
    Expired,
)
from bough.core.approvals.options import once, options_of, why_not_once
from bough.core.policy import choices, decide_for_session
from bough.core.policy.decide import Verdict
from bough.core.policy.tool_use import read as tool_use
from bough.core.policy.turn_mode import turn_mode
from bough.core.state.calls import tool_call
from bough.core.store import records
from bough.core.store.transactions import CHANNEL_APPROVALS, Change
from bough.errors import Conflict
from bough.model.approval import Approval, Decision, Option
from bough.model.call import Call
from bough.model.rule import Scope
from bough.model.session import Session
from bough.model.task import Task
from bough.settings import Settings

CALL_OPTIONS = [
    Option("allow", "Allow", "allow_once"),
    Option("always", "Always allow", "allow_always"),
    Option("deny", "Deny", "reject_once"),
]
CALL_ONCE_OPTIONS = [option for option in CALL_OPTIONS if option.kind != "allow_always"]


class ToolUseKind(ApprovalKind):
    """A tool use that an agent asks about. The agent waits for the answer."""

    async def ask(
        self,
        change: Change,
        session: Session,
        task: Task,
        tool_question: ToolUseQuestion,
        verdict: Verdict,
        settings: Settings,
    ) -> Approval:
        """Stores the question, and the turn waits; or stores the answer if policy has one."""
        use, question = tool_question.use, tool_question.question
        approval = await ask.write(
            change,
            session,
            task,
            settings,
            kind=use.kind,
            title=use.title,
            tool_call=tool_use.call(tool_question.body),
            options=question.options,
            request_id=question.request.id,
            reason=verdict.reason,
            key=use.key,
            decided=_decided_by_policy(question.options, verdict),
        )
        if approval.status == "denied":
            await ask.show_denial(change, approval)
        elif approval.status == "pending" and await records.move_task(change, task.id, "waiting_permission"):
            await records.update_session(change, session.id, activity="waiting_permission")
        return approval

    async def decide(self, change: Change, approval: Approval, by: By, arguments: Arguments | None) -> None:
        await ask.continue_turn(change, approval)

    def remembered(self, approval: Approval) -> Scope | None:
        return "session" if approval.decision == "allow_always" else None

    async def covered(
        self, change: Change, catalog: Catalog, approval: Approval, like: Approval, by: By
    ) -> Conclusion | None:
        if decide_for_session.is_masked(approval):
            return None
        session = await records.session(change.tx, approval.session_id)
        use = await decide_for_session.read_again(change.tx, catalog, session, approval)
        verdict = await decide_for_session.judge(change.tx, session, use)
        by_choice = verdict.effect == "allow" and verdict.by == "choice"
        return Conclusion("allow", by, verdict.reason) if by_choice and once(options_of(approval), "allow") else None

    async def expire(self, change: Change, catalog: Catalog, approval: Approval) -> Expired:
        """Allows a tool use only if no rule and no mode denies it by now, it touches no protected path, and the agent
        offers to be allowed once."""
        if approval.on_expiry != "allow":
            return Expired("deny", DENIED_ON_EXPIRY)
        if decide_for_session.is_masked(approval):
            return Expired("deny", "Nobody answered in time, and only a person can allow a use of a secret value.")
        session = await records.session(change.tx, approval.session_id)
        use = await decide_for_session.read_again(change.tx, catalog, session, approval)
        verdict = await decide_for_session.judge(change.tx, session, use)
        if verdict.effect == "deny":
            return Expired("deny", f"Nobody answered in time. {verdict.reason}")
        if verdict.effect == "ask" and (use.protected or use.unread):
            return Expired("deny", f"Nobody answered in time, and only a person can allow this. {verdict.reason}")
        options = options_of(approval)
        if once(options, "allow") is None:
            return Expired("deny", f"Nobody answered in time, and {why_not_once(options)}.")
        return Expired("allow", ALLOWED_ON_EXPIRY)


class ModeSwitchKind(ToolUseKind):
    """A change of the agent's own mode. Only a person allows it, and every time."""

    is_judged_again = False

    def offers_always(self, approval: Approval) -> bool:
        return False

    def check(self, approval: Approval, decision: Decision, arguments: Arguments | None) -> None:
        if decision == "allow_always":
            raise Conflict("never_always", "A change of the agent's mode needs approval every time; allow it once.")
        super().check(approval, decision, arguments)

    async def decide(self, change: Change, approval: Approval, by: By, arguments: Arguments | None) -> None:
        """Moves an agent that may leave plan mode to its mode that asks, and with it the modes of turn and session,
        unless a person has changed the session's since."""
        if approval.decision != "deny":
            session = await records.session(change.tx, approval.session_id)
            if await turn_mode(change.tx, session) == "plan":
                await records.update_task(change, approval.task_id, permission_mode="default")
                if session.permission_mode == "plan":
                    await records.update_session(change, session.id, permission_mode="default")
        await super().decide(change, approval, by, arguments)

    async def expire(self, change: Change, catalog: Catalog, approval: Approval) -> Expired:
        if approval.on_expiry == "allow":
            return Expired("deny", "Nobody answered in time, and a change of the agent's mode is for people to allow.")
        return Expired("deny", DENIED_ON_EXPIRY)


class CallKind(ApprovalKind):
    """A call of one of Bough's own tools by a session's agent. The call waits, not the turn."""

    shows_denial = False

    async def ask(
        self,
        change: Change,
        session: Session,
        task: Task,
        call: Call,
        settings: Settings,
        *,
        reason: str,
        key: str,
        arguments: Arguments,
    ) -> Approval:
        """Stores the question about a call; a call without a key raises rights and cannot be allowed for always."""
        approval = await ask.write(
            change,
            session,
            task,
            settings,
            kind=self.name,
            title=call.title,
            tool_call={"title": call.title, "tool": call.tool, "arguments": arguments, "callId": call.id},
            options=CALL_OPTIONS if key else CALL_ONCE_OPTIONS,
            reason=reason,
            key=key or None,
            deny_on_expiry=call.raises,
        )
        await tool_call.show_waiting(change, session)
        change.tx.notify(CHANNEL_APPROVALS, approval.id)
        return approval

    def check(self, approval: Approval, decision: Decision, arguments: Arguments | None) -> None:
        if decision == "deny":
            super().check(approval, decision, arguments)
        if decision == "allow_always" and approval.key is None:
            raise Conflict(
                "never_always", "Anything beyond a session's own rights needs approval every time; allow it once."
            )

    async def decide(self, change: Change, approval: Approval, by: By, arguments: Arguments | None) -> None:
        await tool_call.decided(change, approval, by_person=by["kind"] == "person", arguments=arguments)

    def remembered(self, approval: Approval) -> Scope | None:
        return "session" if approval.decision == "allow_always" else None

    async def covered(
        self, change: Change, catalog: Catalog, approval: Approval, like: Approval, by: By
    ) -> Conclusion | None:
        session = await records.session(change.tx, approval.session_id)
        matching = await choices.matching(change.tx, session, approval.key)
        if not matching:
            return None
        # No person has seen this call, so policy allows it: it is judged again before it is carried out.
        return Conclusion("allow", {"kind": "policy", "id": matching[0].id}, f"Allowed with {like.title!r}.")

    async def expire(self, change: Change, catalog: Catalog, approval: Approval) -> Expired:
        """Allows what stays within the session's own rights, which is what has a key."""
        if approval.on_expiry == "allow" and approval.key is not None:
            return Expired("allow", ALLOWED_ON_EXPIRY)
        return Expired("deny", DENIED_ON_EXPIRY)


def _decided_by_policy(options: list[Option], verdict: Verdict) -> Decided | None:
    if verdict.effect == "ask":
        return None
    option = once(options, "allow" if verdict.effect == "allow" else "deny")
    status = "allowed" if verdict.effect == "allow" else "denied"
    by = {"kind": "policy", "id": verdict.id}
    return Decided(status, verdict.effect, option.option_id if option else None, by)
