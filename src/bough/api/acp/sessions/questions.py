"""Builds the request by which an editor asks its user an agent's question, and reads the answer."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from bough.agents.acp.elicitation import requested_schema
from bough.agents.json_rpc import Json
from bough.core.approvals.service import AnswerBody
from bough.model.approval import Approval
from bough.model.questions.form import QuestionForm
from bough.model.session import Session


class ElicitationSupport(msgspec.Struct, frozen=True):
    """The kinds of questions that an editor declares to take."""

    form: bool = False
    url: bool = False

    @classmethod
    def of(cls, capabilities: dict[str, Any]) -> ElicitationSupport:
        """Reads the capabilities of an editor."""
        declared: Any = capabilities.get("elicitation")
        if not isinstance(declared, dict):
            return cls()
        kinds: dict[str, Any] = declared  # pyright: ignore[reportUnknownVariableType]
        return cls(isinstance(kinds.get("form"), dict), isinstance(kinds.get("url"), dict))

    def takes(self, approval: Approval) -> bool:
        """Tells whether the editor can ask this question."""
        return self.url if form_of(approval).mode == "url" else self.form


class _Answer(msgspec.Struct):
    action: Literal["accept", "decline", "cancel"]
    content: dict[str, Any] | None = None


def form_of(approval: Approval) -> QuestionForm:
    """Returns the form of a question as people see it."""
    return msgspec.json.decode(approval.tool_call, type=QuestionForm)


def create_elicitation(approval: Approval, shown_in: str, call_id: str | None, child: Session | None) -> Json:
    """Returns the parameters of `elicitation/create`; `child` is the session that asks if another one shows it."""
    form = form_of(approval)
    prefix = f"{child.title or child.agent}: " if child is not None else ""
    params: Json = {
        "sessionId": shown_in,
        "mode": form.mode,
        "message": f"{prefix}{form.message}",
        "_meta": {"bough": {"approvalId": approval.id, "sessionId": approval.session_id, "reason": approval.reason}},
    }
    if call_id is not None:
        params["toolCallId"] = call_id
    if form.mode == "url":
        return {**params, "url": form.url, "elicitationId": approval.id}
    return {**params, "requestedSchema": requested_schema(form)}


def read_answer(result: msgspec.Raw) -> AnswerBody:
    """Reads an editor's answer. Raises `msgspec.DecodeError` or `msgspec.ValidationError` for any other."""
    answer = msgspec.json.decode(result, type=_Answer)
    return AnswerBody(action=answer.action, content=answer.content if answer.action == "accept" else None)
