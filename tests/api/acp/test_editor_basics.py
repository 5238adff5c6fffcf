"""Tests one editor: the connection, sessions, prompts, approvals and options."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from bough.api.acp.sessions import methods
from bough.core.environment.mcp_servers import for_agent
from tests.api.acp.editor_client import Editor, editing
from tests.support.acp.acp_driver import Json, Refused
from tests.support.acp.acp_summary import message_texts
from tests.support.images import PNG, picture
from tests.support.server import Running, serving


async def test_version_and_capabilities(server: Running) -> None:
    """C2: Any client learns the version that Bough speaks, and only capabilities that exist."""
    async with editing(server, initialize=False) as editor:
        with pytest.raises(Refused, match="initialize first"):
            await editor.request("session/list", {})
        for version in (0, 2, 65535, 1):
            answer = await editor.request("initialize", {"protocolVersion": version})
            assert answer["protocolVersion"] == 1
        answer = await editor.request("initialize", {"protocolVersion": 1})
        assert answer["agentInfo"]["name"] == "bough"
        assert answer["agentCapabilities"] == {
            "loadSession": True,
            "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
            "mcpCapabilities": {"http": True, "sse": True},
            "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "delete": {}, "fork": {}},
        }
        (way,) = answer["authMethods"]
        assert await editor.request("authenticate", {"methodId": way["id"]}) == {}
        with pytest.raises(Refused, match="-32602"):
            await editor.request("authenticate", {"methodId": "other"})


async def test_new_is_answered_first(editor: Editor) -> None:
    """C2: Nothing about a session is sent before its id; its commands follow."""
    session = await editor.open(title="Mine")
    await editor.until(lambda: "session_info_update" in editor.kinds(session))
    answered = next(
        place for place, message in enumerate(editor.log) if message.get("result", {}).get("sessionId") == session
    )
    assert all(item["params"]["sessionId"] == session for item in editor.log[answered + 1 :])
    assert [item.get("method") for item in editor.log[: answered + 1]] == [None, None]
    (commands,) = editor.of(session, "available_commands_update")
    assert {"fork", "spawn", "btw", "tree", "queue"} <= {command["name"] for command in commands["availableCommands"]}
    assert editor.of(session, "session_info_update")[0]["title"] == "Mine"


async def test_an_editor_makes_room(tmp_path: Path) -> None:
    """T5, C2: At the limit a new session is refused with what to do; with `makeRoom` the idle one is completed."""
    async with serving(tmp_path, max_sessions=1) as server, editing(server) as editor:
        first = await editor.open()
        with pytest.raises(Refused, match="makeRoom: true"):
            await editor.open()
        new: Json = {"cwd": str(editor.repo), "mcpServers": [], "_meta": {"bough": {"agent": "demo", "makeRoom": True}}}
        opened = await editor.request("session/new", new)
        second = opened["sessionId"]
        assert opened["_meta"]["bough"]["madeRoom"]["id"] == first
        states = {row["id"]: row["status"] for row in (await server.client.get("/api/sessions"))["sessions"]}
        assert states == {first: "completed", second: "active"}


async def test_an_editors_prompt_makes_room(tmp_path: Path) -> None:
    """T5, C2: At the limit a prompt to an ended session is refused with what to do; with `makeRoom` the idle one is
    completed and its agent ended, and the answer names it. An unknown field is refused."""
    async with serving(tmp_path, max_sessions=1) as server, editing(server) as editor:
        first = await editor.open()
        second = await editor.open(makeRoom=True)
        await server.client.ask(second, "hello")
        prompt = {"sessionId": first, "prompt": [{"type": "text", "text": "[[say hi]]"}]}
        with pytest.raises(Refused, match="makeRoom: true"):
            await editor.request("session/prompt", prompt)
        with pytest.raises(Refused, match=r"_meta\.bough"):
            await editor.request("session/prompt", prompt | {"_meta": {"bough": {"room": True}}})
        answer = await editor.request("session/prompt", prompt | {"_meta": {"bough": {"makeRoom": True}}})
        assert (answer["stopReason"], answer["_meta"]["bough"]["madeRoom"]["id"]) == ("end_turn", second)
        assert server.services.runner.agents.get(second) is None
        states = {row["id"]: row["status"] for row in (await server.client.get("/api/sessions"))["sessions"]}
        assert states == {first: "active", second: "completed"}
        # An active session needs no room.
        again = await editor.request("session/prompt", prompt | {"_meta": {"bough": {"makeRoom": True}}})
        assert again == {"stopReason": "end_turn"}


async def test_a_refused_session_registers_no_repo(server: Running, editor: Editor) -> None:
    """R1, C2: If an editor's new session is refused, its folder is not registered; a known folder stays."""
    with pytest.raises(Refused, match="nobody"):
        await editor.open(agent="nobody")
    assert (await server.client.get("/api/repos"))["total"] == 0
    await editor.open()
    with pytest.raises(Refused, match="nobody"):
        await editor.open(agent="nobody")
    assert (await server.client.get("/api/repos"))["total"] == 1


