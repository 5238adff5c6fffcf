"""Attacks of an app that is previewed on the browser that looks at it, and on the proxy in between."""

from __future__ import annotations

import asyncio
import sys

import httpx
import pytest

from bough.agents.network.http_head import HEAD_LIMIT, BadRequest
from bough.api.preview import heads
from tests.api.worktree_helpers import at, made, registered
from tests.support.eventually import eventually
from tests.support.server import Running

HOSTILE_APP = f"""\
import socket, sys, threading
ANSWERS = {{
    b"/huge": b"HTTP/1.1 200 OK\\r\\nX: " + b"x" * {2 * HEAD_LIMIT} + b"\\r\\n\\r\\n",
    b"/line": b"HTTP/1.1 200 OK\\nSet-Cookie: bough_1=x; Domain=localhost\\r\\nA: b\\r\\n\\r\\n",
    b"/name": b"HTTP/1.1 200 OK\\r\\nX\\nSet-Cookie: bough_1=x; Domain=localhost\\r\\n\\r\\n",
    b"/body": b"HTTP/1.1 200 OK\\n\\n<script>1</script>\\r\\n\\r\\n",
    b"/early": b"HTTP/1.1 103 Early Hints\\r\\n\\r\\n" * 100,
    b"/nothing": b"",
    b"/cookies": b"HTTP/1.1 200 OK\\r\\nSet-Cookie: a=1; domain =localhost; Path=/\\r\\nContent-Length: 0\\r\\n\\r\\n",
}}
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
def answer(connection):
    path = (connection.recv(65536).split(b" ") + [b"", b""])[1]
    connection.sendall(ANSWERS.get(path, b"HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\n\\r\\n"))
    connection.shutdown(socket.SHUT_WR)
    while connection.recv(65536):
        pass
while True:
    threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()
"""


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\nSet-Cookie: a=1; Domain=localhost\r\n\r\n",
        b"HTTP/1.1 200 OK\n\n<script>\r\n\r\n",
        b"HTTP/1.1 200 O\rK\r\n\r\n",
        b"HTTP/1.1 200 O\0K\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX\nSet-Cookie: a=1; Domain=localhost\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX\rSet-Cookie: a=1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX\0: a\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: a\nSet-Cookie: a=1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: a\r\n folded\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n: a\r\n\r\n",
    ],
)
def test_a_head_that_can_be_read_in_two_ways_is_refused(head: bytes) -> None:
    """Y5: An app smuggles no line into the head of its answer that the proxy has not read."""
    with pytest.raises(BadRequest):
        heads.parse_answer(head)


@pytest.mark.parametrize(
    "attribute",
    [
        "Domain=localhost",
        "domain =localhost",
        "DOMAIN\t= localhost",
        " Domain=.localhost",
        "Domain",
        "Domain=;Domain=x",
    ],
)
def test_a_cookie_stays_at_the_preview(attribute: str) -> None:
    """Y5, L1: However an app spells the domain of a cookie, the cookie concerns no other host of this machine."""
    answer = heads.parse_answer(f"HTTP/1.1 200 OK\r\nSet-Cookie : a=1; {attribute}; Path=/\r\n\r\n".encode())
    head = heads.answer_head(answer, "http://p.localhost:1", 2, []).decode()
    assert "Set-Cookie: a=1; Path=/\r\n" in head and "domain" not in head.lower()


async def test_a_hostile_app_is_answered_for(server: Running) -> None:
    """Y5, L1: Whatever an app answers, the browser gets a head that Bough wrote, or a page that says why not."""
    worktree = await made(server.client, await registered(server))
    at(worktree["path"], "app.py").write_text(HOSTILE_APP)
    body = {"command": f"exec {sys.executable} app.py $PORT"}
    run = await server.client.post(f"/api/worktrees/{worktree['id']}/runs", body)

    async def answers() -> bool:
        return (await server.client.get(f"/api/runs/{run['id']}"))["answers"]

    await eventually(answers, "the app answers")
    host = httpx.URL((await server.client.post(f"/api/runs/{run['id']}/preview"))["url"]).netloc.decode()

    async def ask(path: str) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.services.previews.port)
        writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        answer = await reader.read()
        writer.close()
        return answer

    for path in ("/huge", "/line", "/name", "/body", "/early", "/nothing"):
        answer = await ask(path)
        assert answer.startswith(b"HTTP/1.1 502 "), path
        assert b"bough_1" not in answer and b"<script>" not in answer
    answer = await ask("/cookies")
    assert b"Set-Cookie: a=1; Path=/\r\n" in answer and b"frame-ancestors" in answer
    assert (await ask("/")).startswith(b"HTTP/1.1 200 ")
