"""The WebSocket at `/acp`; each text frame is one protocol message."""

from __future__ import annotations

import asyncio
from typing import Any

import structlog
from litestar import WebSocket, websocket

from bough.api.acp.protocol.editor import Editor
from bough.api.http.requests import Services

log = structlog.get_logger("bough.acp")

# Close code for a client that is too slow; it reconnects and loads its sessions again.
CLOSE_TOO_SLOW = 4008


@websocket("/acp")
async def acp_socket(socket: WebSocket[Any, Any, Any], services: Services) -> None:
    """Serves one editor until it disconnects."""
    await socket.accept()
    closing: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def close(why: str) -> None:
        if not closing.done():
            closing.set_result(why)

    async def send(frame: bytes) -> None:
        await socket.send_data(frame.decode(), "text")

    editor = Editor(services, socket.scope["state"]["caller"], send, close)
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
