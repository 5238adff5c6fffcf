"""Attacks on terminals: by people who may not have one, by other sites, by agents, and by what is printed in them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Origin

from bough.agents.keeper import frames
from bough.agents.keeper_client.keeper_key import keeper_key
from bough.agents.pty_keeper import protocol
from bough.core.terminals.service import NewTerminal
from bough.errors import Denied
from bough.model.session import Caller
from tests.agents.keeper_peers import RawClient
from tests.api.error_responses import refused
from tests.api.mcp.mcp_client import agent_of
from tests.api.worktree_helpers import made
from tests.support.client import Json
from tests.support.people import as_user, token_of
from tests.support.server import Running
from tests.support.terminals import viewing


@pytest.fixture(autouse=True)
def plain_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/bin/sh")
    monkeypatch.setenv("PS1", "$ ")
    monkeypatch.delenv("ENV", raising=False)


async def opened(server: Running) -> Json:
    worktree = await made(server.client, await server.client.repo(server.repo()))
    return await server.client.post("/api/terminals", {"worktreeId": worktree["id"]})


def address(server: Running, terminal: Json) -> str:
    return f"{server.url.replace('http', 'ws', 1)}/api/terminals/attach?terminalId={terminal['id']}"


async def close_code(server: Running, terminal: Json, token: str | None, origin: str | None = None) -> int | None:
    headers = {"Authorization": f"Bearer {token}"} if token is not None else {}
    try:
        async with connect(
            address(server, terminal), additional_headers=headers, origin=Origin(origin) if origin else None
        ) as socket:
            await socket.recv()
            await socket.recv()
    except ConnectionClosed as closed:
        return closed.rcvd.code if closed.rcvd is not None else None
    return None


@pytest.mark.parametrize("role", ["viewer", "operator"])
async def test_only_admins_get_a_terminal(server: Running, role: str) -> None:
    """Y2, L1: A viewer or operator neither opens, lists, watches, types into nor ends one, also not with an admin's
    token of a lower scope."""
    terminal = await opened(server)
    body = {"worktreeId": terminal["worktreeId"]}
    scoped = await token_of(server, "anna", "admin", scope=role)
    async with as_user(server, "mallory", role) as user:
        for token in (user.token, scoped):
            http, headers = user.client.http, {"authorization": f"Bearer {token}"}
            refused(await http.get("/api/terminals", headers=headers), 403, "role_too_low")
            refused(await http.post("/api/terminals", json=body, headers=headers), 403, "role_too_low")
            refused(await http.delete(f"/api/terminals/{terminal['id']}", headers=headers), 403, "role_too_low")
            assert await close_code(server, terminal, token) == 4403
    assert [row["id"] for row in (await server.client.get("/api/terminals"))["terminals"]] == [terminal["id"]]


async def test_an_agents_token_opens_no_terminal(server: Running) -> None:
    """Y2, L1: The token of an agent opens neither the routes nor the socket, and no tool leads there."""
    client, terminal = server.client, await opened(server)
    repo = (await client.get("/api/repos"))["repos"][0]
    session = await client.session(repo["id"], initialPrompt="[[say up]]", permissionMode="allow-all")
    await client.wait_task(session["taskId"])
    mcp = await agent_of(server, session)
    assert [name for name in await mcp.tools() if "terminal" in name] == []
    token = mcp._token  # pyright: ignore[reportPrivateUsage]
    async with httpx.AsyncClient(base_url=server.url, headers={"authorization": f"Bearer {token}"}) as http:
        refused(await http.get("/api/terminals"), 401, "unauthenticated")
        refused(await http.post("/api/terminals", json={"sessionId": session["id"]}), 401, "unauthenticated")
    assert await close_code(server, terminal, token) == 4401
    agent = Caller(kind="session", id=session["id"])
    for attempt in (
        server.services.terminals.open(agent, NewTerminal(session_id=session["id"])),
        server.services.terminals.attach(agent, terminal["id"]),
        server.services.terminals.end(agent, terminal["id"]),
    ):
        with pytest.raises(Denied, match="Only people"):
            await attempt


async def test_another_site_opens_no_terminal(server: Running) -> None:
    """Y2, L1: A page of another origin reaches no terminal, even with the token; nor does anybody without one."""
    terminal = await opened(server)
    assert await close_code(server, terminal, server.token, "https://evil.example") == 4403
    assert await close_code(server, terminal, None) == 4401
    assert await close_code(server, terminal, "bough_wrong") == 4401


async def test_a_revoked_token_loses_its_terminal(server: Running) -> None:
    """Y2, L1: A terminal's socket ends with the token or the role that opened it, and the trail names who joined."""
    terminal = await opened(server)
    async with as_user(server, "anna", "admin") as admin, viewing(admin.client, terminal["id"]) as view:
        await view.type("echo o''ne\n")
        await view.until("one")
        await server.client.call("PATCH", "/api/users/anna", json={"role": "operator"})
        with pytest.raises(ConnectionClosed):
            while True:
                await view.step()
        assert (view.socket.close_code, view.socket.close_reason) == (
            4401,
            "Your token was revoked, or your role changed.",
        )
        assert await close_code(server, terminal, admin.token) == 4403
    entries: list[Json] = (await server.client.get("/api/audit"))["entries"]
    (joined,) = [entry for entry in entries if entry["action"] == "terminal.joined"]
    assert (joined["userName"], joined["subjectId"]) == ("anna", terminal["id"])


