"""Tests the home view, unread sessions and the tour repo."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bough.core.overview import home as module
from bough.core.overview import tour as tour_module
from bough.core.overview.home import MOST, day_began
from bough.core.overview.session_rows import first_line
from bough.errors import Denied, Invalid
from bough.git.paths import is_folder
from bough.model.session import Caller
from bough.model.values.times import parse, quarter
from tests.api.error_responses import Json, refused
from tests.support.client import Client
from tests.support.repos import git
from tests.support.server import Running, serving

HANG = "[[hang]]"


async def ended(client: Client, repo: Json, prompt: str, **fields: Any) -> Json:
    """Creates a session and waits until its first turn has ended."""
    session = await client.session(repo["id"], initialPrompt=prompt, **fields)
    await client.wait_task(session["taskId"])
    return session


def ids(sessions: list[Json]) -> list[str]:
    return [session["id"] for session in sessions]


async def test_the_home_view(tmp_path: Path, database_url: str) -> None:
    """O4: The home view lists approvals, failed, unread, running and queued sessions, and trees, on both databases."""
    async with serving(tmp_path, database=database_url, max_sessions=9) as server:
        client = server.client
        repo = await client.repo(server.repo())
        good = await ended(client, repo, "[[say one]]\nand more", title="")
        bad = await ended(client, repo, "[[fail no model]]", title="bad")
        asks = await client.session(repo["id"], initialPrompt="[[run ls]]", permissionMode="default", title="asks")
        approval = await client.approval(asks["id"])
        runs = await client.session(repo["id"], initialPrompt=HANG, title="runs", worktree={"branch": "side"})
        await client.wait_task(runs["taskId"], "running")
        waits = await client.session(repo["id"], initialPrompt=HANG, title="waits")
        await client.prompt(waits["id"], "later")
        await client.wait_task(waits["taskId"], "running")
        await client.post(f"/api/sessions/{waits['id']}/stop")
        home = await client.get("/api/home")
        assert home["counts"] == {"approvals": 1, "failed": 1, "review": 1, "running": 1, "queued": 1}
        (asked,) = home["needs"]["approvals"]
        assert asked == approval | {
            "sessionTitle": "asks",
            "rootSessionId": asks["id"],
            "agent": "demo",
            "repoId": repo["id"],
            "cwd": asks["cwd"],
        }
        assert ids(home["needs"]["failed"]) == [bad["id"]]
        assert ids(home["needs"]["review"]) == [good["id"]]
        assert (ids(home["running"]), ids(home["queued"])) == ([runs["id"]], [waits["id"]])
        (failed,) = home["needs"]["failed"]
        assert failed["lastTask"]["status"] == "failed"
        assert failed["lastTask"]["error"]["code"] == "agent_refused"
        assert (failed["unread"], failed["repoName"], failed["branch"]) == (True, "repo", "main")
        assert (home["running"][0]["branch"], home["running"][0]["unread"]) == ("side", False)
        assert (home["queued"][0]["queued"], home["queued"][0]["queuePaused"]) == (1, True)
        trees = {tree["session"]["id"]: tree for tree in home["trees"]}
        assert [tree["activeAt"] for tree in home["trees"]] == sorted(
            (tree["activeAt"] for tree in home["trees"]), reverse=True
        )
        assert trees.keys() == {item["id"] for item in (good, bad, asks, runs, waits)}
        counted = {
            name: [item[name] for item in (trees[asks["id"]], trees[runs["id"]], trees[good["id"]])]
            for name in ("sessions", "running", "asking", "queued", "unread")
        }
        assert counted == {
            "sessions": [1, 1, 1],
            "running": [0, 1, 0],
            "asking": [1, 0, 0],
            "queued": [0, 0, 0],
            "unread": [0, 0, 1],
        }
        # Archived sessions need no attention, and their trees are not listed.
        await client.post(f"/api/sessions/{bad['id']}/archive")
        home = await client.get("/api/home")
        assert home["counts"]["failed"] == 0
        assert bad["id"] not in {tree["session"]["id"] for tree in home["trees"]}


async def test_titles_and_prompts_are_shortened(server: Running) -> None:
    """O4: A session without a title is shown by the first line of its first prompt; long prompts are shortened."""
    repo = await server.client.repo(server.repo())
    long = "\n\n  " + "x" * 300 + "\nsecond"
    session = await server.client.session(repo["id"], initialPrompt=f"{long}\n[[hang]]")
    await server.client.wait_task(session["taskId"], "running")
    (tree,) = (await server.client.get("/api/home"))["trees"]
    # By now the agent may have set a title.
    assert tree["session"]["title"].startswith("x" * 40)
    assert len(tree["session"]["lastTask"]["prompt"]) == 200
    assert [first_line(item) for item in (long, " \n", " a \nb")] == ["x" * 119 + "…", "", "a"]


async def test_totals_use_the_readers_time_zone(server: Running) -> None:
    """O4: Totals for today, this week and all time use the reader's time zone, and include purged sessions."""
    client = server.client
    repo = await client.repo(server.repo())
    session = await ended(client, repo, "[[say one two three]]")
    used = await client.get(f"/api/sessions/{session['id']}")
    expected = {"turns": 1, "tokens": used["tokens"], "cost": used["spent"]}
    assert expected["tokens"] > 0
    totals = (await client.get("/api/home"))["totals"]
    assert totals == {"today": expected, "week": expected, "all": expected}
    # In a time zone where it is just after midnight, the day has only begun.
    now = datetime.now(UTC)
    minutes = (now.hour * 60 + now.minute) // 15 * 15
    ahead = 15 + (24 * 60 - minutes) if minutes > 12 * 60 else -minutes
    assert -900 <= ahead <= 900
    begun = parse(day_began(ahead))
    assert timedelta(0) <= now - begun < timedelta(days=1)
    assert quarter(day_began(ahead)) == day_began(ahead)[:16]
    await client.call("DELETE", f"/api/sessions/{session['id']}?purge=true")
    assert (await client.get("/api/home"))["totals"] == totals
    for wrong in ("901", "-901", "x"):
        refused(await client.http.get(f"/api/home?tz={wrong}"), 400)
    with pytest.raises(Invalid, match="tz must be"):
        day_began(901)


