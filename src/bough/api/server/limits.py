"""Bounds the size and time of a request's head, and answers unreadable requests with our error body.

Uvicorn cannot do this for us: with httptools it bounds neither (`h11_max_incomplete_event_size` is for the slower h11
parser only), and `timeout_keep_alive` starts only after an answer, so a silent client could hold on forever.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from bough.api.errors import HTTP_CODES, ErrorAnswer, ErrorBody
from bough.model.ids import new_id

# Browsers also send the cookies of other servers on this host; no legitimate request comes near this size.
LARGEST_HEAD = 64 * 1024
# Seconds that a client may take to send a request's head.
HEAD_WITHIN = 30.0


class BoundedProtocol(HttpToolsProtocol):
    """A connection that limits the size and time of each request's head."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._in_head = True
        self._head_size = 0
        self._timer: asyncio.TimerHandle | None = None
        self._refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        super().data_received(data)
        if self._in_head:
            self._head_size += len(data)
            if self._head_size > LARGEST_HEAD:
                self._refuse(431, f"The request line and headers exceed {LARGEST_HEAD} bytes.")

    def on_message_begin(self) -> None:
        self._in_head = True
        self._start_timer()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._head_size = 0
        self._stop_timer()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, "This is not a valid HTTP request.")

    def _start_timer(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(HEAD_WITHIN, self._give_up)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        self._refuse(408, f"The request line and headers did not arrive within {HEAD_WITHIN:.0f} s.")

    def _refuse(self, status: int, message: str) -> None:
        """Sends an error and closes the connection; sends nothing if a request is already being answered."""
        self._refused = True
        self._stop_timer()
        if self.transport.is_closing():
            return
        if not self.cycle or self.cycle.response_complete:
            body = msgspec.json.encode(ErrorAnswer(ErrorBody(HTTP_CODES[status], message, new_id())))
            head = (
                f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: application/json\r\n"
                f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
            )
            self.transport.write(head.encode() + body)
        self.transport.close()
