"""Owns the tool calls of a turn: announces them, asks as the mode says, does them, reports the outcome.
It leaves what is granted to `permissions`, and the work itself to `tools` and `mcp_calls`.
"""

import asyncio
import importlib

import msgspec

from bough.agents.acp_server.params import McpServer
from bough.agents.acp_server.permission_request import options, read_answer
from bough.agents.acp_server.record_files import now
from bough.agents.acp_server.rpc import Json, RpcError
from bough.agents.demo.permissions import TRUSTED_SERVER, Deed, judge
from bough.agents.demo.records import PermissionRecord
from bough.agents.demo.tools import ToolCall, plan_change, run_command, text_content
from bough.agents.demo.updates import Voice


class PermissionCancelled(Exception):
    """The client answered a question with `cancelled`, which ends the turn."""


class Deeds:
    """Does what the directives write, run and mcp say, one at a time."""

    def __init__(self, voice: Voice, servers: list[McpServer]) -> None:
        self._voice = voice
        self._file = voice.file
        self._servers = servers
        self._tool: ToolCall | None = None

    def abandon(self, reason: str) -> None:
        """Closes a tool call that the end of the turn has left open."""
        if self._tool is not None and self._tool.open:
            self._tool.fail(reason)

    async def write(self, path: str, text: str) -> None:
        change = plan_change(self._file.state().cwd, path, text)
        tool = self._announce(
            title=f"Write {change.path}",
            name="write",
            kind="edit",
            content=[change.diff()],
            locations=[{"path": change.path}],
            rawInput={"path": change.path, "text": text},
        )
        if not await self._permit(tool, "write" if change.inside else "write-outside"):
            return
        tool.update(status="in_progress")
        try:
            change.write()
        except OSError as error:
            tool.fail(f"Cannot write {change.path}: {error.strerror}")
        else:
            tool.complete(rawOutput={"path": change.path, "bytes": len(text.encode())})

    async def run(self, command: str) -> None:
        tool = self._announce(title=command, name="run", kind="execute", rawInput={"command": command})
        if not await self._permit(tool, "run"):
            return
        tool.update(status="in_progress")
        try:
            result = await run_command(command, self._file.state().cwd)
        except OSError as error:
            tool.fail(f"Cannot run it: {error.strerror}")
            return
        tool.update(
            status="completed" if result.exit_code == 0 else "failed",
            content=[text_content(f"{result.output}\nexit code: {result.exit_code}".lstrip("\n"))],
            rawOutput=msgspec.to_builtins(result),
        )

    async def call_mcp(self, name: str, arguments: Json) -> None:
        raw_input = {"tool": name, "arguments": arguments}
        tool = self._announce(title=f"MCP tool {name}", name=name, kind="other", rawInput=raw_input)
        # In a thread, since loading it takes about a second, and other turns go on.
        await asyncio.to_thread(importlib.import_module, "mcp.client")
        from bough.agents.demo import mcp_calls

        async def permit(server: str) -> bool:
            tool.update(
                name=f"mcp__{server}__{name}",
                title=f"{server}: {name}",
                rawInput={"server": server, **raw_input},
            )
            if server != TRUSTED_SERVER and not await self._permit(tool, "mcp"):
                return False
            tool.update(status="in_progress")
            return True

        try:
            result = await mcp_calls.call(self._servers, self._file.state().cwd, name, arguments, permit)
        except mcp_calls.McpFailure as failure:
            tool.fail(str(failure))
            self._voice.say(f"MCP error: {failure}")
            return
        if result is None:
            return
        text = mcp_calls.text_of(result)
        tool.update(
            status="failed" if result.is_error else "completed",
            content=[text_content(text)],
            rawOutput=result.model_dump(mode="json", by_alias=True, exclude_none=True),
        )
        self._voice.say(f"MCP error: {text}" if result.is_error else text)

    def _announce(self, **fields: object) -> ToolCall:
        self._tool = ToolCall(self._voice, **fields)
        return self._tool

    async def _permit(self, tool: ToolCall, deed: Deed) -> bool:
        """Returns whether the tool call may go on; if not, it has failed and says why."""
        state = self._file.state()
        verdict = judge(state.mode, deed)
        kind: str = tool.fields["kind"]
        if verdict == "refuse":
            tool.fail(f"Refused: mode {state.mode} allows reading only.")
            return False
        if verdict == "allow" or kind in state.always:
            return True
        params = {"sessionId": self._file.id, "toolCall": tool.fields, "options": options()}
        try:
            answer = read_answer(await self._voice.connection.request("session/request_permission", params))
        except RpcError as error:
            tool.fail(f"Permission could not be asked: {error}")
            return False
        self._file.append(PermissionRecord(at=now(), tool_call_id=tool.id, kind=kind, answer=answer))
        if answer == "cancelled":
            raise PermissionCancelled
        if answer == "reject_once":
            tool.fail("Rejected by the user.")
        return answer != "reject_once"