async def test_reported_children_need_no_review(server: Running) -> None:
    """O4: A parent needs review once all its children are idle; a child needs attention only if it failed or its report
    was held, and a side question never does."""
    client = server.client
    repo = await client.repo(server.repo())
    root = await ended(client, repo, "[[say one]]", title="root")
    child = await client.post(f"/api/sessions/{root['id']}/spawn", {"prompt": HANG, "title": "child"})
    await client.wait_task(child["taskId"], "running")
    home = await client.get("/api/home")
    assert (home["needs"]["review"], ids(home["running"])) == ([], [child["sessionId"]])
    await client.post(f"/api/sessions/{child['sessionId']}/stop")
    await client.post("/api/wait", {"sessionIds": [root["id"], child["sessionId"]]})
    await client.prompt(child["sessionId"], "[[say done]]")
    await client.post("/api/wait", {"sessionIds": [child["sessionId"]]})
    await client.post("/api/wait", {"sessionIds": [root["id"]]})
    aside = await client.post(f"/api/sessions/{root['id']}/btw", {"prompt": "[[say well]]"})
    await client.wait_task(aside["taskId"])
    home = await client.get("/api/home")
    assert ids(home["needs"]["review"]) == [root["id"]]
    nodes = {session["id"]: session for session in (await client.get(f"/api/sessions/{root['id']}/tree"))["sessions"]}
    assert [nodes[item]["unread"] for item in (root["id"], child["sessionId"])] == [True, True]
    assert [nodes[item]["promptedByAgent"] for item in (root["id"], child["sessionId"])] == [True, False]
    assert {node["createdBy"] for node in nodes.values()} == {"person"}
    (tree,) = home["trees"]
    assert (tree["sessions"], tree["unread"]) == (3, 3)
    failing = await client.prompt(child["sessionId"], "[[fail again]]")
    await client.wait_task(failing)
    await client.post("/api/wait", {"sessionIds": [root["id"]]})
    home = await client.get("/api/home")
    assert ids(home["needs"]["failed"]) == [child["sessionId"]]
    # Once the parent has ended, its child's reports are held for a person to read.
    await client.post(f"/api/sessions/{root['id']}/complete")
    await client.wait_task(await client.prompt(child["sessionId"], "[[say alone]]"))
    home = await client.get("/api/home")
    assert set(ids(home["needs"]["review"])) == {root["id"], child["sessionId"]}


async def test_seen_is_recorded_once(tmp_path: Path, database_url: str) -> None:
    """O4: Marking a session as seen covers every turn that has ended; repeating it writes nothing; a new turn makes it
    unread."""
    async with serving(tmp_path, database=database_url) as server:
        client = server.client
        repo = await client.repo(server.repo())
        session = await ended(client, repo, "[[say one]]")
        address = f"/api/sessions/{session['id']}"
        before = await client.get(address)
        assert before["seenAt"] is None
        listed = await client.get("/api/sessions")
        assert listed == await client.get("/api/sessions")
        async with client.events(session["id"]) as events:
            seen = await client.post(f"{address}/seen")
            assert seen["seenAt"] > before["updatedAt"]
            assert seen["activeAt"] == before["activeAt"]
            assert await client.post(f"{address}/seen") == seen
            assert (await client.get("/api/home"))["counts"]["review"] == 0
            # Lists and the session itself show the new value, not a cached one.
            assert (await client.get("/api/sessions"))["sessions"][0]["seenAt"] == seen["seenAt"]
            assert (await client.get(address))["seenAt"] == seen["seenAt"]
            await client.call("PATCH", address, json={"title": "renamed"})
            await events.until(lambda event: event["data"].get("title") == "renamed")
            patched = [item["data"]["seenAt"] for item in events.seen if item["type"] == "session.patched"]
            assert patched == [seen["seenAt"]] * 2
        await client.ask(session["id"], "[[say two]]")
        (again,) = (await client.get("/api/home"))["needs"]["review"]
        assert (again["id"], again["unread"]) == (session["id"], True)
        later = await client.post(f"{address}/seen", {"idempotencyKey": "once"})
        assert later["seenAt"] > seen["seenAt"]
        # A fork starts unseen.
        fork = await client.post(f"{address}/fork", {})
        assert (await client.get(f"/api/sessions/{fork['sessionId']}"))["seenAt"] is None
        # A stopped turn does not make a session unread.
        stopping = await client.prompt(session["id"], HANG)
        await client.wait_task(stopping, "running")
        await client.post(f"{address}/stop")
        assert (await client.get("/api/home"))["counts"]["review"] == 0


