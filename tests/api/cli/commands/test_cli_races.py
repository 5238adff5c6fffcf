"""Tests `bough race`."""

from __future__ import annotations

import json
from typing import Any

from tests.api.cli.cli_program import Cli
from tests.support.server import Running


async def test_a_race_from_start_to_end(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """B6, O5: A race can be started, shown, compared and decided, each with --json too."""
    started = await cli(
        "race", "start", session["id"], "[[write a.txt one]]", "--with", "demo", "-w", "demo:demo-large"
    )
    assert started.code == 0 and "bough race show" in started.out
    race = started.out.split()[-1]
    state = await server.client.get(f"/api/races/{race}")
    for contender in state["contenders"]:
        await server.client.wait_task(contender["taskId"])
    shown = (await cli("race", "show", race)).out
    assert "demo:demo-large" in shown and shown.count("+1 -0") == 2 and "completed" in shown
    assert (await cli("race", "show", race, "--diff")).out.count("+one") == 2
    first, second = (contender["sessionId"] for contender in state["contenders"])
    assert (await cli("race", "show", race, "--session", first)).out.count("+one") == 1
    whole = json.loads((await cli("race", "show", race, "--diff", "--json")).out)
    assert [contender["diff"]["additions"] for contender in whole["contenders"]] == [1, 1]
    decision = await cli("race", "keep", race, second[-12:])
    assert "merged into main" in decision.out and "bough worktree recover" in decision.out
    assert (server.root / "repo" / "a.txt").read_text() == "one"
    assert json.loads((await cli("race", "keep", race, second, "--json")).out)["merged"] == "fast_forward"
    again = await cli("race", "keep", race, first)
    assert again.code == 1 and "(race_decided)" in again.err


async def test_the_result_is_kept_as_uncommitted_changes(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """B6, O5: A race with spawned racers can be kept as uncommitted changes, and says how to undo that."""
    arguments = (
        "race",
        "start",
        session["id"],
        "[[write a.txt one]]",
        "-w",
        "",
        "-w",
        "",
        "--spawn",
        "--title",
        "Birds",
    )
    begun = json.loads((await cli(*arguments, "--json")).out)
    for item in begun["sessions"]:
        await server.client.wait_task(item["taskId"])
    made = await server.client.get(f"/api/sessions/{begun['sessions'][0]['sessionId']}")
    assert (made["kind"], made["title"], made["agent"]) == ("subsession", "Birds (1)", "demo")
    decision = await cli("race", "keep", begun["raceId"], made["id"], "--how", "checkout")
    assert "uncommitted changes" in decision.out
    undo = next(line for line in decision.out.splitlines() if line.startswith("To undo this: "))
    assert (await cli(*undo.removeprefix("To undo this: bough ").split())).out.startswith("removed  a.txt")
    alone = await cli("race", "start", session["id"], "x", "-w", "demo")
    assert alone.code == 1 and "(bad_request)" in alone.err


async def test_races_are_listed(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """B6, O5: `race list` shows all races, newest first, or those of one tree, over REST too."""
    assert "No races" in (await cli("race", "list")).out
    other = await server.client.session(session["repoId"], title="other")
    started: list[dict[str, Any]] = []
    for name, source in (("one", session["id"]), ("two", other["id"])):
        arguments = ("race", "start", source, f"[[say {name}]]", "-w", "demo", "-w", "demo", "--json")
        started.append(json.loads((await cli(*arguments)).out))
    listed = await cli("race", "list")
    rows = listed.out.splitlines()[1:]
    assert [row.split()[0] for row in rows] == [race["raceId"][-8:] for race in reversed(started)]
    assert "[[say two]]" in rows[0] and other["id"][-8:] in rows[0]
    of_tree = await cli("race", "list", "--session", session["id"])
    assert "[[say one]]" in of_tree.out and "[[say two]]" not in of_tree.out
    page = await server.client.get("/api/races?limit=1&offset=1")
    assert (page["total"], [race["raceId"] for race in page["races"]]) == (2, [started[0]["raceId"]])
    assert page["races"][0]["sessionIds"] == [racer["sessionId"] for racer in started[0]["sessions"]]
    assert json.loads((await cli("race", "list", "--json")).out)["total"] == 2


async def test_a_race_has_names(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """R5, B6: A race is found by its title, its prompt and the title of its session, as long as no other race has it;
    an error about several races hides secret values in their prompts."""
    await server.client.call("PATCH", f"/api/sessions/{session['id']}", json={"env": {"KEY": "hush-hush-42"}})

    async def start(prompt: str, *title: str) -> str:
        words = ("race", "start", session["id"], prompt, "-w", "demo", "-w", "demo", *title, "--json")
        return json.loads((await cli(*words)).out)["raceId"]

    birds = await start("[[say hush-hush-42]]", "--title", "Birds")
    for name in ("Birds", "Birds (2)", "first", "[[say hush-hush-42]]"):
        shown = await cli("race", "show", name, "--json")
        assert shown.code == 0 and json.loads(shown.out)["raceId"] == birds, (name, shown)
    trees = await start("[[say trees]]")
    assert json.loads((await cli("race", "show", "[[say trees]]", "--json")).out)["raceId"] == trees
    both = await cli("race", "show", "first")
    assert both.code == 1 and "(ambiguous_name)" in both.err, both
    assert birds[-8:] in both.err and trees[-8:] in both.err and "hush-hush" not in both.err, both
    nothing = await cli("race", "show", "Bird")
    assert nothing.code == 1 and "(race_not_found)" in nothing.err, nothing


async def test_racers_with_a_wider_mode_are_warned_of(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """5e, B6: A person may give racers a mode that grants more than the session's, and is warned once, by its short
    id; so are those who fork."""
    warned = f"Warning: Mode bypassPermissions grants more than acceptEdits, the mode of session {session['id'][-8:]}."
    wide = ("--mode", "bypassPermissions")
    started = await cli("race", "start", session["id"], "[[say x]]", "-w", "demo", "-w", "demo", *wide)
    assert started.code == 0 and started.err.count(warned) == 1, started
    assert warned in (await cli("session", "fork", session["id"], *wide)).err
    assert "Warning" not in (await cli("session", "fork", session["id"], "--mode", "plan")).err