async def test_the_folder_of_a_session(server: Running, editor: Editor) -> None:
    """C3: The folder must be absolute and inside the root, and limits the session; a worktree can be requested, and its
    folder be opened again."""
    inner = editor.repo / "inner"
    inner.mkdir()
    for cwd, code in (("repo", -32602), ("/etc", -32602), (str(editor.repo / "none"), -32602)):
        with pytest.raises(Refused) as refused:
            await editor.request("session/new", {"cwd": cwd, "mcpServers": []})
        assert refused.value.code == code
    opened = await editor.request("session/new", {"cwd": str(inner), "mcpServers": []})
    session = await server.client.get(f"/api/sessions/{opened['sessionId']}")
    assert session["cwd"] == str(inner) == opened["_meta"]["bough"]["cwd"]
    apart = await server.client.get(f"/api/sessions/{await editor.open(branch='apart')}")
    assert apart["cwd"] != str(editor.repo)
    assert apart["repoId"] == session["repoId"]
    again = await editor.request("session/new", {"cwd": apart["cwd"], "mcpServers": []})
    known = await server.client.get(f"/api/sessions/{again['sessionId']}")
    assert (known["worktreeId"], known["repoId"]) == (apart["worktreeId"], apart["repoId"])


async def test_a_session_is_loaded_in_another_folder(server: Running, editor: Editor) -> None:
    """C2b: Loading a session with another folder of its repo moves it there; a folder elsewhere is refused, and the
    error names both."""
    inner = editor.repo / "inner"
    inner.mkdir()
    session = await editor.open()
    await editor.prompt(session, "[[say hello]]")
    for method in ("session/load", "session/resume"):
        await editor.request(method, {"sessionId": session, "cwd": str(inner), "mcpServers": []})
        assert await _cwd(server, session) == str(inner)
    await server.client.ask(session, "[[run pwd > here.txt]]")
    assert (inner / "here.txt").read_text("utf-8").strip() == str(inner)
    side = await server.client.get(f"/api/sessions/{await editor.open(branch='side')}")
    for cwd in (str(editor.repo.parent), "/etc", side["cwd"]):
        with pytest.raises(Refused) as refused:
            await editor.request("session/load", {"sessionId": session, "cwd": cwd, "mcpServers": []})
        assert refused.value.code == -32602
        assert cwd in str(refused.value) and str(inner) in str(refused.value)
    assert await _cwd(server, session) == str(inner)
    forked = await editor.request("session/fork", {"sessionId": session, "cwd": str(editor.repo), "mcpServers": []})
    assert await _cwd(server, forked["sessionId"]) == str(editor.repo)


async def _cwd(server: Running, session: str) -> str:
    return (await server.client.get(f"/api/sessions/{session}"))["cwd"]


async def test_requested_settings_are_checked(editor: Editor) -> None:
    """C2: Refuses a setting that cannot be applied instead of ignoring it."""
    for wish in ({"agent": "nobody"}, {"mode": "godlike"}, {"modle": "x"}, {"agent": 1}):
        with pytest.raises(Refused):
            await editor.open(**({"agent": "demo"} | wish))  # pyright: ignore[reportArgumentType]


