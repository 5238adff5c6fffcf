"""Tests editors that misbehave: they get an error or are disconnected, and nobody else is affected."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket as sockets
from urllib.parse import urlsplit

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from bough.api.acp.protocol import editor as editor_module
from bough.api.acp.protocol.door import CLOSE_TOO_SLOW
from bough.api.acp.sessions.open_sessions import OpenSessions
from bough.api.acp.view.replay_and_follow import Attachment
from bough.core.events import subscriber_buffer as subscription
from bough.model.session import Session
from tests.api.acp.editor_client import Editor, editing
from tests.support.acp.acp_driver import PATIENCE, Json, Refused
from tests.support.eventually import eventually
from tests.support.server import Running

# Lines that are not messages, with the error code of each.
NONSENSE: list[tuple[bytes, int]] = [
    (b"{", -32700),
    (b'{"jsonrpc":"2.0","id":1,"method":"initialize","par', -32700),
    (b"not json", -32700),
    (b"[]", -32600),
    (b'[{"jsonrpc":"2.0","id":1,"method":"initialize"}]', -32600),
    (b"null", -32600),
    (b"7", -32600),
    (b'"text"', -32600),
    (b"{}", -32600),
    (b'{"jsonrpc":"2.0"}', -32600),
    (b'{"jsonrpc":"1.0","method":"session/list"}', -32600),
    (b'{"jsonrpc":"2.0","id":1.5,"method":"session/list"}', -32600),
    (b'{"jsonrpc":"2.0","id":{},"method":"session/list"}', -32600),
    (b'{"jsonrpc":"2.0","id":null,"method":7}', -32600),
    (b"[" * 100_000, -32600),
    (b'{"jsonrpc":"2.0","method":"x","params":' + b"[" * 100_000, -32700),
]
# Valid messages that make no sense, and notifications without a meaning.
REQUESTS: list[tuple[str, object, int]] = [
    ("nope", {}, -32601),
    ("_custom/thing", {}, -32601),
    ("fs/read_text_file", {}, -32601),
    ("session/new", [], -32602),
    ("session/new", None, -32602),
    ("session/new", {"cwd": 7, "mcpServers": []}, -32602),
    ("session/new", {"cwd": "/", "mcpServers": {}}, -32602),
    ("session/new", {"cwd": "a\0b", "mcpServers": []}, -32602),
    ("session/load", {"sessionId": "no such", "cwd": "/", "mcpServers": []}, -32602),
    ("session/prompt", {"sessionId": "019a3af2-0000-7000-8000-000000000000", "prompt": []}, -32002),
    ("session/prompt", {"sessionId": "x" * 5000, "prompt": [{"type": "text", "text": "x"}]}, -32602),
    ("session/prompt", {"sessionId": [], "prompt": [7]}, -32602),
    ("session/close", {"sessionId": "019a3af2-0000-7000-8000-000000000000"}, -32002),
    ("initialize", {"protocolVersion": "1"}, -32602),
    ("initialize", {"protocolVersion": -1}, -32602),
]
NOTICES: list[tuple[str, object]] = [
    ("$/cancel_request", {"requestId": 999}),
    ("$/cancel_request", {}),
    ("session/cancel", {"sessionId": "019a3af2-0000-7000-8000-000000000000"}),
    ("session/cancel", 7),
    ("session/prompt", {}),
    ("_nobody/knows", {}),
]


async def test_lines_that_are_not_messages(editor: Editor) -> None:
    """C2: Each gets an error that says what is wrong, and the connection stays open."""
    for line, code in NONSENSE:
        editor.raw(line)
        reported = len(editor.bad_lines)
        await editor.until(lambda reported=reported: len(editor.bad_lines) > reported)
        assert editor.bad_lines[-1]["code"] == code, line[:80]
    for number, (method, params, code) in enumerate(REQUESTS):
        id = f"wrong {number}"
        editor.raw(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode(), id)
        with pytest.raises(Refused) as refused:
            await editor.answer(id)
        assert refused.value.code == code, (method, params, str(refused.value))
    for method, params in NOTICES:
        editor.raw(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())
    for id in (1, 99, "x", None):
        editor.raw(json.dumps({"jsonrpc": "2.0", "id": id, "result": {}}).encode())
        editor.raw(json.dumps({"jsonrpc": "2.0", "id": id, "error": {"code": 1, "message": "no"}}).encode())
    assert (await editor.request("session/list", {}))["sessions"] == []
    assert len(editor.bad_lines) == len(NONSENSE)


async def test_floods(server: Running, editor: Editor, monkeypatch: pytest.MonkeyPatch) -> None:
    """C2: Refuses too many requests at once, makes notifications wait, and refuses an id that is in use."""
    monkeypatch.setattr(editor_module, "MOST_REQUESTS", 5)
    monkeypatch.setattr(editor_module, "MOST_NOTICES", 2)
    session = await editor.open()
    async with editing(server) as other:
        turns = [editor.send_prompt(session, "[[hang]]") for _ in range(5)]
        with pytest.raises(Refused, match="too many"):
            await editor.request("session/list", {})
        twice: Json = {"jsonrpc": "2.0", "id": turns[0], "method": "session/list", "params": {}}
        editor.raw(json.dumps(twice).encode(), turns[0])
        with pytest.raises(Refused, match="in use"):
            await editor.answer(turns[0])
        # The first request with this id is still open.
        editor.expect(turns[0], "session/prompt")
        cancel = {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}}
        for _ in range(200):
            editor.raw(json.dumps(cancel).encode())
        assert [await editor.answer(turn) for turn in turns] == [{"stopReason": "cancelled"}] * 5
        # This request waits behind all notifications.
        await editor.request("session/set_mode", {"sessionId": session, "modeId": "plan"})
        assert len((await other.request("session/list", {}))["sessions"]) == 1
        assert await other.prompt(session, "[[say alive]]") == {"stopReason": "end_turn"}


async def test_an_answered_request_no_longer_counts(editor: Editor, monkeypatch: pytest.MonkeyPatch) -> None:
    """C2: An editor that has read an answer may send the next request, even if Bough has not finished with the last
    one."""
    watched = asyncio.Event()
    watch = OpenSessions.watch

    async def slow_watch(self: OpenSessions, session: Session) -> Attachment:
        await watched.wait()
        return await watch(self, session)

    monkeypatch.setattr(OpenSessions, "watch", slow_watch)
    monkeypatch.setattr(editor_module, "MOST_REQUESTS", 2)
    session = await editor.open()
    sessions = (await editor.request("session/list", {}))["sessions"]
    assert [listed["sessionId"] for listed in sessions] == [session]
    waiting = [editor.send_prompt(session, "[[say ready]]") for _ in range(2)]
    with pytest.raises(Refused, match="too many"):
        await editor.request("session/list", {})
    watched.set()
    assert [await editor.answer(prompt) for prompt in waiting] == [{"stopReason": "end_turn"}] * 2


async def test_huge_frames(server: Running, editor: Editor) -> None:
    """C2: Accepts a prompt up to the limit; a longer one is refused or ends that connection only."""
    session = await editor.open()
    async with editing(server) as big:
        await big.load(session)
        await big.prompt(session, "[[say long]] " + "x" * 1_000_000)
        with pytest.raises(Refused, match="prompt has"):
            await big.prompt(session, "y" * 1_100_000)
        big.raw(b'{"jsonrpc":"2.0","method":"' + b"z" * 9_000_000 + b'"}')
        await asyncio.wait_for(big.socket.wait_closed(), 20)
    await editor.heard(session, "long")
    assert len(editor.said(session, kind="user_message_chunk")) > 1_000_000
    assert await editor.prompt(session, "[[say alive]]") == {"stopReason": "end_turn"}


async def test_disconnecting_at_any_moment(server: Running, editor: Editor) -> None:
    """C2: Clients that disappear at any moment leave no attachment, subscription or turn behind."""
    session = await editor.open("default")
    editor.decide = lambda _: None
    turn = editor.send_prompt(session, "[[say begun]] [[run echo hi]]")
    question = await editor.asked()
    alone = server.services.hub.subscribers
    load: Json = {"sessionId": session, "cwd": str(editor.repo), "mcpServers": []}
    methods: list[tuple[str, Json]] = [
        ("session/load", load),
        ("session/resume", load),
        ("session/fork", load),
        ("session/new", {"cwd": str(editor.repo), "mcpServers": []}),
        ("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "[[say later]]"}]}),
        ("session/list", {}),
    ]
    for method, params in methods:
        for waits in (False, True):
            async with editing(server) as gone:
                gone.decide = lambda _: None
                sent = gone.send(method, params)
                if waits and method != "session/prompt":
                    await gone.answer(sent)
                elif waits:
                    await gone.asked()
                await gone.vanish()
    await eventually(lambda: server.services.hub.subscribers == alone)
    editor.respond(question, "allow_once")
    assert await editor.answer(turn) == {"stopReason": "end_turn"}
    await editor.heard(session, "later")


async def test_an_editor_that_does_not_read(server: Running, editor: Editor, monkeypatch: pytest.MonkeyPatch) -> None:
    """C2: It slows nobody down, and must load the session again when it comes back."""
    monkeypatch.setattr(subscription, "MOST_BYTES_BEHIND", 2_500_000)
    session = await editor.open()
    small = sockets.socket()
    small.setsockopt(sockets.SOL_SOCKET, sockets.SO_RCVBUF, 4096)
    small.connect(("127.0.0.1", urlsplit(server.url).port))
    async with editing(server, sock=small) as lazy:
        await lazy.load(session)
        lazy.socket.transport.pause_reading()
        for _ in range(8):
            await editor.prompt(session, f"[[say {'x' * 900_000}]]")
        lazy.socket.transport.resume_reading()
        await asyncio.wait_for(lazy.socket.wait_closed(), PATIENCE)
        assert lazy.socket.close_code == CLOSE_TOO_SLOW
    assert await editor.prompt(session, "[[say alive]]") == {"stopReason": "end_turn"}


async def test_only_authorized_editors_connect(server: Running) -> None:
    """L1, C2: Refuses connections without the token or from a foreign page."""
    address = f"{server.url.replace('http', 'ws', 1)}/acp"
    good = {"authorization": f"Bearer {server.token}"}
    for headers in ({}, {"authorization": "Bearer wrong"}, good | {"origin": "http://evil.example"}):
        with pytest.raises((InvalidStatus, ConnectionClosed)):
            async with connect(address, additional_headers=headers) as socket:
                await socket.recv()


async def test_half_a_handshake(server: Running, editor: Editor) -> None:
    """C2: Connections that never complete the handshake do no harm."""
    port = urlsplit(server.url).port
    with contextlib.ExitStack() as stack:
        for _ in range(20):
            raw = stack.enter_context(sockets.create_connection(("127.0.0.1", port or 0)))
            raw.sendall(b"GET /acp HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: webso")
        assert (await editor.request("session/list", {}))["sessions"] == []
