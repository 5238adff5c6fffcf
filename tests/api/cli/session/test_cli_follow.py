"""Tests following a turn with the real program: streaming, approvals, detaching and reconnecting."""

from __future__ import annotations

import asyncio
import json
import signal
from typing import Any

from tests.api.cli.cli_program import Cli, start
from tests.api.cli.cli_terminal import line_to, terminal
from tests.support.eventually import eventually
from tests.support.server import Running


async def test_follow_prints_the_turn(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """O5: `prompt -f` prints what the agent says and does, returns when the turn ends, and omits other turns."""
    await server.client.ask(session["id"], "[[say earlier]]")
    turn = "[[think hm]] [[say ünï 🙂]] [[plan A; B]] [[write x.txt hi]]"
    result = await cli("session", "prompt", session["id"], turn, "-f")
    path = f"{server.root}/repo/x.txt"
    assert (result.code, result.out) == (0, f"hm\n\nünï 🙂\n\nPlan\n○ A\n○ B\n\n✓ Write {path}\n")


async def test_follow_reports_a_failure(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """L4: A failed turn exits with 1 and prints one sentence on stderr."""
    failed = await cli("session", "prompt", session["id"], "[[say so far]] [[fail no luck]]", "-f")
    assert (failed.code, failed.out) == (1, "so far\n")
    assert failed.err.startswith("The turn failed: ") and "no luck" in failed.err


async def test_a_new_session_is_followed(server: Running, cli: Cli) -> None:
    """Q2, O5: `session new -p … -f` creates a session, prompts it and follows the turn in one command."""
    result = await cli("session", "new", "-p", "hello", "-f", "-r", str(server.repo()))
    assert (result.code, result.out) == (0, 'You said "hello". This is user turn 1.\n')


async def test_json_follow_prints_one_event_per_line(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """O5: With --json, -f prints the session's events, one per line, until the turn ends."""
    result = await cli("session", "prompt", session["id"], "[[say a]] [[slow 3 0.05]]", "-f", "--json")
    events = [json.loads(row) for row in result.out.splitlines()]
    types = [event["type"] for event in events]
    assert result.code == 0 and {"task.created", "message.created", "message.patched"} <= set(types)
    assert (types[-1], events[-1]["data"]["status"]) == ("task.patched", "completed")
    cursors = [event["cursor"] for event in events if "objectId" in event]
    assert cursors == sorted(set(cursors))


async def test_follow_waits_behind_another_turn(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """Q1: Following a prompt to a busy session starts with its own turn, not with the one before it."""
    await server.client.prompt(session["id"], "[[run echo first]]")
    asked = await server.client.approval(session["id"])
    async with server.client.events(session["id"]) as events:
        command = asyncio.create_task(cli("session", "prompt", session["id"], "[[say second]]", "-f"))
        await events.until(lambda event: event["type"] == "task.created")
    await server.client.post(f"/api/approvals/{asked['id']}", {"decision": "allow"})
    ended = await command
    assert ended.code == 0 and ended.out.endswith("second\n") and "✓" not in ended.out


async def test_a_question_is_printed_with_its_command(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """P4: Without a terminal, the question is printed with a working command that answers it."""
    program = await start("session", "prompt", session["id"], "[[run echo x]]", "-f", BOUGH_DATA=str(server.data))
    await program.until("(or deny)")
    line = next(row for row in program.out.splitlines() if "Answer: bough" in row)
    command = line.partition("bough ")[2].split()[:3]
    assert command[:2] == ["approval", "allow"]
    assert (await cli(*command)).code == 0
    ended = await program.end()
    assert (ended.code, ended.out.splitlines()[-4:]) == (0, ["✓ echo x", "  x", "", "  exit code: 0"])


async def test_a_person_is_asked_at_the_terminal(server: Running, session: dict[str, Any]) -> None:
    """P4, O5: At a terminal the question is asked inline; an invalid answer is asked again, and a denial does not end
    the turn."""
    turn = "[[run echo one]] [[run echo two]] [[say done]]"
    async with terminal("session", "prompt", session["id"], turn, "-f", BOUGH_DATA=str(server.data)) as screen:
        await screen.until("(n): ")
        screen.type("perhaps\n")
        await screen.until("(n): ", 2)
        screen.type("y\n")
        await screen.until("(n): ", 3)
        screen.type("deny\n")
        assert await screen.end() == 0
        await screen.until("done")
        assert "execute: echo two" in screen.screen
    page = await server.client.get("/api/approvals")
    assert [approval["decision"] for approval in page["approvals"]] == ["allow", "deny"]


async def test_an_answer_from_elsewhere_closes_the_question(server: Running, session: dict[str, Any]) -> None:
    """P4: The first answer wins; a terminal that is still asking says so and continues."""
    prompt = ("session", "prompt", session["id"], "[[run echo one]] [[say done]]", "-f")
    async with terminal(*prompt, BOUGH_DATA=str(server.data)) as screen:
        await screen.until("(n): ")
        asked = await server.client.approval(session["id"])
        await server.client.post(f"/api/approvals/{asked['id']}", {"decision": "allow_always"})
        assert await screen.end() == 0
        await screen.until("done")
        assert "Answered elsewhere: allowed." in screen.screen


async def test_ctrl_c_detaches(server: Running, session: dict[str, Any]) -> None:
    """O5: Ctrl-C detaches and says so while the turn continues; the exit code is 1 because the outcome is unknown."""
    prompt = ("session", "prompt", session["id"], "[[say begun]] [[hang]]", "-f")
    async with terminal(*prompt, BOUGH_DATA=str(server.data)) as screen:
        await screen.until("begun")
        screen.type("\x03")
        assert await screen.end() == 1
        await screen.until("Detached; the turn continues.")
        assert "Traceback" not in screen.screen
    page = await server.client.get(f"/api/tasks?sessionId={session['id']}")
    assert [task["status"] for task in page["tasks"]] == ["running"]
    await server.client.post(f"/api/sessions/{session['id']}/stop")


async def test_a_lost_connection_loses_and_repeats_nothing(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """A3, O5: A follower whose connection drops continues from its cursor and prints each piece of text once."""
    async with line_to(server) as line:
        where = ("--url", line.url, "--token", server.token)
        async with server.client.events(session["id"]) as events:
            command = asyncio.create_task(cli("session", "prompt", session["id"], "[[slow 40 1.5]]", "-f", *where))
            for seen, missed in (("tick 5", "tick 9"), ("tick 20", "tick 24")):
                await events.until(lambda event, text=seen: text in event.get("text", ""))
                line.cut()
                await events.until(lambda event, text=missed: text in event.get("text", ""))
                line.mend()
        ended = await command
    assert ended.code == 0
    assert ended.out.split() == [word for number in range(1, 41) for word in ("tick", str(number))]
    assert ended.err.count("Connection lost") == 2 and ended.err.count("Reconnected.") == 2


async def test_the_end_of_a_turn_is_not_missed(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """A3: A turn that ends while the connection is down is reported after reconnecting."""
    async with line_to(server) as line:
        where = ("--url", line.url, "--token", server.token)
        turn = ("session", "prompt", session["id"], "[[say a]] [[run echo b]] [[say c]]", "-f")
        command = asyncio.create_task(cli(*turn, *where))
        asked = await server.client.approval(session["id"])
        line.cut()
        await server.client.post(f"/api/approvals/{asked['id']}", {"decision": "allow"})
        await server.client.wait_task(asked["taskId"])
        line.mend()
        ended = await command
    rows = ended.out.splitlines()
    assert ended.code == 0 and rows[0] == "a" and rows.count("c") == rows.count("✓ echo b") == 1


async def test_watching_a_session(server: Running, session: dict[str, Any]) -> None:
    """O5: `session watch` starts with the running turn and shows later ones with their prompts, until Ctrl-C."""
    client = server.client
    running = await client.prompt(session["id"], "[[say under way]] [[run echo x]]")
    asked = await client.approval(session["id"])
    program = await start("session", "watch", session["id"], BOUGH_DATA=str(server.data))
    await program.until("(or deny)")
    assert program.out.startswith("> [[say under way]] [[run echo x]]\n\nunder way\n")
    await client.post(f"/api/approvals/{asked['id']}", {"decision": "allow"})
    await client.wait_task(running)
    await client.ask(session["id"], "[[say next]]")
    await program.until("> [[say next]]\n\nnext\n")
    program.process.send_signal(signal.SIGINT)
    ended = await program.end()
    assert (ended.code, ended.out.count("under way\n")) == (0, 1)
    assert "Stopped watching; the session continues." in ended.err and "Traceback" not in ended.err


async def test_watching_everything(server: Running, session: dict[str, Any]) -> None:
    """O5: `bough watch` prints a line per event, even after reconnecting; with --json it prints the events
    themselves."""
    async with line_to(server) as line:
        people = await start("watch", "--url", line.url, BOUGH_TOKEN=server.token)
        script = await start("watch", "--session", session["id"], "--json", BOUGH_DATA=str(server.data))
        await script.until("stream.ready")
        renamed = f"/api/sessions/{session['id']}"
        await people.until_noted("Press Ctrl-C to stop.")
        await server.client.call("PATCH", renamed, json={"title": "before"})
        await people.until("before")
        line.cut()
        await server.client.call("PATCH", renamed, json={"title": "while it was cut"})
        line.mend()
        await people.until("while it was cut")
    row = next(row for row in people.out.splitlines() if "while it was cut" in row)
    assert row.split()[1:4] == ["session.patched", session["id"][-8:], "not_started"]
    await script.until("while it was cut")
    assert all(json.loads(row)["type"] for row in script.out.splitlines())
    for program in (people, script):
        program.process.send_signal(signal.SIGINT)
        ended = await program.end()
        assert ended.code == 0 and ended.err.endswith("Stopped watching; running turns continue.\n")


async def test_watching_a_session_that_has_ended(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """O5: `session watch` of a session that does nothing shows its last turn; it returns if the session has ended."""
    await server.client.ask(session["id"], "[[say first turn]]")
    await server.client.ask(session["id"], "[[say last turn]]")
    program = await start("session", "watch", session["id"], BOUGH_DATA=str(server.data))
    await program.until("> [[say last turn]]\n\nlast turn\n")
    program.process.send_signal(signal.SIGINT)
    assert "first turn" not in (await program.end()).out
    await server.client.post(f"/api/sessions/{session['id']}/complete")
    watched = await cli("session", "watch", session["id"])
    assert (watched.code, watched.out) == (0, "> [[say last turn]]\n\nlast turn\n")
    assert "The session is completed. Reopen it: bough session resume" in watched.err


async def test_what_was_followed_is_read(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """O5: A turn that somebody followed to its end, or watched, is not unread; one that a script followed is."""

    async def unread() -> int:
        return (await server.client.get("/api/home"))["counts"]["review"]

    async def is_read() -> bool:
        return await unread() == 0

    assert (await cli("session", "prompt", session["id"], "[[say a]]", "-f")).code == 0
    assert await unread() == 0
    assert (await cli("session", "prompt", session["id"], "[[say b]]", "-f", "--json")).code == 0
    assert await unread() == 1
    program = await start("session", "watch", session["id"], BOUGH_DATA=str(server.data))
    await eventually(is_read)
    await server.client.ask(session["id"], "[[say c]]")
    await program.until("> [[say c]]")
    await eventually(is_read)
    program.process.send_signal(signal.SIGINT)
    assert (await program.end()).code == 0


async def test_a_question_shows_the_change(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """P4, O5: A question about an edit shows its diff, at the terminal where it is asked and in `approval show`."""
    await server.client.call("PATCH", f"/api/sessions/{session['id']}", json={"permissionMode": "ask"})
    (server.root / "repo" / "bird.txt").write_text("sparrow\nrobin\n")
    turn = "[[write bird.txt sparrow\nwren\n]]"
    async with terminal("session", "prompt", session["id"], turn, "-f", BOUGH_DATA=str(server.data)) as screen:
        await screen.until("(n): ")
        asked = await server.client.approval(session["id"])
        plain = screen.screen
        screen.type("y\n")
        assert await screen.end() == 0
    shown = (await cli("approval", "show", asked["id"])).out
    for text in ("-robin", "+wren"):
        assert text in plain and text in shown, plain
