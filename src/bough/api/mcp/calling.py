"""Calling a tool: its arguments are read, what changes something takes the course of `core.calls`, and what comes of it
is put into words that help a model on. The protocol around it is `server`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from bough.api.mcp.schemas import input_schema
from bough.api.mcp.tool import Desk, Tool
from bough.core import call_rows
from bough.core.calls import Act
from bough.core.services import Services
from bough.errors import BoughError, Invalid
from bough.model.call import Call
from bough.model.session import Caller

LONGEST_KEY = 200


class Answer(msgspec.Struct):
    """What a caller is told: a value and its text, or what is wrong; and the call behind it, if there is one."""

    value: Any
    text: str
    wrong: bool = False
    call_id: str | None = None


class Toolbox:
    """The tools, ready to be called."""

    def __init__(self, services: Services, tools: tuple[Tool[Any], ...]) -> None:
        self._services = services
        self._tools = {tool.name: tool for tool in tools}

    def acts(self) -> Mapping[str, Act]:
        """What each tool that changes something does, for calls that are carried out later."""
        return {tool.name: self._act(tool) for tool in self._tools.values() if tool.claim is not None}

    def _act(self, tool: Tool[Any]) -> Act:
        async def act(caller: Caller, arguments: dict[str, Any]) -> Any:
            return msgspec.to_builtins(await tool.run(Desk(self._services, caller, tool.name), _read(tool, arguments)))

        return act

    async def call(self, caller: Caller, name: str, arguments: dict[str, Any]) -> Answer:
        """Calls a tool; whatever is wrong becomes an answer, too."""
        tool = self._tools.get(name)
        if tool is None:
            return _wrong(Invalid("unknown_tool", f"There is no tool {name!r}."))
        try:
            params = _read(tool, arguments)
            desk = Desk(self._services, caller, name)
            if tool.claim is None:
                return _right(msgspec.to_builtins(await tool.run(desk, params)))
            key = getattr(params, "idempotency_key", None)
            if key is not None and not 1 <= len(key) <= LONGEST_KEY:
                raise Invalid("bad_idempotency_key", f"An idempotencyKey has between 1 and {LONGEST_KEY} characters.")
            claim = await tool.claim(desk, params)
            wanted = {name: value for name, value in arguments.items() if name != "idempotencyKey"}
            keyed = msgspec.structs.replace(caller, idempotency_key=key)
            return _ended(await self._services.calls.run(keyed, name, wanted, claim))
        except BoughError as error:
            return _wrong(error)


def _read(tool: Tool[Any], arguments: dict[str, Any]) -> Any:
    """The arguments as the tool takes them; what is wrong with them is said with all that it takes."""
    try:
        return msgspec.convert(arguments, tool.takes)
    except msgspec.ValidationError as error:
        raise Invalid("bad_arguments", f"{error}. {tool.name} takes {_takes(tool)}.") from error


def _takes(tool: Tool[Any]) -> str:
    schema = input_schema(tool)
    required = schema.get("required", [])
    named = [f"{name}{'' if name in required else '?'}" for name in schema["properties"]]
    return ", ".join(named) or "no arguments"


def _ended(call: Call) -> Answer:
    """What has become of a call so far."""
    outcome = call_rows.outcome(call)
    if call.state == "done":
        return msgspec.structs.replace(_right(outcome), call_id=call.id)
    if call.state in ("failed", "denied"):
        text = f"{outcome.get('message', 'It failed.')} [{outcome.get('code', 'failed')}]"
        return Answer(None, text, wrong=True, call_id=call.id)
    said = (
        f"A person has been asked: {call.title} Nobody has answered yet. Go on with other work; if it is allowed, it "
        "is done by itself, and you are told the outcome with a later prompt. Do not call this again."
    )
    value = {"status": "pending", "approvalId": call.approval_id, "message": said}
    return Answer(value, _text(value))


def _right(value: Any) -> Answer:
    return Answer(value, _text(value))


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _wrong(error: BoughError) -> Answer:
    return Answer(None, f"{error.message} [{error.code}]", wrong=True)
