"""Runs the tool calls of a turn: announces each, asks for permission if the mode says so, and reports the outcome."""

import asyncio
import importlib

import msgspec

from bough.agents.acp_server.params import ReceivedMcpServer
from bough.agents.acp_server.permission_request import options
from bough.agents.acp_server.records import PermissionRecord
from bough.agents.acp_server.session_store import now
from bough.agents.acp_server.turn import PermissionCancelled
from bough.agents.acp_server.updates import ToolCall, text_content
from bough.agents.demo.tool_calls.always_asks import asks_about_command, asks_about_file
from bough.agents.demo.tool_calls.permissions import TRUSTED_SERVER, Action, decide
from bough.agents.demo.tool_calls.tools import plan_change, run_command
from bough.agents.demo.updates import DemoUpdates
from bough.agents.json_rpc import Json, RpcError


class ToolRunner:
    """Carries out the directives write, run and mcp, one at a time."""

    def __init__(self, updates: DemoUpdates, servers: list[ReceivedMcpServer]) -> None:
        self._updates = updates
        self._file = updates.file
        self._servers = servers
        # The tool call that was announced last.
        self.current: ToolCall | None = None

    async def write(self, path: str, text: str) -> None:
        """Writes a file."""
        change = plan_change(self._file.state().folder, path, text)
        tool = self._announce(
            title=f"Write {change.path}",
            name="write",
            kind="edit",
            content=[change.diff()],
            locations=[{"path": change.path}],
            rawInput={"path": change.path, "text": text},
        )
        state = self._file.state()
        protected = asks_about_file(change.path, state.folder, unlimited=decide(state.mode, "mcp") == "allow")
        if not await self._permit(tool, "write" if change.inside else "write-outside", protected=protected):
            return
        tool.start()
        try:
            change.write()
        except OSError as error:
            tool.fail(f"Cannot write {change.path}: {error.strerror}")
        else:
            tool.update(status="completed", rawOutput={"path": change.path, "bytes": len(text.encode())})

    async def run(self, command: str) -> None:
        """Runs a shell command."""
        tool = self._announce(title=command, name="run", kind="execute", rawInput={"command": command})
        protected = asks_about_command(command, unlimited=decide(self._file.state().mode, "mcp") == "allow")
        if not await self._permit(tool, "run", protected=protected):
            return
        tool.start()
        try:
            result = await run_command(command, self._file.state().folder)
        except OSError as error:
            tool.fail(f"Cannot run the command: {error.strerror}")
            return
        tool.update(
            status="completed" if result.exit_code == 0 else "failed",
            content=[text_content(f"{result.output}\nexit code: {result.exit_code}".lstrip("\n"))],
            rawOutput=msgspec.to_builtins(result),
        )

    async def call_mcp(self, name: str, arguments: Json) -> None:
        """Calls a tool of an MCP server and says its result."""
        raw_input = {"tool": name, "arguments": arguments}
        tool = self._announce(title=f"MCP tool {name}", name=name, kind="other", rawInput=raw_input)
        # In a thread: the import takes about a second, and other turns must continue.
        await asyncio.to_thread(importlib.import_module, "mcp.client")
        from bough.agents.demo.tool_calls import mcp_calls

        async def permit(server: str) -> bool:
            tool.update(
                name=f"mcp__{server}__{name}",
                title=f"{server}: {name}",
                rawInput={"server": server, **raw_input},
            )
            if server != TRUSTED_SERVER and not await self._permit(tool, "mcp"):
                return False
            tool.start()
            return True

        try:
            result = await mcp_calls.call(self._servers, self._file.state().folder, name, arguments, permit)
        except mcp_calls.McpFailure as failure:
            tool.fail(str(failure))
            self._updates.say(f"MCP error: {failure}")
            return
        if result is None:
            return
        text = mcp_calls.text_of(result)
        tool.update(
            status="failed" if result.is_error else "completed",
            content=[text_content(text)],
            rawOutput=result.model_dump(mode="json", by_alias=True, exclude_none=True),
        )
        self._updates.say(f"MCP error: {text}" if result.is_error else text)

    def _announce(self, **fields: object) -> ToolCall:
        self.current = ToolCall(self._updates, **fields)
        return self.current

    async def _permit(self, tool: ToolCall, action: Action, *, protected: bool = False) -> bool:
        """Returns whether the tool call may continue. If not, reports it as failed, with the reason. Protected paths
        are always asked about."""
        state = self._file.state()
        decision = decide(state.mode, action)
        kind: str = tool.fields["kind"]
        if decision == "refuse":
            tool.fail(f"Refused: mode {state.mode} allows reading only.")
            return False
        if not protected and (decision == "allow" or kind in state.always_allowed):
            return True
        try:
            answer = await self._updates.request_permission(tool.fields, options())
        except RpcError as error:
            tool.fail(f"The permission request failed: {error}")
            return False
        self._file.append(PermissionRecord(at=now(), tool_call_id=tool.id, kind=kind, answer=answer))
        if answer == "cancelled":
            raise PermissionCancelled
        if answer == "reject_once":
            tool.fail("Rejected by the user.")
        return answer != "reject_once"
