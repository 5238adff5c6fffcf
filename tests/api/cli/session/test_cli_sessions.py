"""Tests `bough session`: every command does what its REST call does, for people and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.api.cli.cli_program import Cli, bough
from tests.support.images import PNG
from tests.support.server import Running, serving


async def test_json_is_the_response_of_rest(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """O5: --json prints exactly the REST response, as one document."""
    for arguments, path in (
        (("session", "list"), "/api/sessions?archived=false&limit=20&offset=0"),
        (("session", "show", session["id"]), f"/api/sessions/{session['id']}"),
        (("repo", "list"), "/api/repos"),
        (("task", "list"), "/api/tasks"),
        (("approval", "list"), "/api/approvals?status=pending"),
        (("agents",), "/api/agents"),
    ):
        result = await cli(*arguments, "--json")
        answer = await server.client.http.get(path)
        assert (result.code, result.out) == (0, answer.text + "\n")


async def test_a_session_in_a_subfolder(server: Running) -> None:
    """R4b: `session new` in a folder of a repo works in exactly that folder; `--folder` names one."""
    folder = server.repo("here")
    (folder / "a" / "b").mkdir(parents=True)
    data = str(server.data)
    for words, where in (((), "a"), (("--folder", "a/b"), "a/b"), (("--repo", str(folder / "a" / "b")), "a/b")):
        made = await bough("session", "new", "--json", *words, cwd=folder / "a", BOUGH_DATA=data)
        assert (made.code, json.loads(made.out)["cwd"]) == (0, str(folder / where))
    apart = await bough("session", "new", "--json", "--worktree", "side", cwd=folder / "a", BOUGH_DATA=data)
    assert json.loads(apart.out)["cwd"] == str(folder / ".worktrees" / "side")
    assert (await server.client.get("/api/repos"))["total"] == 1


async def test_a_session_in_the_current_folder(server: Running) -> None:
    """O5: `session new` uses the current folder, and registers it if needed."""
    folder = server.repo("here")
    made = await bough(
        "session", "new", "--title", "t", "--env", "A=b", "--json", cwd=folder, BOUGH_DATA=str(server.data)
    )
    opened = json.loads(made.out)
    assert (made.code, opened["cwd"], opened["title"], opened["env"]) == (0, str(folder), "t", {"A": "***"})
    again = await bough("session", "new", cwd=folder, BOUGH_DATA=str(server.data))
    assert "acceptEdits" in again.out and str(folder) in again.out
    repos = (await server.client.get("/api/repos"))["repos"]
    assert [repo["path"] for repo in repos] == [str(folder)]


async def test_an_idle_session_makes_room(tmp_path: Path) -> None:
    """T5, O5: At the limit, `session new`, `resume`, `prompt --resume`, `task retry` and `review send --resume`
    complete the session that has been idle longest and say which one; with `--no-make-room` they are refused and say
    what to do."""
    async with serving(tmp_path, max_sessions=1) as server:
        folder, data = server.repo("here"), str(server.data)
        first = await bough("session", "new", "--title", "the first", "--json", cwd=folder, BOUGH_DATA=data)
        short_id = json.loads(first.out)["id"][-8:]
        refusal = await bough("session", "new", "--no-make-room", cwd=folder, BOUGH_DATA=data)
        assert refusal.code == 1
        assert "bough session complete SESSION" in refusal.err and "--max-sessions" in refusal.err
        made = await bough("session", "new", cwd=folder, BOUGH_DATA=data)
        assert (made.code, f"To make room, completed session {short_id} (the first)" in made.err) == (0, True)
        second_id = (await server.client.get("/api/sessions?status=active"))["sessions"][0]["id"][-8:]
        for words in (("resume", short_id), ("prompt", short_id, "hello", "--resume")):
            refusal = await bough("session", *words, "--no-make-room", cwd=folder, BOUGH_DATA=data)
            assert (refusal.code, "limit is 1" in refusal.err) == (1, True)
        resumed = await bough("session", "resume", short_id, "--json", cwd=folder, BOUGH_DATA=data)
        assert (resumed.code, json.loads(resumed.out)["madeRoom"]["id"][-8:]) == (0, second_id)
        prompted = await bough("session", "prompt", second_id, "hello", "--resume", cwd=folder, BOUGH_DATA=data)
        assert (prompted.code, f"To make room, completed session {short_id} (the first)" in prompted.err) == (0, True)

        # Each of the two resumes the first session in the place of the second, which is resumed again after it.
        client, review = server.client, ("--session", short_id)
        # Only an idle session makes room.
        await client.wait_task((await client.get(f"/api/sessions/{second_id}/tasks"))["tasks"][-1]["id"])
        await bough("session", "resume", short_id, cwd=folder, BOUGH_DATA=data)
        first_id = json.loads(first.out)["id"]
        task = await client.ask(first_id, "[[write a.txt one]] [[fail no]]")
        assert (await bough("review", "comment", "a.txt:1", "Why?", *review, cwd=folder, BOUGH_DATA=data)).code == 0
        for words in (("task", "retry", task["id"]), ("review", "send", *review, "--to", short_id, "--resume")):
            await bough("session", "resume", second_id, cwd=folder, BOUGH_DATA=data)
            refusal = await bough(*words, "--no-make-room", cwd=folder, BOUGH_DATA=data)
            assert (refusal.code, "limit is 1" in refusal.err) == (1, True)
            sent = await bough(*words, cwd=folder, BOUGH_DATA=data)
            assert (sent.code, f"To make room, completed session {second_id}" in sent.err) == (0, True)
            tasks = (await client.get(f"/api/sessions/{first_id}/tasks"))["tasks"]
            await client.wait_task(tasks[-1]["id"])


async def test_a_refused_session_registers_no_repo(server: Running) -> None:
    """R1, O5: If the session is refused, the folder is not registered for it; one that was registered before stays."""
    folder, data = server.repo("here"), str(server.data)
    wrong = ("session", "new", "--agent", "nobody")
    refusal = await bough(*wrong, cwd=folder, BOUGH_DATA=data)
    assert (refusal.code, "nobody" in refusal.err) == (1, True)
    assert (await server.client.get("/api/repos"))["total"] == 0
    await server.client.repo(folder)
    assert (await bough(*wrong, cwd=folder, BOUGH_DATA=data)).code == 1
    assert (await bough(*wrong, "--repo", "00000000", cwd=folder, BOUGH_DATA=data)).code == 1
    assert (await server.client.get("/api/repos"))["total"] == 1


async def test_list_filters(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """O5: Filters lists by repository (a path or an id), status and archive; ids can be used as they are shown."""
    other = await server.client.repo(server.repo("other"))
    second = await server.client.session(other["id"], title="second")
    by_path = await cli("session", "list", "--repo", str(server.root / "other" / "."))
    assert "second" in by_path.out and "first" not in by_path.out
    by_id = await cli("session", "list", "--repo", session["repoId"])
    assert "first" in by_id.out and "second" not in by_id.out
    shown = by_path.out.splitlines()[1].split()[0]
    row = json.loads((await cli("session", "show", shown, "--json")).out)
    assert row["id"] == second["id"]
    await cli("session", "complete", shown)
    ended = await cli("session", "list", "--status", "completed")
    assert "second" in ended.out and "first" not in ended.out
    assert (await cli("session", "archive", shown)).out == f"Session {shown} is archived.\n"
    assert "second" not in (await cli("session", "list")).out
    assert "second" in (await cli("session", "list", "--archived")).out
    assert (await cli("session", "archive", shown, "--undo")).code == 0
    assert "second" in (await cli("session", "list")).out
    paged = await cli("session", "list", "--limit", "1")
    assert "1 of 2 shown. For more, add --offset 1." in paged.err


async def test_show_has_queue_and_transcript(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """O5: `session show` prints the session, its queue and the end of the transcript."""
    client = server.client
    for number in range(4):
        await client.ask(session["id"], f"[[say answer {number}]]")
    running = await client.prompt(session["id"], "[[hang]]")
    await client.wait_task(running, "running")
    later = await client.prompt(session["id"], "later please")
    shown = await cli("session", "show", session["id"], "--limit", "3")
    assert "Queue\n" in shown.out and "later please" in shown.out
    assert "answer 3" in shown.out and "answer 1" not in shown.out and "6 earlier messages" in shown.out
    whole = await cli("session", "show", session["id"], "--all")
    assert whole.out.index("> [[say answer 0]]") < whole.out.index("\nanswer 0\n") < whole.out.index("\nanswer 3\n")
    # A queued prompt is not part of the conversation yet.
    assert whole.out.count("later please") == 1
    stopped = await cli("session", "stop", session["id"])
    assert stopped.out.endswith("is cancelled. The queue is paused.\n")
    assert "Queue (paused)" in (await cli("session", "show", session["id"])).out
    assert (await cli("session", "resume", session["id"])).code == 0
    # Nothing waits behind this turn.
    await client.wait_task(later)
    alone = await client.prompt(session["id"], "[[hang]]")
    await client.wait_task(alone, "running")
    assert (await cli("session", "stop", session["id"])).out.endswith("is cancelled.\n")


async def test_set_changes_only_what_is_given(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """O5: `session set` changes title, mode, model, effort and variables, and nothing else."""
    known = session["id"]
    flags = ("--title", "new", "--mode", "plan", "--model", "demo-large", "--effort", "high", "--env", "X=1")
    assert (await cli("session", "set", known, *flags)).code == 0
    row = await server.client.get(f"/api/sessions/{known}")
    names = ("title", "permissionMode", "model", "effort", "env", "description")
    assert [row[name] for name in names] == ["new", "plan", "demo-large", "high", {"X": "***"}, ""]
    await cli("session", "set", known, "--model", "", "--no-env", "--pause")
    row = await server.client.get(f"/api/sessions/{known}")
    assert (row["model"], row["env"], row["queuePaused"], row["effort"]) == (None, {}, True, "high")
    assert (await cli("session", "set", known)).code == 2
    assert (await cli("session", "set", known, "--env", "novalue")).code == 2
    assert (await cli("session", "set", known, "--mode", "nonsense")).code == 2


async def test_rm_cancels_and_purge_asks(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """O5, T3: `rm` cancels a session; `rm --purge` deletes it for good, after confirmation or with --yes."""
    known = session["id"]
    assert "is cancelled" in (await cli("session", "rm", known)).out
    assert (await server.client.get(f"/api/sessions/{known}"))["status"] == "cancelled"
    asked = await cli("session", "rm", known, "--purge", stdin="n\n")
    assert asked.code == 1 and "Permanently delete" in asked.err
    assert (await server.client.get(f"/api/sessions/{known}"))["status"] == "cancelled"
    assert (await cli("session", "rm", known, "--purge", "--yes")).code == 0
    await server.client.get(f"/api/sessions/{known}", expect=404)


async def test_prompts_of_an_ended_session(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """T2, L4: A refusal is one sentence with the server's code and exit code 1; `--resume` reopens; `-` reads the
    prompt from stdin."""
    known = session["id"]
    await cli("session", "complete", known)
    refused = await cli("session", "prompt", known, "hello")
    assert (refused.code, refused.out) == (1, "") and refused.err.endswith("(session_ended)\n")
    assert len(refused.err.splitlines()) == 1
    as_json = await cli("session", "prompt", known, "hello", "--json")
    assert as_json.code == 1 and json.loads(as_json.out)["error"]["code"] == "session_ended"
    sent = await cli("session", "prompt", known, "-", "--resume", "--json", stdin="from a pipe\n")
    await server.client.wait_task(json.loads(sent.out)["taskId"])
    assert await server.client.texts(known, "user") == ["from a pipe\n"]
    assert (await cli("session", "prompt", known, "no \udcff UTF-8")).code == 2


async def test_export(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """O5: Exports a session as Markdown or JSON, to stdout or a file."""
    await server.client.ask(session["id"], "[[say héllo]]")
    assert "héllo" in (await cli("export", session["id"])).out
    target = server.root / "out.json"
    written = await cli("export", session["id"], "--format", "json", "-o", str(target))
    assert (written.out, json.loads(target.read_text("utf-8"))["session"]["id"]) == ("", session["id"])
    printed = await cli("export", session["id"], "--json")
    assert json.loads(printed.out)["format"] == json.loads(target.read_text("utf-8"))["format"]
    nowhere = await cli("export", session["id"], "-o", str(server.root / "no" / "x.md"))
    assert nowhere.code == 1 and "Cannot write" in nowhere.err


async def test_files_go_with_prompts(server: Running, cli: Cli, session: dict[str, Any], tmp_path: Path) -> None:
    """O5, C1: `--file` attaches local files, also to the first prompt of a session or a branch."""
    shot, notes = tmp_path / "shot.png", tmp_path / "notes.txt"
    shot.write_bytes(PNG)
    notes.write_text("a note\n")
    known = session["id"]
    listed = f"shot.png (image/png, {len(PNG)} bytes), notes.txt (text/plain, 7 bytes)"
    sent = await cli("session", "prompt", known, "look", "--file", str(shot), "--file", str(notes), "--follow")
    assert (sent.code, f'You said "look" with {listed}.' in sent.out) == (0, True)
    shown = await cli("session", "show", known)
    assert "> look\n> [shot.png, image/png]\n> [notes.txt, text/plain]\n" in shown.out
    new = ("session", "new", "--repo", session["repoId"], "--agent", "demo")
    opened = await cli(*new, "--prompt", "look", "--file", str(notes), "--follow")
    assert 'You said "look" with notes.txt (text/plain, 7 bytes).' in opened.out
    forked = await cli("session", "fork", known, "again", "--file", str(notes), "--follow")
    assert 'You said "again" with notes.txt (text/plain, 7 bytes).' in forked.out
    for arguments in (
        ("session", "prompt", known, "look", "--file", str(tmp_path / "missing.txt")),
        ("session", "prompt", known, "look", "--file", str(tmp_path)),
        (*new, "--file", str(notes)),
    ):
        assert (await cli(*arguments)).code == 2
    (tmp_path / "bad.bin").write_bytes(b"\xff\x00")
    refused = await cli("session", "prompt", known, "look", "--file", str(tmp_path / "bad.bin"))
    assert (refused.code, "bad_file" in refused.err) == (1, True)


async def test_a_mode_is_applied_at_once(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """P2: `session set --mode` counts from the next prompt on and says so; `--now` applies it to the running turn."""
    client = server.client
    await cli("session", "set", session["id"], "--mode", "ask")
    task = await client.prompt(session["id"], "[[run true]]")
    await client.approval(session["id"])
    changed = await cli("session", "set", session["id"], "--mode", "allow-all")
    assert changed.code == 0 and "keeps its mode" in changed.err and "--now" in changed.err
    assert (await client.get(f"/api/tasks/{task}"))["permissionMode"] == "ask"
    applied = await cli("session", "set", session["id"], "--now")
    assert applied.code == 0 and "mode allow-all" in applied.out
    assert (await client.wait_task(task))["permissionMode"] == "allow-all"
    idle = await cli("session", "set", session["id"], "--mode", "plan", "--now")
    assert idle.code == 0 and idle.err == "" and "mode plan" in idle.out


async def test_the_size_of_a_transcript(cli: Cli, session: dict[str, Any]) -> None:
    """R4: A transcript's size and limit are shown, and the limit is set in bytes, with a unit, or to the server's."""
    shown = await cli("session", "transcript", session["id"])
    assert shown.code == 0 and shown.out.strip().endswith("of 256.0 MiB")
    assert (
        (await cli("session", "transcript", session["id"], "--limit", "1.5G"))
        .out.strip()
        .endswith("of 1.5 GiB, its own limit")
    )
    assert "1.5 GiB, its own limit" in (await cli("session", "show", session["id"])).out
    answer = await cli("--json", "session", "transcript", session["id"], "--limit", "server")
    assert json.loads(answer.out)["ownLimit"] is None
    wrong = await cli("session", "transcript", session["id"], "--limit", "lots")
    assert wrong.code == 2 and "512M" in wrong.err