async def test_prompt_with_permission(editor: Editor, server: Running) -> None:
    """C2, P4: A permission request names a tool call that was announced before; its answer is carried out."""
    session = await editor.open("default")
    assert await editor.prompt(session, "[[run echo one > one.txt]]") == {"stopReason": "end_turn"}
    (question,) = editor.permissions
    assert [option["kind"] for option in question["params"]["options"]] == ["allow_once", "allow_always", "reject_once"]
    (call,) = editor.tools(session)
    assert question["params"]["toolCall"]["toolCallId"] == call["toolCallId"]
    assert (call["kind"], call["status"]) == ("execute", "completed")
    before = editor.log[: editor.log.index(question)]
    announced = [
        item["params"]["update"].get("toolCallId") for item in before if item.get("method") == "session/update"
    ]
    assert call["toolCallId"] in announced
    assert (editor.repo / "one.txt").exists()
    editor.decide = lambda _: "reject_once"
    await editor.prompt(session, "[[run echo two > two.txt]]")
    assert not (editor.repo / "two.txt").exists()
    editor.decide = lambda _: "allow_always"
    for _ in range(2):
        await editor.prompt(session, "[[run echo three >> three.txt]]")
    assert len(editor.permissions) == 3
    assert (editor.repo / "three.txt").read_text().split() == ["three", "three"]
    assert [approval["status"] for approval in (await server.client.get("/api/approvals"))["approvals"]].count(
        "pending"
    ) == 0


async def test_the_updates_of_a_turn(editor: Editor) -> None:
    """C2: The editor gets thoughts, plans, usage and titles, but not its own prompt."""
    session = await editor.open()
    await editor.prompt(session, "[[think hm]] [[plan first | second]] [[say done]]")
    assert editor.said(session, kind="agent_thought_chunk") == "hm"
    assert editor.said(session) == "done"
    assert editor.of(session, "plan")[-1]["entries"]
    assert editor.of(session, "usage_update")[-1]["size"] > 0
    assert editor.of(session, "session_info_update")[-1]["title"]
    assert editor.of(session, "user_message_chunk") == []
    with pytest.raises(Refused) as refused:
        await editor.prompt(session, "[[fail so it goes]]")
    assert "so it goes" in refused.value.message
    assert await editor.prompt(session, "[[say still here]]") == {"stopReason": "end_turn"}


async def test_blocks_of_a_prompt(editor: Editor) -> None:
    """C2: Links stay inside the text, attached texts follow it; blocks that cannot be sent to the agent are refused."""
    session = await editor.open()
    blocks: list[Json] = [
        {"type": "text", "text": "See "},
        {"type": "resource_link", "name": "a.py", "uri": "file:///a.py"},
        {"type": "text", "text": " please. [[say ok]]"},
        {"type": "resource", "resource": {"uri": "file:///b.py", "text": "b = 1"}},
    ]
    await editor.request("session/prompt", {"sessionId": session, "prompt": blocks})
    await editor.load(session)
    (update,) = editor.of(session, "user_message_chunk")
    assert update["content"]["text"].startswith("See [a.py](file:///a.py) please. [[say ok]]\nAttached, file:///b.py:")
    image = {"type": "image", "data": "", "mimeType": "image/png"}
    for prompt in ([image], [], [{"type": "text", "text": " "}]):
        with pytest.raises(Refused) as refused:
            await editor.request("session/prompt", {"sessionId": session, "prompt": prompt})
        assert refused.value.code == -32602


