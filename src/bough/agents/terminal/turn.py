"""Owns one turn: takes the command from the prompt, asks as the mode says, has it run, and keeps what the shell left.
It leaves the order of turns to `serving`, and running to `command`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import traceback

from bough.agents.acp_server.permission_request import options, read_answer
from bough.agents.acp_server.record_files import now
from bough.agents.acp_server.rpc import CANCELLED, INTERNAL_ERROR, Json, RpcError
from bough.agents.acp_server.turn_queue import CancelledBy
from bough.agents.terminal.command import Command
from bough.agents.terminal.modes import REFUSED, judge
from bough.agents.terminal.output import Screen
from bough.agents.terminal.prompts import asked
from bough.agents.terminal.records import EndRecord, PermissionRecord, PromptRecord, ShellRecord
from bough.agents.terminal.shell import environment, find_shell
from bough.agents.terminal.tool_updates import ToolCall, Voice, new_id, summary

# Growing output is shown this often at most, and more rarely the longer it goes on: each time is stored by others.
SHOW_EVERY = 0.05
SHOW_LEAST = 1.0
NOT_AGAIN = (
    "The terminal's process ended while this command ran. What it did up to then stands; it is not run again by itself."
)
ALWAYS = "Yes, and do not ask again for this command here in this session"


class PermissionCancelled(Exception):
    """The client answered a question with `cancelled`, which ends the turn."""


class Turn:
    """What one prompt causes."""

    def __init__(self, voice: Voice, content: list[Json]) -> None:
        self._voice = voice
        self._file = voice.file
        self._content = content
        self._number = 0
        self._tool: ToolCall | None = None
        self._task: asyncio.Task[None] | None = None
        self._cancelled: CancelledBy | None = None

    def cancel(self, by: CancelledBy) -> None:
        """Stops the turn; a second cancel must not disturb the tidying up that the first has begun."""
        if self._cancelled is None:
            self._cancelled = by
            if self._task is not None:
                self._task.cancel()

    async def run(self) -> Json:
        """Returns the answer to the prompt, or raises the RpcError that is the answer."""
        state = self._file.state()
        self._number = state.turns + 1
        command = asked(self._content)
        # A command that may have done half of its work is not run a second time by itself; one that this terminal has
        # never heard of is: its process was gone before the prompt came.
        again = command.again and command.text == state.last
        prompt = PromptRecord(at=now(), turn=self._number, message_id=new_id("user"), content=self._content)
        self._file.append(prompt)
        self._task = asyncio.create_task(self._refuse() if again else self._act(command.text))
        await asyncio.wait({self._task})
        error: RpcError | None = None
        stop_reason = "end_turn"
        if self._task.cancelled() or isinstance(self._task.exception(), PermissionCancelled):
            stop_reason = "cancelled"
            if self._cancelled == "request":
                error = RpcError(CANCELLED, "The prompt was cancelled")
        elif (failure := self._task.exception()) is not None:
            error = _internal(failure)
        if self._tool is not None and self._tool.open:
            self._tool.fail("Cancelled." if stop_reason == "cancelled" else f"The turn failed: {error}")
        ended = None if error is not None and stop_reason != "cancelled" else stop_reason
        end = EndRecord(at=now(), turn=self._number, stop_reason=ended, error=None if error is None else str(error))
        self._file.append(end)
        if error is not None:
            raise error
        return {"stopReason": stop_reason}

    async def _refuse(self) -> None:
        self._voice.say(NOT_AGAIN)

    async def _act(self, command: str) -> None:
        if not command.strip():
            self._voice.say("There is no command in this prompt: its last text block is what is run.")
            return
        state = self._file.state()
        cwd = self._file.place()
        self._tool = ToolCall(self._voice, command, cwd)
        refused = await self._permit(self._tool, command, cwd)
        if refused:
            self._tool.fail(refused)
            self._voice.say(refused)
            return
        self._tool.start()
        screen = Screen()
        if cwd != state.cwd:
            screen.add(f"[{state.cwd} is gone; this runs in {cwd}]\n".encode())
        await self._execute(self._tool, command, cwd, screen)

    async def _permit(self, tool: ToolCall, command: str, cwd: str) -> str:
        """Returns why the command must not run; nothing if it may."""
        state = self._file.state()
        verdict = judge(state.mode)
        if verdict == "refuse":
            return REFUSED
        if verdict == "run" or (command, cwd) in state.always:
            return ""
        params: Json = {
            "sessionId": self._file.id,
            "toolCall": tool.fields,
            "options": options(allow_always=ALWAYS),
        }
        try:
            answer = read_answer(await self._voice.connection.request("session/request_permission", params))
        except RpcError as error:
            return f"Not run, since permission could not be asked: {error}"
        self._file.append(PermissionRecord(at=now(), command=command, cwd=cwd, answer=answer))
        if answer == "cancelled":
            raise PermissionCancelled
        return "Rejected: it was not run." if answer == "reject_once" else ""

    async def _execute(self, tool: ToolCall, text: str, cwd: str, screen: Screen) -> None:
        state = self._file.state()
        mark = f"{self._file.id}/{tool.id}"
        command = Command(find_shell(os.environ), text, os.environ, mark, self._file.beside(f"{tool.id}.state"))
        env = environment(os.environ, state.set, state.unset, cwd=cwd, mark=mark)
        grown = asyncio.Event()

        def take(data: bytes) -> None:
            screen.add(data)
            grown.set()

        showing = asyncio.create_task(self._show(tool, screen, grown))
        try:
            await command.run(cwd, env, take)
        except (OSError, ValueError) as error:
            # A folder or a shell that is not there, a zero byte in the command, a command beyond what the system takes.
            reason = f"It cannot be started: {error}."
            tool.fail(reason)
            self._voice.say(reason)
            return
        except asyncio.CancelledError:
            showing.cancel()
            self._keep(command, screen)
            tool.end(command.exit, screen.text(), cancelled=True)
            raise
        finally:
            showing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await showing
        self._keep(command, screen)
        output = screen.text()
        tool.end(command.exit, output)
        self._voice.say(summary(command.exit, output))

    def _keep(self, command: Command, screen: Screen) -> None:
        """Keeps where the shell stands and what it exports, for the next command and for whoever loads the session."""
        left = command.left
        if left is None:
            return
        state = self._file.state()
        changed, gone = left.set, left.unset
        if left.too_large:
            changed, gone = state.set, state.unset
            screen.add(b"[what is exported is too large to be kept for the next command]\n")
        if (left.cwd, changed, gone) != (state.cwd, state.set, state.unset):
            self._file.append(ShellRecord(at=now(), cwd=left.cwd, set=changed, unset=gone))

    async def _show(self, tool: ToolCall, screen: Screen, grown: asyncio.Event) -> None:
        """Shows what is printed while it is, as fast as the client takes it and nobody is flooded."""
        loop = asyncio.get_running_loop()
        start = loop.time()
        while True:
            await grown.wait()
            await self._voice.connection.output.drain()
            grown.clear()
            tool.grow(screen.live())
            await asyncio.sleep(min(SHOW_LEAST, max(SHOW_EVERY, (loop.time() - start) / 50)))


def _internal(failure: BaseException) -> RpcError:
    traceback.print_exception(failure, file=sys.stderr)
    return RpcError(INTERNAL_ERROR, f"{type(failure).__name__}: {failure}")
