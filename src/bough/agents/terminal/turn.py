"""Runs a turn of the terminal agent: reads the command, asks if the mode says so, runs it and keeps the shell state."""

from __future__ import annotations

import asyncio
import contextlib
import os

from bough.agents.acp_server.permission_request import options
from bough.agents.acp_server.records import PermissionRecord, ShellRecord
from bough.agents.acp_server.session_store import now
from bough.agents.acp_server.turn import PermissionCancelled, Turn
from bough.agents.json_rpc import Json, RpcError
from bough.agents.terminal.command import Command
from bough.agents.terminal.modes import REFUSED, decide
from bough.agents.terminal.output import CommandOutput
from bough.agents.terminal.prompts import read_command
from bough.agents.terminal.shell import environment, find_shell
from bough.agents.terminal.state import TerminalState
from bough.agents.terminal.tool_updates import CommandCall, TerminalUpdates, summary

# Seconds between views of growing output. They grow with the running time, since Bough stores every view.
SHOW_EVERY = 0.05
SHOW_LEAST = 1.0
NOT_REPEATED = (
    "The terminal's process ended while this command ran. Its effects so far remain. It is not run again automatically."
)
ALWAYS = "Yes, and do not ask again for this command here in this session"


class TerminalTurn(Turn[TerminalState]):
    """The work that one prompt causes."""

    def __init__(self, updates: TerminalUpdates, content: list[Json]) -> None:
        super().__init__(updates.file, content)
        self._updates = updates
        self._command = read_command(content)
        self._repeated = False
        self._call: CommandCall | None = None

    async def run(self) -> Json:
        """Returns the answer to the prompt, or raises the `RpcError` to answer it with."""
        # A command that may have done half of its work is not run a second time. One that this terminal has never
        # recorded is: its process was gone before the prompt came.
        self._repeated = self._command.repeated and self._command.text == self._file.state().last_command
        return await super().run()

    def _open_tool(self) -> CommandCall | None:
        return self._call

    async def _act(self) -> None:
        command = self._command.text
        if self._repeated:
            self._updates.say(NOT_REPEATED)
            return
        if not command.strip():
            self._updates.say("This prompt contains no command. The last text block is what runs.")
            return
        state = self._file.state()
        shell_folder, cwd = state.cwd, state.command_folder()
        call = self._call = CommandCall(self._updates, command, cwd)
        refusal = await self._refusal(call, command, cwd)
        if refusal:
            call.fail(refusal)
            self._updates.say(refusal)
            return
        call.start()
        output = CommandOutput()
        if cwd != shell_folder:
            output.add(f"[{shell_folder} is gone; this runs in {cwd}]\n".encode())
        await self._execute(call, command, cwd, output)

    async def _refusal(self, call: CommandCall, command: str, cwd: str) -> str:
        """Returns the reason why the command must not run, or an empty string if it may."""
        state = self._file.state()
        decision = decide(state.mode)
        if decision == "refuse":
            return REFUSED
        if decision == "run" or (command, cwd) in state.always_allowed:
            return ""
        try:
            answer = await self._updates.request_permission(call.fields, options(allow_always=ALWAYS))
        except RpcError as error:
            return f"Not run, because the permission request failed: {error}"
        self._file.append(PermissionRecord(at=now(), command=command, cwd=cwd, answer=answer))
        if answer == "cancelled":
            raise PermissionCancelled
        return "Rejected: it was not run." if answer == "reject_once" else ""

    async def _execute(self, call: CommandCall, text: str, cwd: str, output: CommandOutput) -> None:
        state = self._file.state()
        mark = f"{self._file.id}/{call.id}"
        state_file = self._file.path_beside(f"{call.id}.state")
        command = Command(find_shell(os.environ), text, os.environ, mark, state_file)
        env = environment(os.environ, state.set, state.unset, cwd=cwd, mark=mark)
        grown = asyncio.Event()

        def take(data: bytes) -> None:
            output.add(data)
            grown.set()

        showing = asyncio.create_task(self._show(call, output, grown))
        try:
            await command.run(cwd, env, take)
        except (OSError, ValueError) as error:
            # The folder or shell is missing, or the command holds a zero byte or is longer than the system takes.
            reason = f"It cannot be started: {error}."
            call.fail(reason)
            self._updates.say(reason)
            return
        except asyncio.CancelledError:
            showing.cancel()
            self._keep_state(command, output)
            call.end(command.exit, output.text(), cancelled=True)
            raise
        finally:
            showing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await showing
        self._keep_state(command, output)
        printed = output.text()
        call.end(command.exit, printed)
        self._updates.say(summary(command.exit, printed))

    def _keep_state(self, command: Command, output: CommandOutput) -> None:
        """Records the shell's folder and exports for the next command."""
        shell = command.shell_state
        if shell is None:
            return
        state = self._file.state()
        exported, unset = shell.set, shell.unset
        if shell.too_large:
            exported, unset = state.set, state.unset
            output.add(b"[the exported variables are too large to be kept for the next command]\n")
        if (shell.cwd, exported, unset) != (state.cwd, state.set, state.unset):
            self._file.append(ShellRecord(at=now(), cwd=shell.cwd, set=exported, unset=unset))

    async def _show(self, call: CommandCall, output: CommandOutput, grown: asyncio.Event) -> None:
        """Shows the output while it grows, no faster than the client reads."""
        loop = asyncio.get_running_loop()
        start = loop.time()
        while True:
            await grown.wait()
            await self._updates.connection.output.drain()
            grown.clear()
            call.show(output.live())
            await asyncio.sleep(min(SHOW_LEAST, max(SHOW_EVERY, (loop.time() - start) / 50)))
