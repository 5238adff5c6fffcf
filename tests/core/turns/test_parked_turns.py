"""Tests turns that a usage or rate limit ends: they are parked, and continue once when the limit is over."""

from __future__ import annotations

import signal
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bough.model.values.times import parse, written
from tests.core.helpers import add_agent, ending_keepers, messages, open_in, open_session
from tests.support.client import Client
from tests.support.eventually import eventually
from tests.support.server import ServerProcess, serving

Json = dict[str, Any]
CLOCKS = ("bough.core.store.transactions.now", "bough.core.turns.park_turns.now")
HOUR = "You have hit your usage limit. Try again in 1h."


def limited(folder: Path, name: str = "limited") -> None:
    """Adds an agent that meets a limit while a file in its folder says so."""
    add_agent(folder, name, ["{python}", "-m", "tests.support.misbehaving_agents.limited"])
    vocabulary = "codes = [429]\nusage = ['usage limit']\nresets = ['in (?P<duration>[0-9][0-9a-z]*)']\n"
    with (folder / "data/agents" / f"{name}.toml").open("a", encoding="utf-8") as file:
        file.write(f'[login]\nenv = ["LIMITED_KEY"]\n[limits]\n{vocabulary}')


async def parked(client: Client, task: str) -> Json:
    """Waits until a task is parked, and returns what it waits for."""

    async def look() -> Json | None:
        return (await client.get(f"/api/tasks/{task}"))["parked"]

    limit = await eventually(look, f"task {task} is parked")
    assert limit is not None
    return limit


async def folder_of(client: Client, session: str) -> Path:
    return Path((await client.get(f"/api/sessions/{session}"))["cwd"])


def at(patch: pytest.MonkeyPatch, later: timedelta) -> None:
    """Lets the server's clock show a later time."""
    for clock in CLOCKS:
        patch.setattr(clock, lambda: written(datetime.now(UTC) + later))


async def test_a_limit_parks_the_account_until_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Q6: A turn that a limit ends is parked until the vendor's time, and once another tree has met it, all prompts of
    the same account; other agents work on. At that time the turn continues once, as a continuation, and then the others
    run."""
    limited(tmp_path)
    async with serving(tmp_path) as server:
        client = server.client
        first, second, third = [await open_session(server, agent="limited") for _ in range(3)]
        other = await open_session(server, agent="demo")
        folder, second_folder = await folder_of(client, first), await folder_of(client, second)
        for place in (folder, second_folder):
            (place / "limit").write_text(HOUR)
        task = await client.prompt(first, "one")
        limit = await parked(client, task)
        pause = parse(limit["resumesAt"]) - datetime.now(UTC)
        assert timedelta(minutes=58) < pause < timedelta(minutes=62)
        assert (limit["kind"], limit["account"], limit["tries"]) == ("usage", "", 0)
        assert limit["reason"] == f"limited says: {HOUR}"
        behind = await client.prompt(first, "two")
        await parked(client, await client.prompt(second, "three"))
        elsewhere = await client.prompt(third, "four")
        assert (await client.wait_task(await client.prompt(other, "[[say hi]]")))["status"] == "completed"
        waiting = [(await client.get(f"/api/tasks/{id}"))["status"] for id in (task, behind, elsewhere)]
        assert waiting == ["interrupted", "queued", "queued"]
        for place in (folder, second_folder):
            (place / "limit").unlink()
        at(monkeypatch, timedelta(minutes=64))
        ended = [await client.wait_task(id) for id in (task, behind, elsewhere)]
        assert [(end["status"], end["attempt"], end["parked"]) for end in ended] == [
            ("completed", 2, None),
            ("completed", 1, None),
            ("completed", 1, None),
        ]
        prompts = (folder / "prompts").read_text().splitlines()
        assert prompts[0] == "one" and prompts[2] == "two" and len(prompts) == 3
        assert "a usage or rate limit was reached" in prompts[1]
        [notice] = [item for item in await messages(client, first, "notice") if item.get("stopReason") == "limit"]
        assert notice["text"].startswith("Usage limit of limited; resumes at ")


async def test_the_wait_is_not_agent_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B5: The hours in which a turn is parked do not count in its tree's budget of agent time."""
    limited(tmp_path)
    async with serving(tmp_path) as server:
        session = await open_session(server, agent="limited")
        folder = await folder_of(server.client, session)
        (folder / "limit").write_text(HOUR)
        task = await server.client.prompt(session, "one")
        await parked(server.client, task)
        (folder / "limit").unlink()
        at(monkeypatch, timedelta(hours=2))
        await server.client.wait_task(task)
        assert (await server.client.get(f"/api/sessions/{session}"))["seconds"] < 600