async def test_pictures_of_a_prompt(editor: Editor, server: Running) -> None:
    """C2: Pictures reach the agent as files of the prompt and are named when the session is loaded; an invalid picture,
    or one for a command of Bough's, is refused."""
    session = await editor.open()
    image: Json = {"type": "image", "data": picture()["data"], "mimeType": "image/png"}
    blob: Json = {"uri": "file:///tmp/b%20c.png?x", "blob": image["data"], "mimeType": "image/png"}
    blocks: list[Json] = [
        {"type": "text", "text": "See"},
        {**image, "uri": "file:///home/me/a.png"},
        image,
        {"type": "resource", "resource": blob},
    ]
    await editor.request("session/prompt", {"sessionId": session, "prompt": blocks})
    size = f"(image/png, {len(PNG)} bytes)"
    listed = ", ".join(f"{name} {size}" for name in ("a.png", "image-3.png", "b c.png"))
    assert await server.client.texts(session) == [f'You said "See" with {listed}. This is user turn 1.']
    await editor.request("session/prompt", {"sessionId": session, "prompt": [image]})
    assert (await server.client.texts(session))[-1].startswith('You said "[image-1.png]" with image-1.png')
    await editor.load(session)
    first, _ = editor.of(session, "user_message_chunk")
    assert first["content"]["text"] == f"See\n[a.png {size}]\n[image-3.png {size}]\n[b c.png {size}]"
    for prompt in ([{**image, "mimeType": "image/bmp", "data": "Qk0="}], [{"type": "text", "text": "/fork"}, image]):
        with pytest.raises(Refused) as refused:
            await editor.request("session/prompt", {"sessionId": session, "prompt": prompt})
        assert refused.value.code == -32602


async def test_commands(editor: Editor, server: Running) -> None:
    """C2: Bough runs and answers its own commands; others go to the agent."""
    session = await editor.open(title="top")
    await editor.prompt(session, "[[say ready]]")
    assert "1 sessions" in await editor.ask(session, "/tree")
    assert await editor.ask(session, "/queue") == "Queue is empty."
    assert "Forked into session" in await editor.ask(session, "/fork")
    with pytest.raises(Refused, match="/spawn TEXT"):
        await editor.ask(session, "/spawn")
    assert "is working on it" in await editor.ask(session, "/spawn\n[[say from the child]]")
    await editor.heard(session, "from the child")
    assert "Side question asked" in await editor.ask(session, "/btw [[say an answer]]")
    await editor.heard(session, "Side question: an answer")
    kinds = [item["kind"] for item in (await server.client.get("/api/sessions"))["sessions"]]
    assert sorted(kinds) == ["btw", "fork", "root", "subsession"]


async def test_choices(editor: Editor) -> None:
    """C2: Modes and options can be chosen, and changes are reported; the agent can be chosen only before its first
    prompt."""
    session = await editor.open("default")

    async def set_option(id: str, value: str) -> Json:
        params = {"sessionId": session, "configId": id, "value": value}
        return await editor.request("session/set_config_option", params)

    options = (await set_option("agent", "terminal"))["configOptions"]
    assert {option["id"]: option["currentValue"] for option in options}["agent"] == "terminal"
    await set_option("agent", "demo")
    options = (await set_option("effort", "low"))["configOptions"]
    assert {option["id"]: option["currentValue"] for option in options}["effort"] == "low"
    await set_option("effort", "bough:own")
    assert await editor.request("session/set_mode", {"sessionId": session, "modeId": "plan"}) == {}
    await editor.until(lambda: "current_mode_update" in editor.kinds(session))
    assert editor.of(session, "current_mode_update")[-1]["currentModeId"] == "plan"
    assert editor.of(session, "config_option_update")
    for id, value in (("agent", "nobody"), ("colour", "red")):
        with pytest.raises(Refused):
            await set_option(id, value)
    with pytest.raises(Refused):
        await editor.request("session/set_mode", {"sessionId": session, "modeId": "godlike"})
    await editor.prompt(session, "[[say begun]]")
    with pytest.raises(Refused, match="has already worked"):
        await set_option("agent", "terminal")


