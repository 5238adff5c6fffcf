"""Tests terminals over REST and WebSocket: opened, viewed, resized, kept across restarts, and ended."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
from pathlib import Path

import psutil
import pytest

from bough.agents.keeper_client import keeper_folder
from bough.agents.pty_client import start_terminal
from bough.agents.pty_client.terminal_link import TerminalLink
from bough.agents.pty_keeper.protocol import MOST
from bough.api.ws.terminal_socket import UNCONFIRMED
from bough.errors import AgentFailed
from tests.api.error_responses import NOBODY, refused
from tests.api.worktree_helpers import at, made
from tests.support.client import Client, Json
from tests.support.eventually import eventually
from tests.support.people import as_user
from tests.support.repos import make_repo
from tests.support.server import Running, ServerProcess, serving
from tests.support.terminals import PATIENCE, TerminalView, viewing


@pytest.fixture(autouse=True)
def plain_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/bin/sh")
    monkeypatch.setenv("PS1", "$ ")
    monkeypatch.delenv("ENV", raising=False)


async def worktree_of(server: Running) -> Json:
    return await made(server.client, await server.client.repo(server.repo()))


async def audited(client: Client, action: str) -> list[Json]:
    entries: list[Json] = (await client.get("/api/audit"))["entries"]
    return [entry for entry in entries if entry["action"] == action]


async def test_a_terminal_is_opened_and_used(server: Running) -> None:
    """Y1, Y2: A worktree's terminal runs in its folder, takes and prints text, and is in the audit trail."""
    client, worktree = server.client, await worktree_of(server)
    async with client.events() as events:
        terminal = await client.post("/api/terminals", {"worktreeId": worktree["id"], "columns": 90, "rows": 20})
        assert (await events.until(lambda event: event["type"] == "terminal.created"))["data"] == terminal
        assert terminal["folder"] == worktree["path"]
        assert (await client.get(f"/api/terminals?worktreeId={worktree['id']}"))["terminals"] == [terminal]
        async with viewing(client, terminal["id"]) as view:
            opened = await view.until_notice("opened")
            assert (opened["columns"], opened["rows"]) == (90, 20)
            await view.type("pwd; stty size\n")
            await view.until("20 90")
            assert worktree["path"].encode() in view.printed
            async with viewing(client, terminal["id"][-8:]) as other:
                await other.say(columns=120, rows=40)
                assert (await view.until_notice("resized"))["columns"] == 120
                await other.until("20 90")
            await view.type("exit 3\n")
            assert await view.until_notice("ended") == {"type": "ended", "code": 3, "reason": "exited"}
        await events.until(lambda event: event["type"] == "terminal.removed")
    assert (await client.get("/api/terminals"))["terminals"] == []
    (opened,) = await audited(client, "terminal.opened")
    (ended,) = await audited(client, "terminal.ended")
    assert opened["details"] == {"path": worktree["path"]}
    assert opened["subjectId"] == ended["subjectId"] == terminal["id"]
    assert (ended["kind"], ended["details"]["code"]) == ("system", 3)


async def test_a_session_s_terminal_is_where_it_works(server: Running) -> None:
    """Y2: A session without a worktree has a terminal in its own folder; a key opens one only once."""
    client = server.client
    repo = await client.repo(server.repo())
    session = await client.session(repo["id"])
    body = {"sessionId": session["id"], "idempotencyKey": "k"}
    terminal = await client.post("/api/terminals", body)
    assert (terminal["folder"], terminal["worktreeId"]) == (session["cwd"], None)
    assert await client.post("/api/terminals", body) == terminal
    assert (await client.get(f"/api/terminals?sessionId={session['id']}"))["terminals"] == [terminal]
    await client.call("DELETE", f"/api/terminals/{terminal['id']}")
    refused(await client.http.delete(f"/api/terminals/{terminal['id']}"), 404, "terminal_not_found")
    async with viewing(client, terminal["id"]) as view:
        await view.socket.wait_closed()
        assert view.socket.close_code == 4404
    for wrong in ({}, {"sessionId": session["id"], "worktreeId": NOBODY}):
        refused(await client.http.post("/api/terminals", json=wrong), 400, "bad_terminal")


