"""A small development server for tests of previews: `python -m tests.support.preview_app PORT`. It tells what it was
asked, redirects to itself, sets cookies, and echoes over a WebSocket until it is told to end."""

from __future__ import annotations

import asyncio
import json
import sys
from http import HTTPStatus

from websockets.asyncio.server import ServerConnection, serve
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

POLICY = "frame-ancestors 'none'; base-uri 'self', frame-ancestors 'self'"
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>App</title><link rel="icon" href="data:,">
<h1>The app</h1><p id="said"></p></html>"""


def main(port: int) -> None:
    asyncio.run(_serve(port))


async def _serve(port: int) -> None:
    def answer(_connection: ServerConnection, request: Request) -> Response | None:
        if request.headers.get("Upgrade", "").lower() == "websocket":
            return None
        headers = [
            ("X-Frame-Options", "DENY"),
            ("Content-Security-Policy", POLICY),
            ("Strict-Transport-Security", "max-age=1000"),
        ]
        if request.path == "/asked":
            body = json.dumps(dict(request.headers.raw_items()))
            return _response(HTTPStatus.OK, "application/json", body, headers)
        if request.path == "/moved":
            return _response(HTTPStatus.FOUND, "text/plain", "", [("Location", f"http://localhost:{port}/asked")])
        headers.append(("Set-Cookie", "app=1; Path=/; Domain=localhost"))
        return _response(HTTPStatus.OK, "text/html; charset=utf-8", PAGE, headers)

    async def echo(socket: ServerConnection) -> None:
        async for message in socket:
            if message == "end":
                await socket.close(4001, "over")
                return
            await socket.send(message)

    async with serve(echo, "127.0.0.1", port, process_request=answer):
        print("ready", flush=True)
        await asyncio.Future()


def _response(status: HTTPStatus, kind: str, body: str, more: list[tuple[str, str]]) -> Response:
    data = body.encode()
    headers = Headers([("Content-Type", kind), ("Content-Length", str(len(data))), ("Connection", "close"), *more])
    return Response(status.value, status.phrase, headers, data)


if __name__ == "__main__":
    main(int(sys.argv[1]))