async def test_load_and_resume(server: Running, editor: Editor) -> None:
    """C2: Load replays everything, including prompts, before its answer; resume replays nothing; both send what
    follows."""
    session = await editor.open(title="Told")
    await editor.prompt(session, "[[think hm]] [[say one]] [[run echo hi]]")
    await editor.prompt(session, "[[plan a | b]] [[say two]]")
    live = editor.story(session)
    async with editing(server) as late:
        loading = late.send("session/load", {"sessionId": session, "cwd": str(late.repo), "mcpServers": []})
        answer = await late.answer(loading)
        assert answer["modes"]["currentModeId"] == "bypassPermissions"
        before = next(place for place, message in enumerate(late.log) if message.get("id") == loading)
        assert [item for item in late.log[before + 1 :] if "update" in item.get("params", {})] == []
        past = late.story(session)
        assert [item for item in past if item["kind"] != "user_message_chunk"] == live
        assert past[0]["parts"][0]["text"] == "[[think hm]] [[say one]] [[run echo hi]]"
        assert {"available_commands_update", "usage_update", "session_info_update"} <= set(late.kinds(session))
        async with editing(server) as other:
            await other.load(session, "session/resume")
            assert other.story(session) == []
            await editor.prompt(session, "[[say three]]")
            for message in (late, other):
                await message.heard(session, "three")
                assert message_texts(message.story(session))[-2:] == ["[[say three]]", "three"]
        # If the editor loads the session again, its own prompts are part of the past.
        since = len(editor.updates)
        await editor.load(session)
        assert len(editor.of(session, "user_message_chunk", since)) == 3
        with pytest.raises(Refused) as refused:
            await late.load(session[:8])
        assert refused.value.code == -32002


async def test_fork(editor: Editor, server: Running) -> None:
    """C2: A fork is another session with the same past and its own MCP servers."""
    session = await editor.open()
    await editor.prompt(session, "[[say before]]")
    mcp: Json = {"name": "My tools!", "command": "/bin/true", "args": [], "env": []}
    params: Json = {
        "sessionId": session,
        "cwd": str(editor.repo),
        "mcpServers": [mcp],
        "_meta": {"bough": {"title": "F"}},
    }
    forked = await editor.request("session/fork", params)
    fork = forked["sessionId"]
    assert forked["_meta"]["bough"]["forkedFromSessionId"] == session
    await editor.prompt(fork, "[[say after]]")
    async with editing(server) as late:
        await late.load(fork)
        texts = message_texts(late.story(fork))
        assert texts[:2] == ["[[say before]]", "before"]
        assert texts[-2:] == ["[[say after]]", "after"]
    (known,) = (await server.client.get(f"/api/sessions/{fork}"))["mcpServerIds"]
    assert (await server.client.get("/api/mcp-servers"))["mcpServers"][0]["id"] == known
    assert (await server.client.get(f"/api/sessions/{session}"))["mcpServerIds"] == []


async def test_delete(editor: Editor, server: Running) -> None:
    """C2c: Deleting a session archives it: it leaves the list, and a person can restore it. A session with work to do
    is refused, and one that does not exist is deleted already."""
    session = await editor.open()
    await editor.prompt(session, "[[say before]]")
    turn = editor.send_prompt(session, "[[say waiting]] [[hang]]")
    await editor.heard(session, "waiting")
    with pytest.raises(Refused, match="A turn is running"):
        await editor.request("session/delete", {"sessionId": session})
    editor.notify("session/cancel", {"sessionId": session})
    await editor.answer(turn)
    for unknown in (session, session, "019a3af2-0000-7000-8000-000000000000", "no such"):
        assert await editor.request("session/delete", {"sessionId": unknown}) == {}
    assert (await editor.request("session/list", {}))["sessions"] == []
    row = await server.client.get(f"/api/sessions/{session}")
    assert (row["archived"], row["status"]) == (True, "completed")
    await server.client.post(f"/api/sessions/{session}/archive", {"archived": False})
    (listed,) = (await editor.request("session/list", {}))["sessions"]
    assert listed["sessionId"] == session


