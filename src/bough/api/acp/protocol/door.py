"""The WebSocket at `/acp`: one text frame is one message of the protocol. Who may come in is the gate's decision; what
is said there is `editor`."""

from __future__ import annotations

import asyncio
from typing import Any

import structlog
from litestar import WebSocket, websocket

from bough.api.acp.protocol.editor import Editor
from bough.api.http.requests import Services

log = structlog.get_logger("bough.acp")

# A client that cannot be kept up with loads its sessions again.
CLOSE_TOO_SLOW = 4008


@websocket("/acp")
async def acp_socket(socket: WebSocket[Any, Any, Any], services: Services) -> None:
    """One editor, until it goes."""
    await socket.accept()
    closing: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def close(why: str) -> None:
        if not closing.done():
            closing.set_result(why)

    async def send(frame: bytes) -> None:
        await socket.send_data(frame.decode(), "text")

    editor = Editor(services, send, close)
    listening = asyncio.create_task(_listen(socket, editor))
    try:
        await asyncio.wait((listening, closing), return_when=asyncio.FIRST_COMPLETED)
        if closing.done():
            await socket.close(CLOSE_TOO_SLOW, closing.result()[:120])
    finally:
        listening.cancel()
        await asyncio.wait((listening,))
        await editor.end()


async def _listen(socket: WebSocket[Any, Any, Any], editor: Editor) -> None:
    while (message := await socket.receive())["type"] != "websocket.disconnect":
        frame = message.get("text") or message.get("bytes")
        if frame:
            await editor.take(frame)
