"""Passes previews on: one exchange or WebSocket per connection, to the port that the host name stands for."""

from __future__ import annotations

import asyncio
import contextlib
import html
import socket
from collections.abc import AsyncGenerator

import structlog

from bough.agents.network import streams
from bough.agents.network.http_head import HEAD_LIMIT, BadRequest, Request, parse_request
from bough.agents.network.streams import StreamPair
from bough.api.preview import heads
from bough.core.runs.previews import Previews, PreviewTarget
from bough.core.runs.watch import connect_loopback
from bough.errors import BoughError

log = structlog.get_logger("bough.previews")

# A browser opens six connections for each address; WebSockets stay open.
MOST_CONNECTIONS = 256
HEAD_WITHIN = 30.0
# An app may take long for its answer, for example while it compiles.
ANSWER_WITHIN = 300.0
CONNECT_WITHIN = 5.0
# How long an answer goes on once the browser has ended its side. It may still read, but browsers are gone then.
REST_WITHIN = 60.0
# Interim answers before the final one.
MOST_INTERIM = 8
REASONS = {
    400: "Bad Request",
    404: "Not Found",
    502: "Bad Gateway",
    503: "Service Unavailable",
    504: "Gateway Timeout",
}


class PreviewProxy:
    """Serves previews on one listening socket."""

    def __init__(self, previews: Previews, sock: socket.socket) -> None:
        self._previews = previews
        self._sock = sock
        self._connections: set[asyncio.Task[None]] = set()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Serves until the end of the block, and then cuts every connection."""
        server = await asyncio.start_server(self._accept, sock=self._sock, limit=HEAD_LIMIT)
        self._previews.port = self._sock.getsockname()[1]
        try:
            yield
        finally:
            self._previews.port = None
            server.close()
            for task in list(self._connections):
                task.cancel()
            if self._connections:
                await asyncio.wait(self._connections)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        browser = StreamPair(reader, writer)
        try:
            if len(self._connections) > MOST_CONNECTIONS:
                await _refuse(browser, 503, "Too many connections to previews are open.")
            else:
                await self._serve(browser)
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            pass  # The browser is gone.
        finally:
            writer.transport.abort() if task.cancelling() else await streams.close(writer)
            self._connections.discard(task)

    async def _serve(self, browser: StreamPair) -> None:
        try:
            async with asyncio.timeout(HEAD_WITHIN):
                request = parse_request(await browser.reader.readuntil(b"\r\n\r\n"))
            host = heads.host_of(request)
        except (BadRequest, asyncio.LimitOverrunError) as error:
            await _refuse(browser, 400, str(error))
            return
        try:
            target = await self._previews.find(host)
        except BoughError as error:
            await _refuse(browser, 503, error.message)
            return
        if target is None:
            log.info("preview_refused", host=host[:100])
            await _refuse(browser, 404, "This preview is over. Open it again on Bough's page.")
            return
        try:
            app = StreamPair(*await connect_loopback(target.port, CONNECT_WITHIN, HEAD_LIMIT))
        except (OSError, TimeoutError):
            await _refuse(
                browser, 502, f"Nothing answers at port {target.port} yet. This page tries again.", again=True
            )
            return
        try:
            await self._exchange(browser, app, request, target)
        finally:
            app.writer.transport.abort()

    async def _exchange(self, browser: StreamPair, app: StreamPair, request: Request, target: PreviewTarget) -> None:
        app.writer.write(heads.request_head(request, target.origin, target.port))
        await app.writer.drain()
        # The body goes on while the answer is awaited, which may come before its end.
        sending = asyncio.create_task(streams.copy(browser.reader, app.writer))
        try:
            async with asyncio.timeout(ANSWER_WITHIN):
                answer = await self._answer(browser, app, target)
        except (BadRequest, asyncio.LimitOverrunError, asyncio.IncompleteReadError, ConnectionError):
            await _refuse(browser, 502, f"What answers at port {target.port} does not speak HTTP.")
            return
        except TimeoutError:
            await _refuse(browser, 504, f"Port {target.port} did not answer within {ANSWER_WITHIN:.0f} s.")
            return
        else:
            receiving = asyncio.create_task(streams.copy(app.reader, browser.writer))
            # Either side ends a WebSocket; an answer may be read to its end.
            await _first_of(sending, receiving, 0.0 if answer.status == heads.SWITCHING else REST_WITHIN)
        finally:
            await _cancelled(sending)

    async def _answer(self, browser: StreamPair, app: StreamPair, target: PreviewTarget) -> heads.AnswerHead:
        """Passes on the heads of an answer and returns the last."""
        for _ in range(MOST_INTERIM):
            answer = heads.parse_answer(await app.reader.readuntil(b"\r\n\r\n"))
            if answer.status >= 200 or answer.status == heads.SWITCHING:
                browser.writer.write(heads.answer_head(answer, target.origin, target.port, target.framers))
                await browser.writer.drain()
                return answer
        raise BadRequest("There is no end of interim answers.")


async def _first_of(sending: asyncio.Task[None], receiving: asyncio.Task[None], rest: float) -> None:
    """Waits until the app has sent everything, or some seconds longer than the browser sends."""
    try:
        await asyncio.wait((sending, receiving), return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait((receiving,), timeout=rest)
    finally:
        await _cancelled(sending)
        await _cancelled(receiving)


async def _cancelled(task: asyncio.Task[None]) -> None:
    """Ends a task. A broken connection is an ordinary end."""
    task.cancel()
    await asyncio.wait([task])
    if not task.cancelled():
        task.exception()


async def _refuse(browser: StreamPair, status: int, text: str, *, again: bool = False) -> None:
    """Answers with a small page, which tries again by itself if that may help."""
    refresh = '<meta http-equiv="refresh" content="2">' if again else ""
    body = (
        f'<!doctype html><html lang="en"><meta charset="utf-8">{refresh}<title>Preview</title>'
        f"<p>{html.escape(text)}</p></html>\n"
    ).encode()
    lines = [
        f"HTTP/1.1 {status} {REASONS[status]}",
        "Content-Type: text/html; charset=utf-8",
        f"Content-Length: {len(body)}",
        "Content-Security-Policy: default-src 'none'",
        "X-Content-Type-Options: nosniff",
        "Cache-Control: no-store",
        "Connection: close",
    ]
    browser.writer.write(("\r\n".join(lines) + "\r\n\r\n").encode() + body)
    await streams.finish(browser)