async def test_list(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """C2: Lists sessions by pages and by folder, with their origins."""
    monkeypatch.setattr(methods, "PAGE", 2)
    async with editing(server) as editor:
        sessions = [await editor.open(title=f"No. {number}") for number in range(3)]
        inner = editor.repo / "inner"
        inner.mkdir()
        link = server.root / "link"
        link.symlink_to(inner)
        deep = await editor.request("session/new", {"cwd": str(link), "mcpServers": []})
        first = await editor.request("session/list", {"cwd": str(editor.repo)})
        second = await editor.request("session/list", {"cwd": str(editor.repo), "cursor": first["nextCursor"]})
        assert [item["sessionId"] for item in (*first["sessions"], *second["sessions"])] == sessions[::-1]
        assert "nextCursor" not in second
        (listed,) = (await editor.request("session/list", {"cwd": str(link)}))["sessions"]
        assert (listed["sessionId"], listed["cwd"]) == (deep["sessionId"], str(inner))
        fork = await editor.request("session/fork", {"sessionId": sessions[0], "cwd": str(editor.repo)})
        newest = (await editor.request("session/list", {}))["sessions"][0]
        assert newest["sessionId"] == fork["sessionId"]
        assert newest["_meta"]["bough"]["forkedFromSessionId"] == sessions[0]
        for wrong in ({"cwd": "repo"}, {"cursor": "next"}):
            with pytest.raises(Refused) as refused:
                await editor.request("session/list", wrong)
            assert refused.value.code == -32602


async def test_mcp_servers(editor: Editor, server: Running) -> None:
    """C2, C2b: An editor's MCP servers become the session's, and replace those that it gave before; their names
    stay."""
    stdio: Json = {"name": "tools", "command": "true", "args": ["-x"], "env": [{"name": "A", "value": "b"}]}
    http: Json = {"type": "http", "name": "Some site", "url": "http://127.0.0.1:1/", "headers": []}
    opened = await editor.request("session/new", {"cwd": str(editor.repo), "mcpServers": [stdio, http]})
    session = opened["sessionId"]

    async def names() -> list[tuple[str, str]]:
        ids = (await server.client.get(f"/api/sessions/{session}"))["mcpServerIds"]
        known = {item["id"]: item for item in (await server.client.get("/api/mcp-servers"))["mcpServers"]}
        return [(known[id]["name"], known[id]["url"] or known[id]["command"]) for id in ids]

    (name, command), other = await names()
    assert (name.partition("@")[0], Path(command).name) == ("tools", "true")
    assert (other[0].partition("@")[0], other[1]) == ("Some-site", "http://127.0.0.1:1/")
    own = await server.client.post("/api/mcp-servers", {"name": "mine", "transport": "stdio", "command": "/bin/true"})
    ids = (await server.client.get(f"/api/sessions/{session}"))["mcpServerIds"]
    await server.client.call("PATCH", f"/api/sessions/{session}", json={"mcpServerIds": [own["id"], *ids]})
    for port in (2, 3, 2):
        # An address that changes with each start of the editor.
        params = {"sessionId": session, "cwd": str(editor.repo)}
        await editor.request("session/load", params | {"mcpServers": [http | {"url": f"http://127.0.0.1:{port}/"}]})
        # A person's server stays; the editor no longer gives `tools`.
        (mine, _), (name, url) = await names()
        assert (mine, name.partition("@")[0], url) == ("mine", "Some-site", f"http://127.0.0.1:{port}/")
        ids = (await server.client.get(f"/api/sessions/{session}"))["mcpServerIds"]
        listed, _ = await server.services.store.read(lambda tx, ids=ids: for_agent(tx, ids, http=True, sse=True))
        assert [item.name for item in listed] == ["Some-site", "mine"]
    assert len((await server.client.get("/api/mcp-servers"))["mcpServers"]) <= 5
    for wrong in ({"type": "acp", "name": "x", "serverId": "y"}, http | {"url": "ftp://x"}):
        params = {"cwd": str(editor.repo), "mcpServers": [wrong]}
        editor.raw(_line(77, "session/new", params), 77)
        with pytest.raises(Refused, match="-32602"):
            await editor.answer(77)


def _line(id: int, method: str, params: Json) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
