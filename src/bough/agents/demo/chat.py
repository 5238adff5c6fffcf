"""Continues a conversation of the demo agent in a terminal, as other agents' own programs do: lines of the input are
prompts. It is a small client of the agent, which it starts beside itself."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from bough.agents.json_rpc import METHOD_NOT_FOUND, Json

LONGEST_LINE = 64 * 1024 * 1024
PROMPT = "> "


class ChatFailed(Exception):
    """The agent refused; the message says why."""


class Chat:
    """One conversation."""

    def __init__(self, process: asyncio.subprocess.Process, allow: Callable[[str], bool]) -> None:
        self._process = process
        self._allow = allow
        self._number = 0
        self._shows = False

    async def open(self, session_id: str | None, cwd: str) -> str:
        """Opens a conversation, by default a new one, and returns its id. What was said before is not shown again."""
        await self._ask("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        place: Json = {"cwd": cwd, "mcpServers": []}
        if session_id is None:
            return (await self._ask("session/new", place))["sessionId"]
        await self._ask("session/resume", {"sessionId": session_id, **place})
        return session_id

    async def say(self, session_id: str, text: str) -> None:
        """Sends a prompt and prints the answer."""
        self._shows = True
        await self._ask("session/prompt", {"sessionId": session_id, "prompt": [{"type": "text", "text": text}]})
        print(flush=True)

    async def _ask(self, method: str, params: Json) -> Any:
        self._number += 1
        await self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            message: Json = msgspec.json.decode(line)
            if "method" in message:
                await self._handle(message)
            elif message.get("id") == self._number:
                if "error" in message:
                    raise ChatFailed(message["error"].get("message", "The agent failed."))
                return message.get("result")
        raise ChatFailed("The agent ended.")

    async def _handle(self, message: Json) -> None:
        params: Json = message.get("params") or {}
        if "id" not in message:
            update: Json = params.get("update") or {}
            if self._shows and update.get("sessionUpdate") == "agent_message_chunk":
                print(update["content"].get("text", ""), end="", flush=True)
        elif message["method"] == "session/request_permission":
            kind = "allow_once" if self._allow(str(params["toolCall"].get("title", "this"))) else "reject_once"
            options: list[Json] = params["options"]
            chosen: str = next(option["optionId"] for option in options if option["kind"] == kind)
            outcome: Json = {"outcome": {"outcome": "selected", "optionId": chosen}}
            await self._send({"jsonrpc": "2.0", "id": message["id"], "result": outcome})
        else:
            error = {"code": METHOD_NOT_FOUND, "message": f"Method not found: {message['method']}"}
            await self._send({"jsonrpc": "2.0", "id": message["id"], "error": error})

    async def _send(self, message: Json) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(msgspec.json.encode(message) + b"\n")
        await self._process.stdin.drain()


@contextlib.asynccontextmanager
async def _agent(home: Path) -> AsyncGenerator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bough.agents.demo", "--home", str(home)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=LONGEST_LINE,
    )
    try:
        yield process
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()


def _ask_person(title: str) -> bool:
    try:
        return input(f"\n{title}? Allow it [y/N]: ").strip().lower() in ("y", "yes")
    except EOFError:
        return False


async def chat(home: Path, resumed: str | None, cwd: str, prompts: Sequence[str]) -> int:
    """Continues a conversation with these prompts or, without any, with the lines of the input. Returns the exit
    code."""
    try:
        async with _agent(home) as process:
            conversation = Chat(process, _ask_person)
            session_id = await conversation.open(resumed, cwd)
            for prompt in prompts:
                await conversation.say(session_id, prompt)
            while not prompts:
                try:
                    text = await asyncio.to_thread(input, PROMPT)
                except EOFError:
                    break
                if text.strip():
                    await conversation.say(session_id, text)
    except ChatFailed as error:
        print(f"demo agent: {error}", file=sys.stderr)
        return 1
    return 0
