"""Calling a tool: its arguments are read, what changes something takes the course of `core.calls`, and what comes of it
is put into words that help a model on. How arguments are read is `arguments`, the protocol around it `server`."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

import msgspec

from bough.api.mcp.protocol.arguments import given, read
from bough.api.mcp.tools.base import Desk, Tool
from bough.core.services import Services
from bough.core.state import call_rights, tool_call
from bough.core.tool_calls.execute import Deed
from bough.core.tool_calls.waiters import Waiter
from bough.errors import BoughError, Invalid
from bough.model.call import Call, Claim
from bough.model.session import Caller

LONGEST_KEY = 200
# Where to look for what is not there, by the code of the error.
NEXT = {
    "session_not_found": "agor_sessions_list shows the sessions that there are.",
    "task_not_found": "agor_tasks_list shows the tasks of a session.",
    "worktree_not_found": "agor_worktrees_list shows those that there are, agor_worktrees_create makes one.",
    "repo_not_found": "agor_repos_list shows the repositories.",
    "board_not_found": "agor_boards_list shows the boards.",
    "mcp_server_not_found": "agor_mcp_servers_list shows the MCP servers.",
    "worktree_busy": "agor_worktrees_get shows when its status is ready.",
    "task_not_running": "Nothing was stopped: agor_sessions_get shows what the session does now.",
}


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

    def deeds(self) -> Mapping[str, Deed]:
        """What each tool that changes something does, for calls that are carried out later."""
        return {tool.name: self._deed(tool) for tool in self._tools.values() if tool.claim is not None}

    def _deed(self, tool: Tool[Any]) -> Deed:
        async def claim(caller: Caller, arguments: dict[str, Any]) -> Claim:
            assert tool.claim is not None
            return await tool.claim(Desk(self._services, caller, tool.name), read(tool, arguments))

        async def act(caller: Caller, arguments: dict[str, Any]) -> Any:
            return msgspec.to_builtins(await tool.run(Desk(self._services, caller, tool.name), read(tool, arguments)))

        return Deed(claim, act)

    async def call(self, caller: Caller, name: str, arguments: dict[str, Any], waiter: Waiter | None = None) -> Answer:
        """Calls a tool; whatever is wrong becomes an answer, too."""
        tool = self._tools.get(name)
        if tool is None:
            near = difflib.get_close_matches(name, self._tools, n=3)
            meant = f" Did you mean {' or '.join(near)}?" if near else ""
            return Answer(None, f"There is no tool {name[:100]!r}.{meant} [unknown_tool]", wrong=True)
        try:
            params = read(tool, arguments)
            desk = Desk(self._services, caller, name)
            if tool.claim is None:
                return await self._looked_up(desk, tool, params)
            key = getattr(params, "idempotency_key", None)
            if key is not None and not (1 <= len(key) <= LONGEST_KEY and key.isprintable()):
                message = f"An idempotencyKey has between 1 and {LONGEST_KEY} characters, all of them printable."
                raise Invalid("bad_idempotency_key", message)
            claim = await tool.claim(desk, params)
            wanted = {name: value for name, value in given(arguments).items() if name != "idempotencyKey"}
            keyed = msgspec.structs.replace(caller, idempotency_key=key)
            return _ended(tool, await self._services.calls.run(keyed, name, wanted, claim, waiter))
        except BoughError as error:
            return _wrong(tool, error.code, error.message)

    async def _looked_up(self, desk: Desk, tool: Tool[Any], params: Any) -> Answer:
        """What a tool that reads gives. Reading asks nobody, but a rule may deny it."""
        caller, store = desk.caller, self._services.store

        async def look() -> Any:
            if caller.kind == "session" and (session_id := caller.id) is not None:
                await store.read(lambda tx: call_rights.check_read(tx, session_id, tool.name))
            return await tool.run(desk, params)

        if not tool.rows_alone:
            return _right(msgspec.to_builtins(await look()))
        body = await store.responses.get((tool.name, caller.kind, caller.id, msgspec.json.encode(params)), look)
        return Answer(msgspec.json.decode(body), body.decode())


def _ended(tool: Tool[Any], call: Call) -> Answer:
    """What has become of a call so far."""
    outcome = tool_call.outcome(call)
    if call.state == "done":
        return msgspec.structs.replace(_right(outcome), call_id=call.id)
    if call.state in ("failed", "denied"):
        wrong = _wrong(tool, outcome.get("code", "failed"), outcome.get("message", "It failed."))
        return msgspec.structs.replace(wrong, call_id=call.id)
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


def _wrong(tool: Tool[Any], code: str, message: str) -> Answer:
    """An error in words that say what to do next; in the shape of the tool's result if that has one for errors."""
    said = f"{message} {NEXT[code]}" if code in NEXT else message
    if tool.refusal is None:
        return Answer(None, f"{said} [{code}]", wrong=True)
    value = tool.refusal(said)
    return Answer(value, _text(value), wrong=True)
