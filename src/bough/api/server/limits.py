"""HTTP before any application sees it: how large a request's head may be, how long it may take, and that what cannot be
read is refused in the one shape of errors (A4). Reading HTTP itself is uvicorn's part."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from bough.api.errors import HTTP_CODES, ErrorAnswer, ErrorBody
from bough.model.ids import new_id

# Browsers send all cookies of a host along, those of other servers too; nothing honest comes near this.
LARGEST_HEAD = 64 * 1024
# Whoever opens a connection says what it wants by then.
HEAD_WITHIN = 30.0


class BoundedProtocol(HttpToolsProtocol):
    """One connection, with a limit to the size of a head and to the time that it takes."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._in_head = True
        self._head_size = 0
        self._patience: asyncio.TimerHandle | None = None
        self._refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        super().data_received(data)
        if self._in_head:
            self._head_size += len(data)
            if self._head_size > LARGEST_HEAD:
                self._refuse(431, f"The head of a request has at most {LARGEST_HEAD} bytes.")

    def on_message_begin(self) -> None:
        self._in_head = True
        self._wait()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._head_size = 0
        self._stop_waiting()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, "This is no HTTP request that can be read.")

    def _wait(self) -> None:
        if self._patience is None:
            self._patience = self.loop.call_later(HEAD_WITHIN, self._give_up)

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _give_up(self) -> None:
        self._patience = None
        self._refuse(408, f"The head of the request did not come within {HEAD_WITHIN:.0f} s.")

    def _refuse(self, status: int, message: str) -> None:
        """Says no and hangs up; a request that is being answered already is left alone."""
        self._refused = True
        self._stop_waiting()
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
