"""Drives an agent process as a raw JSON-RPC client and checks every line of both sides against the schema."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from pathlib import Path
from typing import Any, Self

import msgspec

from tests.support.acp.acp_schema import AcpSchema, Pending

Json = dict[str, Any]
# Longer than any step takes on a busy machine; a test that waits this long has failed.
PATIENCE = 40.0
# The longest expected line, yet small enough that an agent whose output is not read soon blocks.
READ_LIMIT = 1 << 20
# The kinds that a client may choose from, and its answer when it chooses none.
Choice = str | None


class Refused(Exception):
    """The agent answered a request with an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


class Driver:
    """One agent process and everything that it has sent so far."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.updates: list[Json] = []
        self.questions: list[Json] = []
        self.permissions: list[Json] = []
        # Returns the kind of option that answers a permission request, "cancelled", or None for no answer yet.
        self.decide: Callable[[Json], Choice] = lambda _: "allow_once"
        self.withdrawn: list[Any] = []
        self.bad_lines: list[Json] = []
        self.log: list[Json] = []
        # Cleared by a test whose client does not read.
        self.reading = asyncio.Event()
        self.reading.set()
        self._ids = itertools.count(1)
        self._answers: dict[int | str, asyncio.Future[Json]] = {}
        self._schema = AcpSchema.load() if AcpSchema.at_hand() else None
        self._pending: Pending = {}
        self._changed = asyncio.Condition()
        self._listener = asyncio.create_task(self._listen())

    @classmethod
    @contextlib.asynccontextmanager
    async def launch(
        cls,
        module: str,
        *args: str,
        initialize: bool = True,
        env: Mapping[str, str] | None = None,
        read_limit: int = READ_LIMIT,
    ) -> AsyncGenerator[Self]:
        """Starts the agent of this module. At the end it closes the agent's input, which must end an agent that still
        runs."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", module, *args),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=read_limit,
            env={**os.environ, "PYTHONUNBUFFERED": "1", **(env or {})},
        )
        driver = cls(process)
        try:
            if initialize:
                await driver.request("initialize", {"protocolVersion": 1})
            yield driver
            await driver.end()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
            driver._listener.cancel()
            await asyncio.wait({driver._listener})
        if not driver._listener.cancelled():
            driver._listener.result()

    async def end(self) -> int:
        """Closes the agent's input, if it is alive, and returns its exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        with contextlib.suppress(ConnectionError):
            await self.process.stdin.wait_closed()
        return await self.exit_code()

    async def exit_code(self) -> int:
        """Waits until the agent has exited and its last output is read."""
        code = await asyncio.wait_for(self.process.wait(), PATIENCE)
        await asyncio.wait({self._listener}, timeout=PATIENCE)
        return code

    async def request(self, method: str, params: Json) -> Json:
        return await self.answer(self.send(method, params))

    def send(self, method: str, params: Json) -> int:
        """Sends a request without waiting; pass the returned id to `answer`."""
        request_id = next(self._ids)
        self._answers[request_id] = asyncio.get_running_loop().create_future()
        self._write({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        return request_id

    async def answer(self, request_id: int | str) -> Json:
        """Waits for the answer to a request."""
        waiting = asyncio.ensure_future(self._answers[request_id])
        await asyncio.wait({waiting, self._listener}, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
        if not waiting.done():
            if self._listener.done():
                self._listener.result()
            raise AssertionError(f"no answer to request {request_id}; the agent said {self.log[-5:]}")
        message = waiting.result()
        if "error" in message:
            raise Refused(message["error"]["code"], message["error"]["message"])
        return message["result"]

    def notify(self, method: str, params: Json) -> None:
        self._write({"jsonrpc": "2.0", "method": method, "params": params})

    def raw(self, line: bytes, request_id: int | str | None = None) -> None:
        """Sends bytes unchecked; an id passed with them can be waited for."""
        if request_id is not None:
            self._answers[request_id] = asyncio.get_running_loop().create_future()
            self._pending["client", request_id] = "_raw"
        assert self.process.stdin is not None
        self.process.stdin.write(line)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Waits until something that the agent sent makes the condition true."""
        async with self._changed:
            await asyncio.wait_for(self._changed.wait_for(condition), PATIENCE)

    def respond(self, request: Json, choice: str) -> None:
        """Answers a permission request."""
        outcome: Json = {"outcome": "cancelled"}
        if choice != "cancelled":
            chosen = next(each for each in request["params"]["options"] if each["kind"] == choice)
            outcome = {"outcome": "selected", "optionId": chosen["optionId"]}
        self._write({"jsonrpc": "2.0", "id": request["id"], "result": {"outcome": outcome}})

    # Shortcuts for what nearly every test does.

    async def new(self, cwd: Path, mode: str | None = None, servers: list[Json] | None = None) -> str:
        result = await self.request("session/new", {"cwd": str(cwd), "mcpServers": servers or []})
        if mode is not None:
            await self.request("session/set_mode", {"sessionId": result["sessionId"], "modeId": mode})
        return result["sessionId"]

    async def prompt(self, session: str, *texts: str) -> Json:
        return await self.answer(self.send_prompt(session, *texts))

    def send_prompt(self, session: str, *texts: str) -> int:
        blocks = [{"type": "text", "text": text} for text in texts]
        return self.send("session/prompt", {"sessionId": session, "prompt": blocks})

    async def ask(self, session: str, *texts: str) -> str:
        """Sends a prompt and returns the text of that turn."""
        before = len(self.updates)
        await self.prompt(session, *texts)
        return self.said(session, before)

    def said(self, session: str, since: int = 0, kind: str = "agent_message_chunk") -> str:
        return "".join(update["content"]["text"] for update in self.of(session, kind, since))

    def of(self, session: str, kind: str, since: int = 0) -> list[Json]:
        """Returns the updates of one kind in a session."""
        return [
            each["update"]
            for each in self.updates[since:]
            if each["sessionId"] == session and each["update"]["sessionUpdate"] == kind
        ]

    def tools(self, session: str, since: int = 0) -> list[Json]:
        """Returns the tool calls of a session as they are after all their updates."""
        calls: dict[str, Json] = {}
        for each in self.updates[since:]:
            update = each["update"]
            if each["sessionId"] == session and update["sessionUpdate"].startswith("tool_call"):
                calls.setdefault(update["toolCallId"], {}).update(update)
        return list(calls.values())

    def _write(self, message: Json) -> None:
        line = msgspec.json.encode(message) + b"\n"
        if self._schema is not None:
            self._schema.check_client_line(line, self._pending)
        assert self.process.stdin is not None
        self.process.stdin.write(line)

    async def _listen(self) -> None:
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            await self.reading.wait()
            if self._schema is not None:
                self._schema.check_agent_line(line, self._pending)
            message: Json = msgspec.json.decode(line)
            self.log.append(message)
            self._take(message)
            async with self._changed:
                self._changed.notify_all()

    def _take(self, message: Json) -> None:
        match message.get("method"):
            case None if message["id"] is None:
                self.bad_lines.append(message["error"])
            case None:
                self._answers[message["id"]].set_result(message)
            case "session/update":
                self.updates.append(message["params"])
            case "session/request_permission":
                self.permissions.append(message)
                choice = self.decide(message)
                if choice is not None:
                    self.respond(message, choice)
            case "elicitation/create":
                self.questions.append(message)
            case "$/cancel_request":
                self.withdrawn.append(message["params"]["requestId"])
            case other:
                raise AssertionError(f"unexpected {other}")
