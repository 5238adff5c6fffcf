"""Streams events over WebSocket and server-sent events, as fast as each client reads; a client that is too slow is told
the cursor to reconnect from."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import Annotated, Any

import msgspec
from litestar import Request, Router, WebSocket, get, websocket
from litestar.datastructures import State
from litestar.params import HeaderParameter, QueryParameter
from litestar.response import Stream as StreamResponse

from bough.api.errors import meaning
from bough.api.http.auth import chosen_protocol
from bough.api.http.requests import Services, errors
from bough.core.events.subscriber_buffer import Dropped, EventFrame
from bough.errors import BoughError, Invalid

# Bytes of the reason in a close frame.
LONGEST_REASON = 123
# 4000 plus the equivalent HTTP status; 4008 means too slow, reconnect from the cursor in the reason.
CLOSE_TOO_SLOW = 4008
CLOSE_BASE = 4000
# Seconds. Proxies and laptops drop silent connections; a comment keeps them open and detects dead ones.
KEEP_ALIVE = 15.0


async def _session(services: Services, session_id: str | None) -> str | None:
    if session_id is None:
        return None
    return (await services.sessions.get(session_id)).id


def _cursor(text: str | None) -> int | None:
    if text is None or text == "":
        return None
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise Invalid("bad_cursor", f"{text[:40]!r} is not a cursor; send the `cursor` of the last event you received.")
    return int(text)


def close_reason(text: str) -> str:
    """Returns as much of a text as a close frame can hold, which counts bytes."""
    return text.encode()[:LONGEST_REASON].decode(errors="ignore")


@websocket("/api/events")
async def events_socket(socket: WebSocket[Any, Any, Any], services: Services) -> None:
    """Sends every event as one text frame; ignores what the client sends."""
    query = socket.query_params
    await socket.accept(chosen_protocol(socket.scope))
    try:
        session_id = await _session(services, query.get("sessionId"))
        cursor = _cursor(query.get("cursor"))
    except BoughError as error:
        await socket.close(CLOSE_BASE + meaning(error).status, close_reason(error.message))
        return
    async with services.hub.subscribe(session_id, cursor) as stream:
        listening = asyncio.create_task(_until_gone(socket))
        sending = asyncio.create_task(_send_all(socket, stream.frames()))
        try:
            await asyncio.wait((listening, sending), return_when=asyncio.FIRST_COMPLETED)
            if sending.done() and isinstance(error := sending.exception(), Dropped):
                await socket.close(CLOSE_TOO_SLOW, f"reconnect from {error.cursor}")
        finally:
            for task in (listening, sending):
                task.cancel()
            await asyncio.wait((listening, sending))


async def _until_gone(socket: WebSocket[Any, Any, Any]) -> None:
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass


async def _send_all(socket: WebSocket[Any, Any, Any], frames: AsyncGenerator[list[EventFrame]]) -> None:
    async with contextlib.aclosing(frames):
        async for batch in frames:
            for frame in batch:
                await socket.send_data(frame.data.decode(), "text")


@get(
    "/api/events",
    media_type="text/event-stream",
    responses=errors(404, 409),
    summary="Stream events (server-sent events; also on WebSocket)",
)
async def events_sse(
    request: Request[Any, Any, State],
    services: Services,
    cursor: Annotated[str | None, QueryParameter(description="The cursor of the last event you received.")] = None,
    session_id: Annotated[
        str | None, QueryParameter(name="sessionId", description="Only events of this session.")
    ] = None,
    last_event_id: Annotated[str | None, HeaderParameter(name="Last-Event-ID", description="Same as `cursor`.")] = None,
) -> StreamResponse:
    start = _cursor(last_event_id or cursor)
    full_id = await _session(services, session_id)
    return StreamResponse(
        _lines(services, full_id, start),
        media_type="text/event-stream",
        headers={"cache-control": "no-store", "x-accel-buffering": "no"},
    )


async def _lines(services: Services, session_id: str | None, cursor: int | None) -> AsyncGenerator[bytes]:
    async with services.hub.subscribe(session_id, cursor) as stream, contextlib.aclosing(stream.frames()) as frames:
        closing = asyncio.create_task(services.hub.closing.wait())
        waiting: asyncio.Task[list[EventFrame]] | None = None
        try:
            while not closing.done():
                waiting = waiting or asyncio.create_task(anext(frames))
                done, _ = await asyncio.wait(
                    (waiting, closing), timeout=KEEP_ALIVE, return_when=asyncio.FIRST_COMPLETED
                )
                if closing in done:
                    # The client reconnects, to the next server, from the last cursor it has.
                    return
                if not done:
                    yield b": still here\n\n"
                    continue
                batch, waiting = waiting.result(), None
                yield b"".join(_sse(frame) for frame in batch)
        except Dropped as error:
            notice = msgspec.json.encode({"type": "stream.dropped", "reconnectFrom": error.cursor})
            yield b"event: stream.dropped\ndata: " + notice + b"\n\n"
        finally:
            unfinished = [task for task in (waiting, closing) if task is not None]
            for task in unfinished:
                task.cancel()
            await asyncio.wait(unfinished)


def _sse(frame: EventFrame) -> bytes:
    cursor = b"" if frame.cursor is None else b"id: %d\n" % frame.cursor
    return cursor + b"event: " + frame.kind.encode() + b"\ndata: " + frame.data + b"\n\n"


router = Router("/", route_handlers=[events_socket, events_sse], tags=["events"])
