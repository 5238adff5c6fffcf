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

from bough.api.errors import HTTP_CODES, ErrorAnswer, ErrorBody, answer
from bough.errors import Unavailable
from bough.model.values.ids import new_id
from bough.open_file_limit import RESERVED, nearly_out

# Browsers also send the cookies of other servers on this host; no legitimate request comes near this size.
LARGEST_HEAD = 64 * 1024
# Seconds that a client may take to send a request's head.
HEAD_WITHIN = 30.0
# The same for a connection too many, which only waits for its refusal.
SURPLUS_WITHIN = 1.0


class BoundedProtocol(HttpToolsProtocol):
    """A connection that limits the size and time of each request's head."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._in_head = True
        self._head_size = 0
        self._timer: asyncio.TimerHandle | None = None
        self._refused = False
        # Whether it is a connection too many, which is closed as soon as it has been told so.
        self._surplus = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        descriptor: int = transport.get_extra_info("socket").fileno()
        if not nearly_out(descriptor):
            self._start_timer()
        elif nearly_out(descriptor, RESERVED // 2):
            transport.abort()
        else:
            # An answer that is sent before the request has arrived may be lost when the connection is closed.
            self._surplus = True
            self._timer = self.loop.call_later(SURPLUS_WITHIN, self._refuse_surplus)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._surplus:
            self._refuse_surplus()
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

    def _refuse_surplus(self) -> None:
        self._surplus = False
        error = Unavailable(
            "too_many_connections", "The server has too many open connections. Close some and try again."
        )
        self._refuse(503, answer(error))

    def _refuse(self, status: int, reason: str | ErrorAnswer) -> None:
        """Sends an error and closes the connection; sends nothing if a request is already being answered."""
        self._refused = True
        self._stop_timer()
        if self.transport.is_closing():
            return
        if not self.cycle or self.cycle.response_complete:
            if isinstance(reason, str):
                reason = ErrorAnswer(ErrorBody(HTTP_CODES[status], reason, new_id()))
            body = msgspec.json.encode(reason)
            head = (
                f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: application/json\r\n"
                f"content-length: {len(body)}\r\nx-request-id: {reason.error.id}\r\nconnection: close\r\n\r\n"
            )
            self.transport.write(head.encode() + body)
        self.transport.close()
