"""The permission requests and questions of one running agent: reads them, remembers those that wait for a decision, and
sends the answers."""

from __future__ import annotations

import contextlib
from typing import Any

import msgspec

from bough.agents.acp import elicitation
from bough.agents.acp.connection import AgentConnection
from bough.agents.acp.wire import AgentRequest, RequestId
from bough.agents.catalog.question_vocabulary import QuestionVocabulary
from bough.agents.errors import AgentGone
from bough.core.approvals.ask import Elicitation, Question
from bough.core.transcripts.recorder import Recorder
from bough.errors import AgentFailed
from bough.model.approval import QUESTION_KIND, Approval, Option
from bough.model.questions.answer import QuestionAnswer

METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INVALID_REQUEST = -32600
MOST_WAITING = 100
"""Requests of one agent that wait for a person. Agents ask about a few tool calls at a time; nobody reads a flood."""


class _Permission(msgspec.Struct, rename="camel"):
    tool_call: dict[str, Any]
    options: list[Option]


class _WaitingRequest(msgspec.Struct):
    id: RequestId
    is_question: bool


class _Notice(msgspec.Struct, rename="camel"):
    """An agent's word about its own requests: which one it cancels, or which question is done."""

    request_id: RequestId = None
    elicitation_id: str | None = None


def read_notice(params: msgspec.Raw) -> _Notice:
    """Reads a notification about a request of the agent."""
    try:
        return msgspec.json.decode(params, type=_Notice)
    except (ValueError, RecursionError):
        return _Notice()


# The results of requests that nobody decides anymore.
_CANCELLED: dict[bool, dict[str, Any]] = {False: {"outcome": {"outcome": "cancelled"}}, True: {"action": "cancel"}}


class AgentRequests:
    """Answers an agent's requests, each once."""

    def __init__(self, connection: AgentConnection, recorder: Recorder, vocabulary: QuestionVocabulary) -> None:
        self._connection = connection
        self._recorder = recorder
        self._vocabulary = vocabulary
        # The requests that wait for an approval, by its id.
        self._waiting: dict[str, _WaitingRequest] = {}
        # Those of them that were decided before the server started, and whose answer is still to be sent.
        self._decided: set[str] = set()

    @property
    def waiting(self) -> list[str]:
        """The approvals that the agent waits for."""
        return list(self._waiting)

    @property
    def is_full(self) -> bool:
        """Whether as many requests wait for a person as may wait."""
        return len(self._waiting) - len(self._decided) >= MOST_WAITING

    async def read(self, request: AgentRequest, number: int) -> Question | Elicitation | None:
        """Reads a permission request or a question; refuses any other, and one that cannot be read."""
        if request.method == elicitation.ELICITATION:
            try:
                return Elicitation(request, number, elicitation.read(request.params, self._vocabulary))
            except elicitation.BadElicitation as error:
                await self._refuse(request, number, INVALID_PARAMS, str(error))
                return None
        if request.method != "session/request_permission":
            await self._refuse(request, number, METHOD_NOT_FOUND, f"Bough does not offer {request.method}.")
            return None
        try:
            permission = msgspec.json.decode(request.params, type=_Permission)
        except msgspec.DecodeError as error:
            await self._refuse(request, number, INVALID_PARAMS, str(error))
            return None
        if not isinstance(permission.tool_call.get("toolCallId"), str | int):
            # Without it, the call could not be matched with its updates.
            await self._refuse(request, number, INVALID_PARAMS, "Object missing required field `toolCallId`.")
            return None
        return Question(request, number, permission.tool_call, permission.options)

    def remember(
        self, approval_id: str, request_id: RequestId, *, is_question: bool = False, decided: bool = False
    ) -> None:
        """Remembers the request that an approval answers, also one that is decided but may not have been sent."""
        self._waiting[approval_id] = _WaitingRequest(request_id, is_question)
        if decided:
            self._decided.add(approval_id)

    def forget(self) -> None:
        """Forgets all requests, because their turn is over."""
        self._waiting.clear()
        self._decided.clear()

    def approval_of(self, request_id: RequestId) -> str | None:
        """Returns the approval that answers a request of the agent, if it waits for one."""
        return next((id for id, waiting in self._waiting.items() if waiting.id == request_id), None)

    async def answer(self, approval: Approval, answer: QuestionAnswer | None = None) -> None:
        """Sends a decision to the agent, if it still waits for it; `answer` if it was a question."""
        if approval.tool_kind == QUESTION_KIND:
            await self._reply(approval.id, msgspec.to_builtins(answer) if answer is not None else _CANCELLED[True])
            return
        if approval.option_id is not None:
            outcome = {"outcome": "selected", "optionId": approval.option_id}
        else:
            outcome = {"outcome": "cancelled"}
        if approval.id in self._waiting:
            call_id = str(msgspec.json.decode(approval.tool_call).get("toolCallId", ""))
            if approval.decision is not None:
                self._recorder.decide(call_id, _decision_entry(approval))
            if approval.decision == "deny":
                self._recorder.deny(call_id)
        await self._reply(approval.id, {"outcome": outcome})

    async def cancel(self) -> None:
        """Cancels every request that waits, because the turn is being stopped."""
        for approval_id, waiting in list(self._waiting.items()):
            await self._reply(approval_id, _CANCELLED[waiting.is_question])

    async def allow(self, question: Question, option: Option) -> None:
        """Answers a request that the policy allows."""
        await self._settle(question, {"outcome": {"outcome": "selected", "optionId": option.option_id}})

    async def refuse(self, question: Question | Elicitation) -> None:
        """Refuses a request that would have to wait for a person while too many do."""
        message = f"{MOST_WAITING} requests already wait for a person. Wait for their answers before you ask again."
        await self._refuse(question.request, question.number, INVALID_REQUEST, message)

    async def decline(self, question: Question | Elicitation) -> None:
        """Cancels a request whose turn is over."""
        await self._settle(question, _CANCELLED[isinstance(question, Elicitation)])

    async def _settle(self, question: Question | Elicitation, result: dict[str, Any]) -> None:
        with contextlib.suppress(AgentGone):
            await self._connection.reply(question.request.id, result, key=f"settled:{question.number}")
        # Only now, so that no answer is lost in between: an unconfirmed line is delivered again.
        self._recorder.received(question.number)

    async def _reply(self, approval_id: str, result: dict[str, Any]) -> None:
        if approval_id in self._waiting:
            request_id = self._waiting.pop(approval_id).id
            self._decided.discard(approval_id)
            with contextlib.suppress(AgentGone):
                await self._connection.reply(request_id, result, key=f"approval:{approval_id}")

    async def _refuse(self, request: AgentRequest, number: int, code: int, message: str) -> None:
        with contextlib.suppress(AgentFailed):
            await self._connection.reply_error(request.id, code, message, key=f"refused:{number}")
        self._recorder.received(number)


def _decision_entry(approval: Approval) -> dict[str, Any]:
    """Returns the transcript's record of the answer to an approval: who gave it, how far it reaches, and why."""
    by: dict[str, Any] = msgspec.json.decode(approval.decided_by or b"{}")
    details = {name: by[name] for name in ("user", "scope", "because") if by.get(name)}
    if by.get("kind") != "person":
        details["reason"] = approval.reason
    decision = "denied" if approval.decision == "deny" else "allowed"
    return {"decision": decision, "by": by.get("kind", "system"), "approvalId": approval.id, **details}
