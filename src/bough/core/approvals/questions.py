"""Approvals that are questions: an agent asks a person to fill in a form or to open an address, and waits."""

from __future__ import annotations

from typing import Any

import msgspec

from bough.agents.acp.wire import RequestId
from bough.agents.catalog import Catalog
from bough.core.approvals import ask, form_patterns
from bough.core.approvals.base import ApprovalKind, Arguments, By, Expired
from bough.core.store import records
from bough.core.store.sql import QUESTIONS
from bough.core.store.transactions import Change
from bough.errors import Conflict, Invalid
from bough.model.approval import Approval, Decision, Option
from bough.model.message import notice, raw
from bough.model.questions.answer import QuestionAnswer, check, defaults
from bough.model.questions.form import QuestionForm, StoredQuestion, mapped
from bough.model.session import Session
from bough.model.task import Task
from bough.model.values.redaction import MASK
from bough.model.values.visible import visible
from bough.settings import Settings

ACCEPT = Option("accept", "Answer", "allow_once")
OPTIONS = [ACCEPT, Option("decline", "Decline", "reject_once"), Option("cancel", "Dismiss", "reject_once")]
REASON = "The agent asks you and waits for your answer."
URL_REASON = "The agent asks you to open this address yourself. Check its host first: what you do there is up to you."
DECLINED = "Nobody answered in time."
PROPOSED = "Nobody answered in time, and the session is set to allow then: the agent got the values that it proposed."
VERBS = {"accept": "Answered", "decline": "Declined", "cancel": "Dismissed"}
ENDED_BY_AGENT = "Ended by the agent"
"""Says that no person answered: the agent itself declared what it had asked for done."""
# Characters of a value in the transcript.
LONGEST_VALUE = 500


class QuestionKind(ApprovalKind):
    """A question in the agent's own words. The agent waits for the answer."""

    shows_denial = False
    is_judged_again = False

    async def ask(
        self,
        change: Change,
        session: Session,
        task: Task,
        form: QuestionForm,
        request_id: RequestId,
        settings: Settings,
    ) -> Approval:
        """Stores the question, and the turn waits. People see it without hidden characters and secret values."""
        secrets = await change.redactor(session.id)
        shown = mapped(form, lambda text: secrets.text(visible(text)))
        approval = await ask.write(
            change,
            session,
            task,
            settings,
            kind=self.name,
            title=shown.headline,
            tool_call=msgspec.to_builtins(shown),
            options=OPTIONS,
            request_id=request_id,
            reason=URL_REASON if form.mode == "url" else REASON,
        )
        await change.tx.run(QUESTIONS.add, approval_id=approval.id, form=raw(form))
        if await records.move_task(change, task.id, "waiting_permission"):
            await records.update_session(change, session.id, activity="waiting_permission")
        return approval

    def check(self, approval: Approval, decision: Decision, arguments: Arguments | None) -> None:
        if decision == "allow_always":
            raise Conflict("never_always", "A question is answered every time; it cannot be answered for always.")
        super().check(approval, decision, arguments)

    async def record_answer(
        self, change: Change, approval: Approval, option: Option | None, content: Arguments | None
    ) -> msgspec.Raw:
        """Keeps the answer for the agent, and returns it without secrets. The agent may repeat what it is told in
        confidence, so these values are masked in the session's texts from now on."""
        answer = QuestionAnswer(option.option_id if option else "decline")
        if answer.action == ACCEPT.option_id and _form(approval.tool_call).mode == "form":
            answer.content = content or {}
        await change.tx.run(QUESTIONS.answer, approval_id=approval.id, answer=raw(answer))
        question = await change.tx.one(QUESTIONS.get, StoredQuestion, approval_id=approval.id)
        if answer.content is None or question is None:
            return raw(QuestionAnswer(answer.action))
        fields = _form(question.form).fields
        confided = [answer.content[field.name] for field in fields if field.secret and field.name in answer.content]
        if confided:
            await change.mask(approval.session_id, [str(value) for value in confided])
        secrets = await change.redactor(approval.session_id)
        shown = _form(approval.tool_call)
        public: dict[str, Any] = {}
        for field, seen in zip(fields, shown.fields, strict=True):
            if field.name in answer.content:
                public[seen.name] = MASK if field.secret else _shown(secrets.value(answer.content[field.name]))
        return raw(QuestionAnswer(answer.action, public))

    async def decide(self, change: Change, approval: Approval, by: By, arguments: Arguments | None) -> None:
        """Writes the answer into the transcript, and lets the turn run again when its last question is answered."""
        await records.add_message(
            change, approval.session_id, approval.task_id, "system", notice(_summary(approval, by))
        )
        await ask.continue_turn(change, approval)

    async def expire(self, change: Change, catalog: Catalog, approval: Approval) -> Expired:
        """Declines, or accepts with the values that the agent proposes if the session is set to allow and they are a
        whole answer. Nobody opens an address for a person."""
        question = await change.tx.one(QUESTIONS.get, StoredQuestion, approval_id=approval.id)
        if approval.on_expiry == "allow" and question is not None:
            form = _form(question.form)
            values, wrong = check(form, form, defaults(form))
            if values and not wrong:
                return Expired("allow", PROPOSED, values)
        return Expired("deny", DECLINED)


async def checked_answer(question: StoredQuestion, approval: Approval, content: Arguments) -> Arguments:
    """Returns the values for the agent. Raises `Invalid` with one sentence for each field that is wrong."""
    form, shown = _form(question.form), _form(approval.tool_call)
    if form.mode == "url":
        if content:
            raise Invalid("bad_answer", "An address to open takes no content; accept it once you have opened it.")
        return {}
    values, wrong = check(form, shown, content)
    checked = [
        (field, seen)
        for field, seen in zip(form.fields, shown.fields, strict=True)
        if field.pattern is not None and field.name in values
    ]
    pairs = [(field.pattern or "", str(values[field.name])) for field, _ in checked]
    for (_, seen), is_wrong in zip(checked, await form_patterns.mismatches(pairs), strict=True):
        if is_wrong:
            wrong[seen.name] = f"Must match the pattern {seen.pattern}"
    if wrong:
        labels = {field.name: field.label for field in shown.fields}
        sentences = " ".join(f"{labels.get(name, name)}: {text}" for name, text in list(wrong.items())[:10])
        raise Invalid("bad_content", f"The answer does not fit the question. {sentences}", fields=wrong)
    return values


def _form(encoded: msgspec.Raw) -> QuestionForm:
    return msgspec.json.decode(encoded, type=QuestionForm)


def _shown(value: Any) -> Any:
    if isinstance(value, list):
        return [_shown(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    return visible(value) if isinstance(value, str) else value


def _summary(approval: Approval, by: By) -> str:
    """Describes the answer for the transcript."""
    answer = msgspec.json.decode(approval.answer or b"{}", type=QuestionAnswer)
    verb = VERBS.get(answer.action, answer.action)
    if by.get("kind") == "policy":
        verb = f"{verb} by policy"
    elif by.get("kind") == "agent":
        verb = ENDED_BY_AGENT
    lines = [f"{verb}: {approval.title}"]
    labels = {field.name: field.label for field in _form(approval.tool_call).fields}
    for name, value in (answer.content or {}).items():
        lines.append(f"- {labels.get(name, name)}: {_brief(value)}")
    if by.get("kind") == "policy":
        lines.append(approval.reason or "")
    return "\n".join(lines)


def _brief(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = ", ".join(str(item) for item in value) if isinstance(value, list) else str(value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"