async def test_it_ends_with_its_worktree(server: Running) -> None:
    """Y2: Removing a worktree ends its terminals and what runs in them; a refused removal does not."""
    client, worktree = server.client, await worktree_of(server)
    terminal = await client.post("/api/terminals", {"worktreeId": worktree["id"]})
    folder = server.data / "terminals" / terminal["id"]
    async with viewing(client, terminal["id"]) as view:
        await view.type("touch new; sleep 600 & echo r''un\n")
        await view.until("run")
        refused(await client.http.delete(f"/api/worktrees/{worktree['id']}"), 409, "worktree_dirty")
        assert keeper_folder.is_alive(folder)
        await client.call("DELETE", f"/api/worktrees/{worktree['id']}?force=true")
        await view.until_notice("ended")
    assert not folder.exists()
    assert not at(worktree["path"]).exists()
    assert (await client.get("/api/terminals"))["terminals"] == []
    (ended,) = await audited(client, "terminal.ended")
    assert ended["details"]["reason"] == "worktree_removed"
    body = {"worktreeId": worktree["id"]}
    refused(await client.http.post("/api/terminals", json=body), 409, "worktree_removed")


async def test_it_survives_a_killed_server(tmp_path: Path) -> None:
    """Y1: A terminal continues while no server runs, and the next server shows what it printed."""
    async with ServerProcess(tmp_path / "data", tmp_path / "work") as server:
        async with server.client() as client:
            repo = await client.repo(make(tmp_path))
            worktree = await made(client, repo)
            terminal = await client.post("/api/terminals", {"worktreeId": worktree["id"]})
            lost = await client.post("/api/terminals", {"worktreeId": worktree["id"]})
            async with viewing(client, terminal["id"]) as view:
                await view.type("name=kept; (sleep 1; echo la''ter) & echo be''fore\n")
                await view.until("before")
        await server.stop(signal.SIGKILL)
        about = keeper_folder.read_info(server.data / "terminals" / lost["id"])
        assert about is not None
        for process in (about.keeper, about.agent):
            os.kill(process.pid, 9)
        await server.start()
        async with server.client() as client:
            assert [row["id"] for row in (await client.get("/api/terminals"))["terminals"]] == [terminal["id"]]
            async with viewing(client, terminal["id"]) as view:
                await view.until("before")
                await view.until("later")
                await view.type("echo it is $name\n")
                await view.until("it is kept")
            await client.call("DELETE", f"/api/terminals/{terminal['id']}")


async def test_the_number_is_limited(tmp_path: Path) -> None:
    """Y2: At `max_terminals` no further one opens; 0 lets nobody open one."""
    async with serving(tmp_path / "a", max_terminals=1) as server:
        body = {"worktreeId": (await worktree_of(server))["id"]}
        await server.client.post("/api/terminals", body)
        refused(await server.client.http.post("/api/terminals", json=body), 429, "too_many_terminals")
    async with serving(tmp_path / "b", max_terminals=0) as server:
        body = {"worktreeId": (await worktree_of(server))["id"]}
        refused(await server.client.http.post("/api/terminals", json=body), 429, "too_many_terminals")


async def test_a_viewer_that_confirms_nothing_is_sent_little(server: Running) -> None:
    """Y1: A viewer that shows nothing is sent a bounded part, and another one still gets everything."""
    client, worktree = server.client, await worktree_of(server)
    terminal = await client.post("/api/terminals", {"worktreeId": worktree["id"]})
    async with viewing(client, terminal["id"]) as stuck, viewing(client, terminal["id"]) as view:
        await stuck.until_notice("opened")
        await view.type("seq 1 400000; echo d''one\n")
        await view.until("done")
        async with asyncio.timeout(PATIENCE):
            while len(stuck.printed) <= UNCONFIRMED:
                await stuck.step(confirm=False)
        assert len(stuck.printed) <= UNCONFIRMED + MOST
        # Once it confirms, it continues with what is still held.
        await stuck.say(ack=len(stuck.printed))
        await stuck.until("done")
        await stuck.until_notice("skipped")


