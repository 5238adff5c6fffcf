"""Owns one turn: records the prompt, does what its directives say, and ends answered, failed or cancelled.
It leaves the order of turns to the session, and tool calls to `deeds`.
"""

import asyncio
import os
import sys
import traceback
from typing import Literal

from bough.agents.acp_server.params import McpServer, attached, last_text
from bough.agents.acp_server.record_files import now
from bough.agents.acp_server.rpc import CANCELLED, INTERNAL_ERROR, Json, RpcError
from bough.agents.demo import directives as d
from bough.agents.demo.capabilities import Features
from bough.agents.demo.config import EFFORTS, prompt_usage, turn_cost, usage_update
from bough.agents.demo.records import EndRecord, PromptRecord
from bough.agents.demo.tool_calls import Deeds, PermissionCancelled
from bough.agents.demo.updates import Voice, new_id

CRASH_CODE = 70
TITLE_LENGTH = 60
# Slash commands, which clients offer to the user: each is the directive of the same name.
COMMANDS = {
    "help": "List the directives that this agent follows",
    "status": "Tell mode, model, effort, working directory and MCP servers",
    "recall": "List every user text of the conversation",
}


class Turn:
    """What one prompt causes."""

    def __init__(self, voice: Voice, features: Features, servers: list[McpServer], content: list[Json]) -> None:
        self._voice = voice
        self._file = voice.file
        self._features = features
        self._servers = servers
        self._deeds = Deeds(voice, servers)
        self._content = content
        self._text = last_text(content)
        self._number = 0
        self._task: asyncio.Task[None] | None = None
        self._cancelled: Literal["session", "request"] | None = None

    def cancel(self, by: Literal["session", "request"]) -> None:
        """Stops the turn; a second cancel must not disturb the tidying up that the first has begun."""
        if self._cancelled is None:
            self._cancelled = by
            if self._task is not None:
                self._task.cancel()

    async def run(self) -> Json:
        """Returns the answer to the prompt, or raises the RpcError that is the answer."""
        self._begin()
        self._task = asyncio.create_task(self._act())
        await asyncio.wait({self._task})
        error: RpcError | None = None
        stop_reason = "end_turn"
        if self._task.cancelled() or isinstance(self._task.exception(), PermissionCancelled):
            stop_reason = "cancelled"
            if self._cancelled == "request":
                error = RpcError(CANCELLED, "The prompt was cancelled")
        elif (failure := self._task.exception()) is not None:
            error = failure if isinstance(failure, RpcError) else _internal(failure)
        self._finish(stop_reason, error)
        if error is not None:
            raise error
        usage = {"usage": prompt_usage(self._file.state())} if "usage" in self._features else {}
        return {"stopReason": stop_reason, **usage}

    def _begin(self) -> None:
        state = self._file.state()
        self._number = state.turns + 1
        prompt = PromptRecord(at=now(), turn=self._number, message_id=new_id("user"), content=self._content)
        self._file.append(prompt)
        words = sum(len(block["text"].split()) for block in self._content if block["type"] == "text")
        self._voice.spent.input_tokens = words
        self._voice.spent.thought_tokens = words * EFFORTS[state.effort]
        if state.title is None and "titles" in self._features:
            title = " ".join(self._text.split()) or "(no text)"
            if len(title) > TITLE_LENGTH:
                title = title[: TITLE_LENGTH - 1] + "…"
            self._voice.update({"sessionUpdate": "session_info_update", "title": title, "updatedAt": now()})

    def _finish(self, stop_reason: str, error: RpcError | None) -> None:
        self._deeds.abandon("Cancelled." if stop_reason == "cancelled" else f"The turn failed: {error}")
        self._voice.end_message()
        spent = self._voice.spent
        end = EndRecord(
            at=now(),
            turn=self._number,
            stop_reason=None if error is not None and stop_reason != "cancelled" else stop_reason,
            error=None if error is None else str(error),
            usage=spent,
            cost=turn_cost(self._file.state(), spent),
        )
        self._file.append(end)
        if "usage" in self._features:
            self._voice.send(usage_update(self._file.state()))

    async def _act(self) -> None:
        found = d.parse(self._text)
        command = self._text.strip().removeprefix("/")
        if "commands" in self._features and self._text.strip().startswith("/") and command in COMMANDS:
            found = [d.Simple(command)]
        if not found:
            along = f" with {', '.join(given)}" if (given := attached(self._content)) else ""
            self._voice.say(f'You said "{self._text}"{along}. This is user turn {self._number}.')
        for directive in found:
            await self._do(directive)

    async def _do(self, directive: d.Directive) -> None:
        match directive:
            case d.Say(text):
                self._voice.say(text)
            case d.Think(text):
                self._voice.think(text)
            case d.Slow(chunks, seconds):
                await self._slow(chunks, seconds)
            case d.Flood(chunks):
                await self._voice.flood(chunks)
            case d.Plan(steps):
                entries = [{"content": step, "priority": "medium", "status": "pending"} for step in steps]
                self._voice.update({"sessionUpdate": "plan", "entries": entries})
            case d.Write(path, text):
                await self._deeds.write(path, text)
            case d.Run(command):
                await self._deeds.run(command)
            case d.Mcp(tool, arguments):
                await self._deeds.call_mcp(tool, arguments)
            case d.Fail(text):
                raise RpcError(INTERNAL_ERROR, text)
            case d.Malformed(source, reason):
                self._voice.say(f"I cannot follow {source}: {reason}.")
            case d.Simple(name):
                await self._simple(name)

    async def _simple(self, name: str) -> None:
        match name:
            case "recall":
                texts = enumerate(self._file.state().texts, start=1)
                self._voice.say("\n".join(f"{number}. {_one_line(text)}" for number, text in texts))
            case "status":
                self._voice.say(self._status())
            case "help":
                self._voice.say(d.HELP)
            case "crash":
                self._voice.end_message()
                self._voice.connection.output.flush()
                print("demo agent: crashing, as the prompt says", file=sys.stderr, flush=True)
                os._exit(CRASH_CODE)
            case _:
                await asyncio.get_running_loop().create_future()  # hang: nobody ever settles it

    async def _slow(self, chunks: int, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        start = loop.time()
        for index in range(1, chunks + 1):
            self._voice.say(f"tick {index}")
            # From the start each time, so that small delays do not add up.
            await asyncio.sleep(max(0.0, start + seconds * index / chunks - loop.time()))

    def _status(self) -> str:
        state = self._file.state()
        servers = ", ".join(server.name for server in self._servers) or "none"
        return (
            f"mode: {state.mode}\nmodel: {state.model}\neffort: {state.effort}\n"
            f"cwd: {state.cwd}\nturn: {self._number}\nMCP servers: {servers}"
        )


def _one_line(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\r", "\\r").replace("\n", "\\n")


def _internal(failure: BaseException) -> RpcError:
    traceback.print_exception(failure, file=sys.stderr)
    return RpcError(INTERNAL_ERROR, f"{type(failure).__name__}: {failure}")
