"""Tests that a client that reads too slowly is dropped with a cursor to reconnect from, in bounded memory."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import socket
import tracemalloc
from collections.abc import AsyncGenerator
from urllib.parse import urlsplit

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from bough.core.events.subscriber_buffer import MOST_BYTES_BEHIND, Dropped, EventFrame, Subscription
from tests.api.error_responses import Json
from tests.api.event_streams import sse
from tests.support.client import PATIENCE, Client
from tests.support.server import Running

MIB = 1024 * 1024
# Enough to fill the kernel's socket buffers (4 MiB), one batch in flight and one that waits.
PROMPTS = 24
SMALL_WINDOW = (socket.SOL_SOCKET, socket.SO_RCVBUF, 128 * 1024)


async def test_a_subscription_has_a_size_limit() -> None:
    """A3: A subscription holds less than 8 MiB; above that, it discards everything and is dropped."""
    assert MOST_BYTES_BEHIND == 8 * MIB
    subscription = Subscription(None)
    tracemalloc.start()
    try:
        for cursor in range(1, 65):
            subscription.offer(EventFrame(bytes(MIB), "board.patched", None, cursor))
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10 * MIB
    assert held < MIB
    subscription.cursor = 7
    with pytest.raises(Dropped) as caught:
        await subscription.next()
    assert caught.value.cursor == 7


async def test_frames_of_other_sessions_do_not_count() -> None:
    """A3: A subscription to one session is not dropped because of events in others."""
    subscription = Subscription("mine")
    for cursor in range(1, 65):
        subscription.offer(EventFrame(bytes(MIB), "task.patched", "theirs", cursor))
    subscription.offer(EventFrame(b"x", "task.patched", "mine", 65))
    assert [frame.cursor for frame in await subscription.next()] == [65]


@contextlib.asynccontextmanager
async def lazy(client: Client) -> AsyncGenerator[ClientConnection]:
    """Opens a WebSocket whose client reads almost nothing until asked."""
    address = urlsplit(client.url)
    assert address.port is not None
    sock = socket.socket()
    # Set before connecting, so that the kernel offers the server a small window.
    sock.setsockopt(*SMALL_WINDOW)
    sock.setblocking(False)
    await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", address.port))
    headers = {"Authorization": f"Bearer {client.token}"}
    where = f"ws://{address.netloc}/api/events?cursor=0"
    async with connect(
        where, sock=sock, additional_headers=headers, max_size=None, max_queue=1, compression=None, ping_interval=None
    ) as ws:
        yield ws


async def flood(server: Running) -> int:
    """Queues prompts, each an event of about 1 MiB, and returns the last cursor."""
    client = server.client
    repo = await client.repo(server.repo())
    session = await client.session(repo["id"])
    hanging = await client.prompt(session["id"], "[[hang]]")
    await client.wait_task(hanging, "running")
    for number in range(PROMPTS):
        await client.prompt(session["id"], f"{number} {'x' * 1_000_000}")
    match = re.search(r"bough_event_cursor (\d+)", (await client.http.get("/metrics")).text)
    assert match is not None
    return int(match[1])


async def rest(client: Client, cursor: int, last: int) -> list[int]:
    async with client.events(cursor=cursor) as events:
        await events.until(lambda event: event.get("cursor") == last)
        return [event["cursor"] for event in events.seen if "objectId" in event]


async def test_a_slow_websocket_is_dropped_and_can_reconnect(server: Running) -> None:
    """A3: Closed with 4008 and `reconnect from N`, a client that reconnects has received every event exactly once."""
    seen: list[int] = []
    async with lazy(server.client) as ws:
        last = await flood(server)
        with pytest.raises(ConnectionClosed) as caught:
            async with asyncio.timeout(PATIENCE):
                while True:
                    event: Json = json.loads(await ws.recv())
                    if "objectId" in event:
                        seen.append(event["cursor"])
    assert caught.value.rcvd is not None
    assert caught.value.rcvd.code == 4008
    match = re.fullmatch(r"reconnect from (\d+)", caught.value.rcvd.reason)
    assert match is not None
    cursor = int(match[1])
    assert seen == list(range(1, cursor + 1))
    assert cursor < last
    seen += await rest(server.client, cursor, last)
    assert seen == list(range(1, last + 1))


async def test_a_slow_sse_client_is_dropped_and_can_reconnect(server: Running) -> None:
    """A3: The client receives `stream.dropped` with the cursor, which is also its `Last-Event-ID`, and the stream
    ends."""
    seen: list[int] = []
    transport = httpx.AsyncHTTPTransport(socket_options=[SMALL_WINDOW])
    headers = {"authorization": f"Bearer {server.token}"}
    async with (
        httpx.AsyncClient(base_url=server.url, headers=headers, transport=transport, timeout=30) as http,
        sse(Client(http, server.url, server.token), "?cursor=0") as stream,
    ):
        await stream.next()
        last = await flood(server)
        seen.append(1)
        event: Json = {}
        async with asyncio.timeout(PATIENCE):
            while event.get("type") != "stream.dropped":
                event = (await stream.next())[2]
                if "objectId" in event:
                    seen.append(event["cursor"])
        assert event["reconnectFrom"] == seen[-1]
        assert stream.last_id == str(seen[-1])
    assert seen == list(range(1, seen[-1] + 1))
    seen += await rest(server.client, seen[-1], last)
    assert seen == list(range(1, last + 1))


async def test_closed_streams_are_removed(server: Running) -> None:
    """A3: A client that disconnects, cleanly or not, leaves no subscription behind."""
    client = server.client
    hub = server.services.hub

    async def change() -> None:
        await client.post("/api/boards", {"name": f"board {len((await client.get('/api/boards'))['boards'])}"})

    async with client.events(), sse(client) as stream:
        await stream.next()
        assert hub.subscribers == 2
    async with lazy(client) as ws:
        await ws.recv()
        assert hub.subscribers
        ws.transport.abort()
    async with asyncio.timeout(PATIENCE):
        while hub.subscribers:
            await change()
    assert "bough_subscribers 0.0" in (await client.http.get("/metrics")).text