async def test_a_shell_that_ends_unseen_is_removed(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Y2: The row of a shell that ended while nobody looked goes, too."""
    client, worktree = server.client, await worktree_of(server)
    terminal = await client.post("/api/terminals", {"worktreeId": worktree["id"]})
    async with viewing(client, terminal["id"]) as view:
        await view.type("(sleep 0.2; kill -9 $$) &\n")
        await view.until("kill")
    folder = server.data / "terminals" / terminal["id"]
    await eventually(lambda: not keeper_folder.is_alive(folder))
    await server.services.terminals.repair()
    assert (await client.get("/api/terminals"))["terminals"] == []
    assert not folder.exists()


async def test_the_trail_names_who_ended_it(server: Running) -> None:
    """Y2: A terminal that a person ends while it is viewed was ended by that person, not found dead by its viewer."""
    client, worktree = server.client, await worktree_of(server)
    for _ in range(3):
        terminal = await client.post("/api/terminals", {"worktreeId": worktree["id"]})
        async with viewing(client, terminal["id"]) as view:
            await view.until_notice("opened")
            await client.call("DELETE", f"/api/terminals/{terminal['id']}")
            await view.until_notice("ended")
    assert [entry["kind"] for entry in await audited(client, "terminal.ended")] == ["person"] * 3


async def test_a_terminal_that_does_not_answer_goes_on(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Y1: A keeper that is too slow to greet a viewer loses neither its shell nor its row; the viewer may try again."""
    client, worktree = server.client, await worktree_of(server)
    terminal = await client.post("/api/terminals", {"worktreeId": worktree["id"]})
    about = keeper_folder.read_info(server.data / "terminals" / terminal["id"])
    assert about is not None
    with monkeypatch.context() as hurried:
        hurried.setattr("bough.agents.pty_client.start_terminal.ANSWER_WITHIN", 0.2)
        os.kill(about.keeper.pid, signal.SIGSTOP)
        try:
            async with viewing(client, terminal["id"]) as view:
                await view.socket.wait_closed()
                assert (view.socket.close_code, view.socket.close_reason) == (
                    4503,
                    "The terminal does not answer just now. It keeps running; attach to it again.",
                )
        finally:
            os.kill(about.keeper.pid, signal.SIGCONT)
    async with viewing(client, terminal["id"]) as view:
        await view.type("echo al''ive\n")
        await view.until("alive")


async def test_a_terminal_that_cannot_be_ended_stops_no_repair(
    server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Y2: A shell whose processes resist even SIGKILL neither keeps the server from starting nor other rows."""
    client, worktree = server.client, await worktree_of(server)
    stuck = await client.post("/api/terminals", {"worktreeId": worktree["id"]})
    lost = await client.post("/api/terminals", {"worktreeId": worktree["id"]})
    for terminal in (stuck, lost):
        folder = server.data / "terminals" / terminal["id"]
        about = keeper_folder.read_info(folder)
        assert about is not None
        for process in (about.keeper, about.agent):
            os.kill(process.pid, signal.SIGKILL)
        await eventually(lambda folder=folder: not keeper_folder.is_alive(folder))
    end_terminal = start_terminal.end_terminal

    async def end(folder: Path) -> int | None:
        if folder.name == stuck["id"]:
            raise AgentFailed("agent_stuck", "Processes could not be ended.")
        return await end_terminal(folder)

    with monkeypatch.context() as resisting:
        resisting.setattr(start_terminal, "end_terminal", end)
        await server.services.terminals.repair()
        assert [row["id"] for row in (await client.get("/api/terminals"))["terminals"]] == [stuck["id"]]
    await server.services.terminals.repair()
    assert (await client.get("/api/terminals"))["terminals"] == []


async def paste_into_a_shell_that_reads_nothing(view: TerminalView) -> None:
    await view.type("stty raw -echo; echo r''eady; exec sleep 600\n")
    await view.until("ready")
    for _ in range(6):
        await view.type("x" * 512 * 1024)


@pytest.fixture
def detached(monkeypatch: pytest.MonkeyPatch) -> list[TerminalLink]:
    """Lists the server's links to keepers that were closed to their end."""
    links: list[TerminalLink] = []
    close = TerminalLink.close

    async def close_and_note(link: TerminalLink) -> None:
        await close(link)
        links.append(link)

    monkeypatch.setattr(TerminalLink, "close", close_and_note)
    monkeypatch.setattr("bough.agents.pty_client.terminal_link.CLOSE_WITHIN", 0.2)
    monkeypatch.setattr("bough.api.ws.terminal_socket.REST_WITHIN", 0.2)
    return links


async def test_a_viewer_that_leaves_a_full_shell_is_noticed(server: Running, detached: list[TerminalLink]) -> None:
    """Y1, Y2: A viewer that has pasted more than a shell takes that reads nothing is noticed when it disconnects, by
    the server and then by the keeper; the shell goes on."""
    terminal = await server.client.post("/api/terminals", {"worktreeId": (await worktree_of(server))["id"]})
    about = keeper_folder.read_info(server.data / "terminals" / terminal["id"])
    assert about is not None

    def viewers() -> int:
        """Returns the number of the keeper's connections, besides the socket that it listens at."""
        return sum(1 for link in psutil.Process(about.keeper.pid).net_connections("unix") if link.raddr or link.laddr)

    alone = viewers()
    async with viewing(server.client, terminal["id"]) as view:
        await paste_into_a_shell_that_reads_nothing(view)
        assert viewers() == alone + 1
        view.socket.transport.abort()
    await eventually(lambda: len(detached) == 1)
    await eventually(lambda: viewers() == alone)
    assert [row["id"] for row in (await server.client.get("/api/terminals"))["terminals"]] == [terminal["id"]]
    async with viewing(server.client, terminal["id"]) as other:
        await other.until("ready")


async def test_a_revoked_viewer_of_a_full_shell_is_cut_off(server: Running) -> None:
    """Y2, L1: A viewer whose role ends loses its socket although the shell reads nothing that it typed."""
    terminal = await server.client.post("/api/terminals", {"worktreeId": (await worktree_of(server))["id"]})
    async with as_user(server, "anna", "admin") as admin, viewing(admin.client, terminal["id"]) as view:
        await paste_into_a_shell_that_reads_nothing(view)
        await server.client.call("PATCH", "/api/users/anna", json={"role": "operator"})
        async with asyncio.timeout(PATIENCE):
            await view.socket.wait_closed()
        assert view.socket.close_code == 4401


async def test_what_was_typed_before_leaving_arrives(server: Running) -> None:
    """Y1: A long paste of a viewer that leaves at once reaches a shell that reads it."""
    worktree = await worktree_of(server)
    terminal = await server.client.post("/api/terminals", {"worktreeId": worktree["id"]})
    async with viewing(server.client, terminal["id"]) as view:
        await view.type("stty raw -echo; echo r''eady; head -c 3000000 > pasted\n")
        await view.until("ready")
        for _ in range(6):
            await view.type("x" * 500_000)
    pasted = at(worktree["path"], "pasted")
    await eventually(lambda: pasted.stat().st_size == 3_000_000)


def make(folder: Path) -> Path:
    (folder / "work").mkdir(exist_ok=True)
    return make_repo(folder / "work" / "repo")


async def test_a_failing_disk_is_named(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Y1, Q4: A terminal that cannot be started because the data folder cannot be written is refused with that reason,
    and leaves nothing."""
    worktree = await worktree_of(server)

    def fail(folder: Path) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(folder))

    monkeypatch.setattr(start_terminal, "_make_folder", fail)
    answer = await server.client.http.post("/api/terminals", json={"worktreeId": worktree["id"]})
    refused(answer, 429, "data_folder_unwritable")
    assert (await server.client.get("/api/terminals"))["terminals"] == []