async def test_pauses_grow_and_then_a_person_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Q6: Without a vendor's time, the pause doubles with each try; after the last one a person is asked, once for the
    whole account, and the answer lets all of its sessions continue."""
    limited(tmp_path)
    async with serving(tmp_path, limit_tries=2, limit_pause=10.0) as server:
        client = server.client
        session, second = [await open_session(server, agent="limited") for _ in range(2)]
        folders = [await folder_of(client, id) for id in (session, second)]
        for folder in folders:
            (folder / "limit").write_text("Too many requests.")
        task = await client.prompt(session, "one")
        limit = await parked(client, task)
        assert (limit["kind"], limit["tries"]) == ("rate", 0)
        assert 600 <= _pause(limit) <= 661
        at(monkeypatch, timedelta(minutes=12))

        async def tried() -> bool:
            current = (await client.get(f"/api/tasks/{task}"))["parked"]
            return current is not None and current["tries"] == 1

        await eventually(tried, "the first try met the limit again")
        again = await parked(client, task)
        assert 1200 <= _pause(again) <= 1261
        behind = await client.prompt(second, "two")
        at(monkeypatch, timedelta(hours=2))
        [approval] = await eventually(lambda: _pending(client), "a person is asked")
        assert approval["toolKind"] == "agent_limit"
        assert approval["title"].startswith("Rate limit of limited: it was still in force after 2 tries")
        for folder in folders:
            (folder / "limit").unlink()
        await client.post(f"/api/approvals/{approval['id']}", {"decision": "allow"})
        assert (await client.wait_task(task))["status"] == "completed"
        assert (await client.wait_task(behind))["status"] == "completed"


def _pause(limit: Json) -> float:
    return (parse(limit["resumesAt"]) - parse(limit["parkedAt"])).total_seconds()


async def _pending(client: Client) -> list[Json]:
    return (await client.get("/api/approvals", params={"status": "pending"}))["approvals"]


async def test_nobody_waits_for_an_answer_that_nobody_is_asked_for(tmp_path: Path) -> None:
    """Q6: If the turn about which a person is asked is cancelled, the other sessions of the account are tried."""
    limited(tmp_path)
    async with serving(tmp_path, limit_tries=1, limit_pause=0.001) as server:
        client = server.client
        session, second, third = [await open_session(server, agent="limited") for _ in range(3)]
        for id in (session, second):
            (await folder_of(client, id) / "limit").write_text("Too many requests.")
        task = await client.prompt(session, "one")
        await eventually(lambda: _pending(client), "a person is asked")
        await parked(client, await client.prompt(second, "two"))
        behind = await client.prompt(third, "three")
        assert (await client.get(f"/api/tasks/{behind}"))["status"] == "queued"
        await client.call("DELETE", f"/api/tasks/{task}")
        assert (await client.wait_task(behind))["status"] == "completed"


async def test_a_session_can_opt_out(tmp_path: Path) -> None:
    """Q6: A session that takes no part fails at the limit, and is not held by that of others."""
    limited(tmp_path)
    async with serving(tmp_path) as server:
        client = server.client
        first = await open_session(server, agent="limited")
        out = await open_session(server, agent="limited", resumeAfterLimit=False)
        for session in (first, out):
            (await folder_of(client, session) / "limit").write_text(HOUR)
        await parked(client, await client.prompt(first, "one"))
        failed = await client.wait_task(await client.prompt(out, "two"))
        assert (failed["status"], failed["error"]["code"]) == ("failed", "agent_limit")
        await client.call("PATCH", f"/api/sessions/{out}", json={"resumeAfterLimit": True})
        assert (await parked(client, await client.prompt(out, "three")))["account"] == ""


async def test_another_key_is_another_account(tmp_path: Path) -> None:
    """Q6: A session with its own key has a clock of its own, known by a fingerprint that does not hold the key."""
    limited(tmp_path)
    async with serving(tmp_path) as server:
        client = server.client
        own = await open_session(server, agent="limited", env={"LIMITED_KEY": "sk-1"})
        same = await open_session(server, agent="limited", env={"LIMITED_KEY": "sk-1"})
        other = await open_session(server, agent="limited", env={"LIMITED_KEY": "sk-2"})
        for session in (own, same):
            (await folder_of(client, session) / "limit").write_text(HOUR)
        limit = await parked(client, await client.prompt(own, "one"))
        assert limit["account"].startswith("key-") and "sk-1" not in limit["account"]
        assert (await parked(client, await client.prompt(same, "two")))["account"] == limit["account"]
        assert (await client.wait_task(await client.prompt(other, "three")))["status"] == "completed"


async def test_a_resume_tries_now(tmp_path: Path) -> None:
    """Q6: A person who resumes a session with a parked turn has it tried at once."""
    limited(tmp_path)
    async with serving(tmp_path) as server:
        session = await open_session(server, agent="limited")
        folder = await folder_of(server.client, session)
        (folder / "limit").write_text(HOUR)
        task = await server.client.prompt(session, "one")
        await parked(server.client, task)
        (folder / "limit").unlink()
        await server.client.post(f"/api/sessions/{session}/resume")
        assert (await server.client.wait_task(task))["status"] == "completed"


async def test_a_parked_turn_survives_a_kill(tmp_path: Path) -> None:
    """Q4, Q6: A server that is killed while a turn is parked continues it once, at its time, after the restart."""
    limited(tmp_path)
    async with ending_keepers(tmp_path / "data"), ServerProcess(tmp_path / "data", tmp_path / "root") as server:
        async with server.client() as client:
            session = await open_in(server, client, agent="limited")
            folder = await folder_of(client, session)
            (folder / "limit").write_text("You have hit your usage limit. Try again in 6s.")
            task = await client.prompt(session, "one")
            before = await parked(client, task)
        await server.stop(signal.SIGKILL)
        (folder / "limit").unlink()
        await server.start()
        async with server.client() as client:
            assert await parked(client, task) == before
            ended = await client.wait_task(task)
            assert (ended["status"], ended["attempt"]) == ("completed", 2)
            assert datetime.now(UTC) >= parse(before["resumesAt"])
        assert len((folder / "prompts").read_text().splitlines()) == 2
