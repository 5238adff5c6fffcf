"""Reads the server's event stream in a thread and reconnects from the last cursor when the connection drops."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import queue
import random
import select
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, TextIO
from urllib.parse import urlencode

from bough.api.cli.framework.client import CONNECT_WITHIN, Client, Refused, check
from bough.errors import BoughError, NotFound

# The server sends a comment every 15 seconds; after three missing ones the connection is dead.
SILENCE = 45.0
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 2.0
# A restarting server is back within seconds; a command that waits for one turn must not wait forever.
GIVE_UP_AFTER = 60.0
# Beyond this the thread stops reading, so that a slow terminal slows the server down instead of filling our memory.
MOST_WAITING = 1000
# How soon a thread that is blocked by a slow terminal notices that the stream was closed.
LOOK_EVERY = 0.5
SERVER_ERRORS = 500


@dataclass
class StreamItem:
    """An event, or a change of the connection: `lost`, `back`, `failed` with the error that ends the stream, or `quiet`
    if the time limit passed without an event."""

    kind: Literal["event", "lost", "back", "failed", "quiet"]
    event: dict[str, Any] = field(default_factory=dict[str, Any])
    raw: bytes = b""
    error: BoughError | None = None


def now(client: Client) -> int:
    """Returns the current cursor; a stream from there misses nothing that happens next."""
    connection, response = _open(client, {})
    try:
        for _, raw in _frames(response):
            event = json.loads(raw)
            if event["type"] == "stream.ready":
                return event["cursor"]
        raise client.target.not_running()
    except (OSError, http.client.HTTPException) as error:
        raise client.target.not_running() from error
    finally:
        connection.close()


class EventStream:
    """The events of one session or of all, after `cursor` or from now on, while it is open."""

    def __init__(self, client: Client, session_id: str | None, cursor: int | None, *, patient: bool = False) -> None:
        self._client = client
        self._session_id = session_id
        self._cursor = cursor
        self._patient = patient
        self._items: queue.Queue[StreamItem] = queue.Queue(MOST_WAITING)
        self._socket: socket.socket | None = None
        self._ended = threading.Event()
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._wake, False)
        self._thread = threading.Thread(target=self._run, name="bough-events", daemon=True)

    def __enter__(self) -> EventStream:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ended.set()
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def next(self, also: TextIO | None = None, within: float | None = None) -> StreamItem | None:
        """Waits at most `within` seconds for the next item; returns None if `also` becomes readable first."""
        while True:
            try:
                item = self._items.get_nowait()
            except queue.Empty:
                ready, _, _ = select.select([self._woken, *([also] if also else [])], [], [], within)
                if not ready:
                    return StreamItem("quiet")
                if self._woken not in ready:
                    return None
                os.read(self._woken, 4096)
                continue
            if item.error is not None:
                raise item.error
            return item

    def _put(self, item: StreamItem) -> None:
        while not self._ended.is_set():
            try:
                self._items.put(item, timeout=LOOK_EVERY)
                break
            except queue.Full:
                continue
        # A full pipe wakes the reader anyway.
        with contextlib.suppress(BlockingIOError):
            os.write(self._wake, b"x")

    def _run(self) -> None:
        lost_at: float | None = None
        pause = FIRST_PAUSE
        while not self._ended.is_set():
            try:
                connection, response = _open(self._client, self._query())
                self._socket = connection.sock
                try:
                    if lost_at is not None:
                        self._put(StreamItem("back"))
                        lost_at, pause = None, FIRST_PAUSE
                    self._read(response)
                finally:
                    connection.close()
            except (OSError, http.client.HTTPException, NotFound):
                pass
            except Refused as error:
                # The server refused the request; trying again helps only after an error of its own.
                if error.status < SERVER_ERRORS:
                    self._put(StreamItem("failed", error=error))
                    return
            if self._ended.is_set():
                return
            if lost_at is None:
                lost_at = time.monotonic()
                self._put(StreamItem("lost"))
            elif not self._patient and time.monotonic() - lost_at > GIVE_UP_AFTER:
                self._put(StreamItem("failed", error=self._client.target.not_running()))
                return
            self._ended.wait(pause * random.uniform(0.5, 1.0))
            pause = min(pause * 2, LONGEST_PAUSE)

    def _query(self) -> dict[str, Any]:
        parameters = {"sessionId": self._session_id, "cursor": self._cursor}
        return {name: value for name, value in parameters.items() if value is not None}

    def _read(self, response: http.client.HTTPResponse) -> None:
        for cursor, raw in _frames(response):
            if self._ended.is_set():
                return
            event = json.loads(raw)
            if event["type"] == "stream.dropped":
                return
            self._put(StreamItem("event", event, raw))
            if cursor is not None:
                self._cursor = cursor
            elif event["type"] == "stream.ready":
                self._cursor = event["cursor"]


def _open(client: Client, query: dict[str, Any]) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
    connection, headers, base = client.connect(CONNECT_WITHIN)
    try:
        connection.connect()
        connection.sock.settimeout(SILENCE)
        connection.request("GET", f"{base}/api/events?{urlencode(query)}", headers=headers)
        response = connection.getresponse()
        if response.status >= 400:
            check(response.status, response.read())
        return connection, response
    except (ConnectionRefusedError, http.client.HTTPException) as error:
        connection.close()
        raise client.target.not_running() from error
    except BaseException:
        connection.close()
        raise


def _frames(response: http.client.HTTPResponse) -> Iterator[tuple[int | None, bytes]]:
    """Yields the cursor and data of each server-sent event; skips the comments that keep the connection open."""
    rest = b""
    while piece := response.read1(1 << 16):
        *blocks, rest = (rest + piece).split(b"\n\n")
        for block in blocks:
            cursor, data = None, None
            for line in block.split(b"\n"):
                if line.startswith(b"data: "):
                    data = line[6:]
                elif line.startswith(b"id: "):
                    cursor = int(line[4:])
            if data is not None:
                yield cursor, data