async def test_sessions_cannot_mark_as_seen(server: Running) -> None:
    """O4: An agent cannot mark a session as seen by a person."""
    client = server.client
    repo = await client.repo(server.repo())
    session = await ended(client, repo, "[[say one]]")
    with pytest.raises(Denied) as denied:
        await server.services.sessions.see(Caller("session", session["id"]), session["id"])
    assert denied.value.code == "seen_for_people"
    assert (await client.get(f"/api/sessions/{session['id']}"))["seenAt"] is None
    refused(await client.http.post("/api/sessions/01a1e0bf-1d08-73fd-b151-8a173b3f4b4f/seen", json={}), 404)


async def test_lists_are_bounded_and_counts_are_not(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """O4: Each list is limited to what the page can show, and the counts are complete."""
    assert (MOST, module.MOST_TREES) == (50, 20)
    monkeypatch.setattr(module, "MOST", 1)
    monkeypatch.setattr(module, "MOST_TREES", 2)
    client = server.client
    repo = await client.repo(server.repo())
    made = [await ended(client, repo, f"[[say {number}]]") for number in range(3)]
    home = await client.get("/api/home")
    assert (ids(home["needs"]["review"]), home["counts"]["review"]) == ([made[2]["id"]], 3)
    assert [tree["session"]["id"] for tree in home["trees"]] == [made[2]["id"], made[1]["id"]]


async def test_the_tour(server: Running, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """O1, O4: The tour creates one small repository, whatever the user's git configuration, and removes it with its
    sessions."""
    client = server.client
    config = tmp_path / "gitconfig"
    config.write_text("[user]\n\tname = Somebody\n[commit]\n\tgpgsign = true\n[init]\n\tdefaultBranch = trunk\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    foreign = server.root / "bough-tour"
    foreign.mkdir()
    (foreign / "mine.txt").write_text("mine")
    tour = await client.post("/api/tour", expect=201)
    assert await client.post("/api/tour") == tour
    path = server.root / "bough-tour-2"
    assert tour["path"] == str(path)
    assert git(path, "log", "--format=%an %s").strip() == "Bough A small project to try Bough in"
    assert git(path, "status", "--porcelain") == ""
    assert set(git(path, "ls-files").split()) == {".gitignore", "README.md", "greeting.py", "test_greeting.py"}
    assert (await client.get(f"/api/repos/{tour['repoId']}"))["name"] == "tour"
    done = await client.session(tour["repoId"], initialPrompt="[[write greeting.py x]]")
    await client.wait_task(done["taskId"])
    busy = await client.session(tour["repoId"], worktree={"branch": "b"}, initialPrompt=f"[[write n.py x]]{HANG}")
    await client.wait_task(busy["taskId"], "running")
    await client.post(f"/api/sessions/{busy['id']}/spawn", {"prompt": "[[say hi]]"})
    gone = await client.call("DELETE", "/api/tour")
    assert gone == {"repoId": tour["repoId"], "path": str(path), "sessions": 3, "folderRemoved": True}
    assert not is_folder(str(path))
    assert (foreign / "mine.txt").read_text() == "mine"
    assert [(await client.get(f"/api/{noun}"))["total"] for noun in ("sessions", "worktrees", "repos")] == [0, 0, 0]
    nothing = {"repoId": None, "path": None, "sessions": 0, "folderRemoved": False}
    assert await client.call("DELETE", "/api/tour") == nothing


async def test_the_tour_never_takes_an_existing_folder(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """O1: A folder that appears at the last moment is left as it is, and the tour uses another name."""
    places = tour_module._folders  # pyright: ignore[reportPrivateUsage]
    taken = server.root / "bough-tour"

    def late(root: Path) -> list[Path]:
        """Creates the folder just after the tour has found the name free."""
        listed = places(root)

        class Late(type(listed[0])):
            def mkdir(self, *args: Any, **options: Any) -> None:
                taken.mkdir(exist_ok=True)
                (taken / "mine.txt").write_text("mine")
                super().mkdir(*args, **options)

        return [Late(listed[0]), *listed[1:]]

    monkeypatch.setattr(tour_module, "_folders", late)
    tour = await server.client.post("/api/tour", expect=201)
    assert tour["path"] == str(server.root / "bough-tour-2")
    assert [path.name for path in taken.iterdir()] == ["mine.txt"]
