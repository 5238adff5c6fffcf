"""An app whose answer has no end, for tests of previews: `python -m tests.support.preview_stream PORT`.

`/stream` sends a piece for every request of `/next`, and `/viewers` tells how many streams are open. `/deaf` is a
stream that ignores that its reader has left."""

from __future__ import annotations

import asyncio
import sys


class App:
    """The streams that are open."""

    def __init__(self) -> None:
        self._streams: set[asyncio.StreamWriter] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
        if path == "/next":
            for stream in self._streams:
                stream.write(_chunk("next"))
        if path in ("/stream", "/deaf"):
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
            writer.write(_chunk("first"))
            self._streams.add(writer)
            try:
                await reader.read()
                if path == "/deaf":
                    await asyncio.Event().wait()
            finally:
                self._streams.discard(writer)
        else:
            body = str(len(self._streams)).encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(body), body))
        writer.close()


def _chunk(text: str) -> bytes:
    return f"{len(text):x}\r\n{text}\r\n".encode()


async def main(port: int) -> None:
    async with await asyncio.start_server(App().serve, "127.0.0.1", port) as server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
