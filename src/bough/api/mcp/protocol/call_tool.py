"""Calls a tool: reads its arguments, runs changes through `core.tool_calls`, and turns results and errors into answers
that tell a model what to do next."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

import msgspec

from bough.api import roles
from bough.api.mcp.protocol.arguments import read, without_nulls
from bough.api.mcp.tools.base import Tool, ToolContext
from bough.core.services import Services
from bough.core.state.calls import tool_call
from bough.core.state.calls.tool_call import EXPECTED
from bough.core.tool_calls.execute import ToolAction
from bough.core.tool_calls.waiters import Waiter
from bough.errors import BoughError, Invalid
from bough.model.call import Call, Claim
from bough.model.session import Caller

LONGEST_KEY = 200
# What to do next, by error code.
NEXT = {
    "session_not_found": "agor_sessions_list lists the sessions.",
    "task_not_found": "agor_tasks_list lists a session's tasks.",
    "worktree_not_found": "agor_worktrees_list lists the worktrees, agor_worktrees_create creates one.",
    "repo_not_found": "agor_repos_list lists the repos.",
    "board_not_found": "agor_boards_list lists the boards.",
    "mcp_server_not_found": "agor_mcp_servers_list lists the MCP servers.",
    "preset_not_found": "agor_presets_list lists the presets.",
    "worktree_busy": "agor_worktrees_get shows when its status is ready.",
    "task_not_running": "Nothing was stopped; agor_sessions_get shows what the session is doing.",
}


class ToolAnswer(msgspec.Struct):
    """The answer to a call: a value and its text, or an error; and the id of the recorded call, if there is one."""

    value: Any
    text: str
    wrong: bool = False
    call_id: str | None = None


class Toolbox:
    """Calls tools on behalf of callers."""

    def __init__(self, services: Services, tools: tuple[Tool[Any], ...]) -> None:
        self._services = services
        self._tools = {tool.name: tool for tool in tools}

    def actions(self) -> Mapping[str, ToolAction]:
        """Returns the actions of all tools that change something, for calls that run after an approval or a restart."""
        return {tool.name: self._action(tool) for tool in self._tools.values() if tool.claim is not None}

    def _action(self, tool: Tool[Any]) -> ToolAction:
        async def claim(caller: Caller, arguments: dict[str, Any]) -> Claim:
            assert tool.claim is not None
            return await tool.claim(*self._parse(tool, caller, arguments))

        async def act(caller: Caller, arguments: dict[str, Any]) -> Any:
            return msgspec.to_builtins(await tool.run(*self._parse(tool, caller, arguments)))

        return ToolAction(claim, act)

    def _parse(self, tool: Tool[Any], caller: Caller, arguments: dict[str, Any]) -> tuple[ToolContext, Any]:
        """Reads stored arguments, with what the call expects."""
        own_arguments = {name: value for name, value in arguments.items() if name != EXPECTED}
        context = ToolContext(self._services, caller, tool.name, arguments.get(EXPECTED) or {})
        return context, read(tool, own_arguments)

    async def call(
        self, caller: Caller, name: str, arguments: dict[str, Any], waiter: Waiter | None = None
    ) -> ToolAnswer:
        """Calls a tool; errors become answers too."""
        tool = self._tools.get(name)
        if tool is None:
            similar = difflib.get_close_matches(name, self._tools, n=3)
            suggestion = f" Did you mean {' or '.join(similar)}?" if similar else ""
            return ToolAnswer(None, f"There is no tool {name[:100]!r}.{suggestion} [unknown_tool]", wrong=True)
        try:
            roles.check_tool(caller, name)
            params = read(tool, arguments)
            ctx = ToolContext(self._services, caller, name)
            if tool.claim is None:
                return await self._read(ctx, tool, params)
            key = getattr(params, "idempotency_key", None)
            if key is not None and not (1 <= len(key) <= LONGEST_KEY and key.isprintable()):
                message = f"An idempotencyKey must have between 1 and {LONGEST_KEY} printable characters."
                raise Invalid("bad_idempotency_key", message)
            claim = await tool.claim(ctx, params)
            recorded = {name: value for name, value in without_nulls(arguments).items() if name != "idempotencyKey"}
            keyed = msgspec.structs.replace(caller, idempotency_key=key)
            return _ended(tool, await self._services.calls.run(keyed, name, recorded, claim, waiter))
        except BoughError as error:
            return _failure(tool, error.code, error.message)

    async def _read(self, ctx: ToolContext, tool: Tool[Any], params: Any) -> ToolAnswer:
        """Runs a tool that reads. Reading needs no approval, but a rule may deny it."""
        caller, store = ctx.caller, self._services.store

        async def run() -> Any:
            await self._services.calls.check_read(caller, tool.name)
            return await tool.run(ctx, params)

        if not tool.only_rows:
            return _success(msgspec.to_builtins(await run()))
        body = await store.responses.get((tool.name, caller.kind, caller.id, msgspec.json.encode(params)), run)
        return ToolAnswer(msgspec.json.decode(body), body.decode())


def _ended(tool: Tool[Any], call: Call) -> ToolAnswer:
    """Returns the answer for a call in its current state."""
    outcome = tool_call.outcome(call)
    if call.state == "done":
        return msgspec.structs.replace(_success(outcome), call_id=call.id)
    if call.state in ("failed", "denied"):
        error = _failure(tool, outcome.get("code", "failed"), outcome.get("message", "It failed."))
        return msgspec.structs.replace(error, call_id=call.id)
    message = (
        f"This needs a person's approval, which is still pending: {call.title} Continue with other work. If it is "
        "allowed, it runs on its own, and a later prompt tells you the outcome. Do not call this again."
    )
    value = {"status": "pending", "approvalId": call.approval_id, "message": message}
    return ToolAnswer(value, _text(value))


def _success(value: Any) -> ToolAnswer:
    return ToolAnswer(value, _text(value))


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _failure(tool: Tool[Any], code: str, message: str) -> ToolAnswer:
    """Returns an error with the next step, in the shape of the tool's result if that has a place for errors."""
    text = f"{message} {NEXT[code]}" if code in NEXT else message
    if tool.refusal is None:
        return ToolAnswer(None, f"{text} [{code}]", wrong=True)
    value = tool.refusal(text)
    return ToolAnswer(value, _text(value), wrong=True)
