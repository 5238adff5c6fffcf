"""Serves the scripted model as an ASGI application: routes of four services, streams, and detection of agents that hang
up."""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

import msgspec

from tests.support.scripted_model.anthropic import MessagesWriter, read_messages
from tests.support.scripted_model.chat import ChatWriter, read_chat
from tests.support.scripted_model.conversation import Conversation, Json
from tests.support.scripted_model.gemini import ContentsWriter, read_contents
from tests.support.scripted_model.planning import Step, plan
from tests.support.scripted_model.records import Book, Entry
from tests.support.scripted_model.responses import ResponsesWriter, read_responses
from tests.support.scripted_model.writing import Writer, frame

DELAY = 0.01
"""Seconds between the pieces of a stream, so that agents see more than one."""
OVERLOADED = 529
MODELS = ("fake-model", "fake-model-2")
GEMINI_MODELS = ("models/fake-model", "models/gemini-2.5-pro", "models/gemini-2.5-flash")

_OPEN = "/_fake/open/"
_GEMINI_CALL = re.compile(r"/v1(?:beta1?)?/models/(?P<model>[^:/]+):(?P<method>\w+)")

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


@dataclass
class Exchange:
    """One request and the means to answer it."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    raw: bytes
    receive: Receive
    send: Send

    @property
    def target(self) -> str:
        return f"{self.path}?{self.query}" if self.query else self.path

    async def start(self, status: int, kind: str, more: Mapping[str, str] | None = None) -> None:
        headers = [(b"content-type", kind.encode()), (b"cache-control", b"no-cache")]
        headers += [(name.lower().encode(), value.encode()) for name, value in (more or {}).items()]
        await self.send({"type": "http.response.start", "status": status, "headers": headers})

    async def write(self, data: bytes, *, more: bool = True) -> None:
        await self.send({"type": "http.response.body", "body": data, "more_body": more})

    async def answer(self, data: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        await self.start(status, "application/json", headers)
        await self.write(msgspec.json.encode(data), more=False)

    async def hung_up(self) -> None:
        """Returns when the other side has closed the connection."""
        while (await self.receive())["type"] != "http.disconnect":
            pass


class ScriptedServer:
    """Answers according to the script in the request; keeps no state except the recorded requests."""

    def __init__(self, book: Book, delay: float = DELAY) -> None:
        self.book = book
        self._delay = delay
        self._streams: set[asyncio.Task[None]] = set()
        self._gates: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)

    def close(self) -> None:
        """Disconnects everybody who is still connected."""
        for stream in self._streams:
            stream.cancel()

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        assert scope["type"] == "http", scope["type"]
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        raw = await _read_all(receive)
        exchange = Exchange(scope["method"], scope["path"], scope["query_string"].decode(), headers, raw, receive, send)
        if exchange.method == "POST":
            await self._post(exchange)
        elif exchange.method == "GET":
            await self._get(exchange)
        else:
            await self._unknown(exchange)

    async def _post(self, exchange: Exchange) -> None:
        path = exchange.path.removeprefix("/v1")
        if path == "/_fake/reset":
            self.book.reset()
            self._gates.clear()
            await exchange.answer({"ok": True})
            return
        if path.startswith(_OPEN):
            self._gates[path.removeprefix(_OPEN)].set()
            await exchange.answer({"ok": True})
            return
        try:
            body: Json = msgspec.json.decode(exchange.raw or b"{}")
        except msgspec.DecodeError as error:
            self._note(exchange, f"bad JSON: {error}")
            await exchange.answer({"error": {"message": str(error), "type": "invalid_request_error"}}, 400)
            return
        size = len(exchange.raw)
        if path == "/messages":
            conversation = read_messages(body)
            await self._converse(exchange, body, conversation, MessagesWriter(conversation, size))
        elif path == "/messages/count_tokens":
            self._note(exchange, "count_tokens")
            await exchange.answer({"input_tokens": max(1, size // 4)})
        elif path == "/responses":
            conversation = read_responses(body)
            await self._converse(exchange, body, conversation, ResponsesWriter(conversation, size))
        elif path == "/chat/completions":
            conversation = read_chat(body)
            await self._converse(exchange, body, conversation, ChatWriter(conversation, size))
        elif call := _GEMINI_CALL.fullmatch(exchange.path):
            await self._gemini(exchange, body, call["model"], call["method"])
        else:
            await self._unknown(exchange)

    async def _gemini(self, exchange: Exchange, body: Json, model: str, method: str) -> None:
        if method == "countTokens":
            self._note(exchange, method)
            await exchange.answer({"totalTokens": max(1, len(exchange.raw) // 4)})
            return
        conversation = read_contents(body, model, stream=method == "streamGenerateContent")
        await self._converse(exchange, body, conversation, ContentsWriter(conversation, len(exchange.raw)))

    async def _get(self, exchange: Exchange) -> None:
        match exchange.path:
            case "/_fake/log":
                await exchange.answer(self.book.entries)
            case "/_fake/last":
                await exchange.answer(self.book.last)
            case "/models" | "/v1/models":
                self._note(exchange, "models")
                await exchange.answer(_models())
            case "/v1beta/models":
                self._note(exchange, "models")
                await exchange.answer({"models": [{"name": name, "displayName": name} for name in GEMINI_MODELS]})
            case _:
                await self._unknown(exchange)

    async def _unknown(self, exchange: Exchange) -> None:
        self._note(exchange, "unhandled")
        status = 200 if exchange.method in ("HEAD", "OPTIONS") else 404
        await exchange.answer({"error": {"message": "not found", "type": "not_found_error"}}, status)

    async def _converse(self, exchange: Exchange, body: Json, conversation: Conversation, writer: Writer) -> None:
        steps = plan(conversation)
        does = [str(step) for step in steps]
        entry = self.book.conversation(exchange.method, exchange.target, exchange.headers, body, conversation, does)
        failure = next((step for step in steps if step.kind == "http"), None)
        if failure is not None:
            await exchange.answer(_error(failure), failure.status, failure.arguments.get("headers"))
        elif conversation.stream:
            await self._stream(exchange, entry, writer, steps)
        else:
            _drain(writer.begin())
            for step in steps:
                _drain(writer.step(step))
            _drain(writer.end())
            await exchange.answer(writer.body())
            entry.done = True

    async def _stream(self, exchange: Exchange, entry: Entry, writer: Writer, steps: list[Step]) -> None:
        writing = asyncio.create_task(self._write(exchange, writer, steps))
        leaving = asyncio.create_task(exchange.hung_up())
        self._streams.add(writing)
        try:
            await asyncio.wait((writing, leaving), return_when=asyncio.FIRST_COMPLETED)
            if writing.cancelled():  # we close
                await exchange.write(b"", more=False)
            elif writing.done():
                writing.result()
                entry.done = True
            else:
                entry.aborted = True
        finally:
            self._streams.discard(writing)
            writing.cancel()
            leaving.cancel()
            await asyncio.gather(writing, leaving, return_exceptions=True)

    async def _write(self, exchange: Exchange, writer: Writer, steps: list[Step]) -> None:
        await exchange.start(200, "text/event-stream")
        for event in writer.begin():
            await exchange.write(frame(event))
        for step in steps:
            await asyncio.sleep(step.seconds)
            if step.kind == "gate":
                await self._gates[step.text].wait()
            for event in writer.step(step):
                await exchange.write(frame(event))
                await asyncio.sleep(self._delay)
        await exchange.write(b"".join(map(frame, writer.end())), more=False)

    def _note(self, exchange: Exchange, note: str) -> None:
        self.book.note(exchange.method, exchange.target, exchange.headers, note)


async def _read_all(receive: Receive) -> bytes:
    parts: list[bytes] = []
    while (message := await receive())["type"] == "http.request":
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            break
    return b"".join(parts)


def _drain(events: Iterable[object]) -> None:
    """Makes a writer write when only its body is needed."""
    for _ in events:
        pass


def _error(failure: Step) -> Json:
    status, kind = failure.status, failure.text
    usual = "overloaded_error" if status == OVERLOADED else "api_error"
    about = {
        "type": kind or usual,
        "message": f"scripted {status}",
        "code": kind or status,
        "status": kind or "UNAVAILABLE",
    }
    return {"type": "error", "error": about | failure.arguments.get("error", {})}


def _models() -> Json:
    about = {"type": "model", "object": "model", "owned_by": "fake"}
    dates = {"created": 1735689600, "created_at": "2025-01-01T00:00:00Z"}
    data = [{"id": name, "display_name": name} | about | dates for name in MODELS]
    return {"object": "list", "data": data, "has_more": False, "first_id": MODELS[0], "last_id": MODELS[-1]}