async def test_a_terminal_s_keeper_serves_only_its_server(server: Running) -> None:
    """Y1, L1: A process of the same user neither reads nor types without the key of this very terminal."""
    terminal, other = (
        await opened(server),
        await server.client.post(
            "/api/terminals", {"worktreeId": (await server.client.get("/api/worktrees"))["worktrees"][0]["id"]}
        ),
    )
    root = server.data / "terminals"
    for key in (None, "", "x", 7, keeper_key(root, other["id"])):
        with RawClient(root / terminal["id"]) as thief:
            thief.say(frames.message(frames.HELLO, version=protocol.VERSION, key=key))
            assert thief.hear_note()[0] == "denied"
            assert thief.hear() is None
    with RawClient(root / terminal["id"]) as thief:
        thief.say(frames.frame(protocol.INPUT, b"echo sto''len\n"))
        assert thief.hear_note()[0] == "denied"
    async with viewing(server.client, terminal["id"]) as view:
        await view.type("echo mi''ne\n")
        await view.until("mine")
        assert b"stolen" not in view.printed


HOSTILE = (
    r"\033]0;owned\007\033]52;c;ZXZpbA==\007\033[6n\033[c\033[>q\033P$qm\033\\\033[?1049h"
    r"\033]8;;javascript:alert(1)\033\\x\033]8;;\033\\"
)


async def test_what_is_printed_stays_in_the_terminal(server: Running) -> None:
    """Y1, Y2: Escape sequences reach only viewers, as bytes; nothing printed or typed is in rows, the audit trail or a
    file of the data folder."""
    terminal = await opened(server)
    secret = "se-cret-4711"
    async with viewing(server.client, terminal["id"]) as view:
        await view.type(f"printf '{HOSTILE}'; echo {secret[:3]}''{secret[3:]}\n")
        await view.until(secret)
        assert b"\x1b]52;c;ZXZpbA==\x07" in view.printed
        # Malformed messages end the viewer's connection, not the shell.
        for bad in ('{"columns": "x"}', "no json", '{"type": "opened"}'):
            async with viewing(server.client, terminal["id"]) as clumsy:
                await clumsy.socket.send(bad)
                with pytest.raises(ConnectionClosed):
                    while True:
                        await clumsy.step()
                assert clumsy.socket.close_code == 4400
        await view.say(columns=10**9, rows=-5)
        assert await view.until_notice("resized") == {"type": "resized", "columns": 1000, "rows": 2}
        await view.type("echo st''ill\n")
        await view.until("still")
    seen = json.dumps([await server.client.get("/api/audit"), await server.client.get("/api/terminals")])
    assert secret not in seen
    files = [path for path in server.data.rglob("*") if path.is_file()]
    assert [path.name for path in files if secret.encode() in path.read_bytes()] == []


async def test_a_swapped_folder_gets_no_terminal(server: Running) -> None:
    """Y2, W3: If an agent replaces a worktree by a link that leads elsewhere, no shell is started there."""
    worktree = await made(server.client, await server.client.repo(server.repo()))
    path = server.root / "repo" / ".worktrees" / "feature"
    assert str(path) == worktree["path"]
    path.rename(server.root / "elsewhere")
    path.symlink_to("/")
    answer = await server.client.http.post("/api/terminals", json={"worktreeId": worktree["id"]})
    refused(answer, 403, "path_outside_root")
    assert (await server.client.get("/api/terminals"))["terminals"] == []


THIEF = """\
import os, pathlib, socket, sys
from bough.agents.keeper import frames
from bough.agents.pty_keeper import protocol
for path in pathlib.Path(sys.argv[1]).rglob("*"):
    if path.is_socket():
        for key in (None, "", "0" * 64, path.parent.name):
            with socket.socket(socket.AF_UNIX) as thief:
                thief.settimeout(10)
                os.chdir(path.parent)
                thief.connect(path.name)
                hello = frames.message(frames.HELLO, version=protocol.VERSION, key=key)
                typed = frames.frame(protocol.INPUT, b"touch sto''len\\n")
                end = frames.message(frames.END)
                try:
                    thief.sendall(hello + typed + end)
                    answer = b"".join(iter(lambda: thief.recv(65536), b""))
                except OSError:
                    answer = b""
                print("asked", b"denied" in answer or not answer, b"secret" in answer)
"""


async def said(server: Running, session: Json) -> str:
    return json.dumps(await server.client.get(f"/api/sessions/{session['id']}/messages"))


async def test_an_unconfined_agent_reaches_no_terminal(server: Running) -> None:
    """Y1, L1: An agent outside of any sandbox that finds the sockets of terminals reads, types and ends nothing there
    without their keys."""
    terminal = await opened(server)
    client = server.client
    (worktree,) = (await client.get("/api/worktrees"))["worktrees"]
    folder = Path(worktree["path"])
    (folder / "thief.py").write_text(THIEF)
    async with viewing(client, terminal["id"]) as view:
        await view.type("echo sec''ret\n")
        await view.until("secret")
        fields = {"worktreeId": worktree["id"], "permissionMode": "allow-all"}
        session = await client.session(worktree["repoId"], **fields)
        task = await client.prompt(session["id"], f"[[run {sys.executable} thief.py {server.data / 'terminals'}]]")
        # It asked, and no mode lets an agent into Bough's data folder. Then it does not name the folder.
        await client.wait_task(task)
        assert "into Bough's data folder" in await said(server, session)
        named = THIEF.replace("sys.argv[1]", repr(str(server.data / "terminals")))
        (folder / "thief.py").write_text(named)
        await client.wait_task(await client.prompt(session["id"], f"[[run {sys.executable} thief.py]]"))
        transcript = await said(server, session)
        assert "asked True False" in transcript and "False False" not in transcript and "True True" not in transcript
        await view.type("echo mi''ne\n")
        await view.until("mine")
    assert not (folder / "stolen").exists()
