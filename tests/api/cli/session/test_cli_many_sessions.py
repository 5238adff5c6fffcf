"""Tests commands that take several sessions: complete, archive and rm, by id or all that are idle."""

from __future__ import annotations

from typing import Any

from tests.api.cli.cli_program import Cli
from tests.support.server import Running


async def states(server: Running) -> dict[str, str]:
    """Returns the status of every session, or what it does."""
    rows = (await server.client.get("/api/sessions"))["sessions"]
    return {row["id"]: row["activity"] if row["status"] == "active" else row["status"] for row in rows}


async def test_several_sessions_at_once(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """L3: Complete, archive and rm take several ids; a refused one does not keep the others from it."""
    others = [await server.client.session(session["repoId"]) for _ in range(2)]
    names = [item["id"] for item in (session, *others)]
    done = await cli("session", "complete", *names)
    assert (done.code, done.out.count("is completed")) == (0, 3)
    missing = "00000000-0000-7000-8000-000000000000"
    some = await cli("session", "archive", names[0], missing, names[1])
    assert (some.code, some.out.count("is archived.")) == (1, 2) and "(session_not_found)" in some.err
    removed = await cli("session", "remove", *names[1:], "--purge", "--yes")
    assert (removed.code, removed.out.count("is deleted.")) == (0, 2)
    assert (await cli("session", "complete")).code == 2


async def test_all_idle_sessions(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """L3: `--idle` selects sessions in which nothing runs and nothing is queued."""
    client = server.client
    busy, waiting = [await client.session(session["repoId"]) for _ in range(2)]
    await client.wait_task(await client.prompt(busy["id"], "[[hang]]"), "running")
    await client.wait_task(await client.prompt(waiting["id"], "[[hang]]"), "running")
    await client.prompt(waiting["id"], "later")
    await client.post(f"/api/sessions/{waiting['id']}/stop")
    assert (await cli("session", "rm", session["id"], "--idle")).code == 2
    done = await cli("session", "complete", "--idle")
    assert done.code == 0 and session["id"][-8:] in done.out
    assert await states(server) == {session["id"]: "completed", busy["id"]: "running", waiting["id"]: "idle"}
    assert "No session is idle." in (await cli("session", "archive", "--idle")).err
    listed = await cli("session", "list", "--status", "running")
    assert busy["id"][-8:] in listed.out and waiting["id"][-8:] not in listed.out
