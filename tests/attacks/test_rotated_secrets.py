"""Secret values stay masked after they were changed or removed, and prompts keep them when they are edited."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bough.core.live_agents.start import agent_tokens
from bough.core.store.session_secrets import MOST_PAST
from bough.model.values import own_tokens
from tests.attacks.test_secret_values import SECRET, everything, pieces
from tests.core.helpers import open_session
from tests.support.client import Client
from tests.support.repos import git
from tests.support.server import Running

OTHER = "egret-0815-white-wing"


async def change(client: Client, session: str, **fields: Any) -> None:
    await client.call("PATCH", f"/api/sessions/{session}", json=fields)


async def hold(client: Client, session: str) -> str:
    """Occupies a session, so that prompts stay queued; returns the task to cancel."""
    running = await client.prompt(session, "[[hang]]")
    await client.wait_task(running, "running")
    return running


async def release(client: Client, session: str, running: str) -> None:
    await client.call("DELETE", f"/api/tasks/{running}")
    await change(client, session, queuePaused=False)


async def fetch(client: Client, *paths: str) -> str:
    """Returns what the server says at some paths."""
    return "\n".join([(await client.http.get(path)).text for path in paths])


@pytest.mark.parametrize("left", [{}, {"TOLD": OTHER}])
async def test_a_former_variable_stays_masked(server: Running, left: dict[str, str]) -> None:
    """R1: The value of a variable that was changed or removed is masked in old and new messages, queues, trees,
    events, search and exports, also when another agent process runs."""
    client = server.client
    session = await open_session(server, env={"TOLD": SECRET})
    await client.ask(session, f"[[say before {SECRET}.]]")
    running = await hold(client, session)
    queued = await client.prompt(session, f"[[say queued {SECRET}.]]")
    await change(client, session, env=left)
    for known in (SECRET, *left.values()):
        shown = await everything(client, session) + await fetch(client, "/api/tasks", f"/api/tasks/{queued}")
        shown += await fetch(client, f"/api/sessions/{session}/tree", "/api/boards/default/cards")
        assert known not in shown
    await release(client, session, running)
    await client.wait_task(queued)
    await client.ask(session, f"[[say after {SECRET} {OTHER}.]]")
    texts = await client.texts(session)
    assert texts == ["before ***.", "queued ***.", f"after *** {'***' if left else OTHER}."]
    assert not pieces(await everything(client, session))
    assert (await client.get("/api/search", params={"q": f'"{SECRET}"'}))["total"] == 0


@pytest.mark.parametrize("way", ["change", "remove", "detach"])
async def test_a_former_header_stays_masked(server: Running, way: str) -> None:
    """R1: So is the header of an MCP server that was changed, removed or taken from the session."""
    client = server.client
    far = {"name": "far", "transport": "http", "url": "http://127.0.0.1:9/x"}
    mcp = await client.post("/api/mcp-servers", far | {"headers": {"authorization": f"Bearer {SECRET}"}})
    session = await open_session(server, mcpServerIds=[mcp["id"]])
    place = f"/api/mcp-servers/{mcp['id']}"
    if way == "change":
        await client.call("PATCH", place, json={"headers": {"authorization": f"Bearer {OTHER}"}})
    elif way == "remove":
        await client.call("DELETE", place)
    else:
        await change(client, session, mcpServerIds=[])
    await client.ask(session, f"[[say the key {SECRET}.]]")
    assert await client.texts(session) == ["the key ***."]
    assert not pieces(await everything(client, session))


async def test_a_fork_does_not_tell(server: Running) -> None:
    """R1, B1: A fork with other variables masks the values of the conversation that it continues."""
    client = server.client
    session = await open_session(server, env={"TOLD": SECRET})
    await client.ask(session, "hello")
    await change(client, session, env={"TOLD": OTHER})
    fork = await client.post(f"/api/sessions/{session}/fork", {"prompt": f"[[say {SECRET} {OTHER}]]", "env": {}})
    await client.wait_task(fork["taskId"])
    assert (await client.texts(fork["sessionId"]))[-1] == "*** ***"


async def test_titles_and_branches_do_not_tell(server: Running) -> None:
    """R1, B2: Titles, git branches and folders that are named after a prompt hold no secret value, neither of the
    source nor of the new session; nor does a title that was given."""
    client = server.client
    session = await open_session(server, env={"TOLD": SECRET}, title=f"Use {SECRET}")
    assert (await client.get(f"/api/sessions/{session}"))["title"] == "Use ***"
    await change(client, session, title=f"Again {SECRET}", description=SECRET)
    for verb, wants in (("fork", {}), ("spawn", {}), ("fork", {"env": {"NEW": OTHER}})):
        body = {"prompt": f"Log in with {SECRET} and {OTHER}", "worktree": "new", **wants}
        fork = await client.post(f"/api/sessions/{session}/{verb}", body)
        made = await client.get(f"/api/sessions/{fork['sessionId']}")
        worktree = await client.get(f"/api/worktrees/{made['worktreeId']}")
        assert not pieces(str((made, worktree)))
        assert (OTHER in worktree["branch"]) == (not wants)
    titles = [row["title"] for row in (await client.get("/api/sessions"))["sessions"]]
    assert f"Log in with *** and {OTHER}" in titles and "Log in with *** and ***" in titles


async def test_a_branch_named_like_a_secret(server: Running) -> None:
    """R1: The git state that is stored with turns and new sessions masks the name of a branch that the agent chose."""
    client = server.client
    session = await open_session(server, env={"TOLD": SECRET})
    folder = Path((await client.get(f"/api/sessions/{session}"))["cwd"])
    git(folder, "checkout", "--quiet", "-b", SECRET)
    await client.ask(session, "hello")
    await client.post(f"/api/sessions/{session}/fork", {})
    assert not pieces(await everything(client, session))


async def test_former_values_are_limited(server: Running) -> None:
    """R1: A session that changes its variables again and again remembers the newest values."""
    client = server.client
    session = await open_session(server)
    for first in range(0, MOST_PAST + 200, 100):
        await change(
            client, session, env={f"V{number}": f"value-number-{number}" for number in range(first, first + 100)}
        )
    await change(client, session, env={})
    await client.ask(session, f"[[say value-number-{MOST_PAST + 199} value-number-000]]")
    assert await client.texts(session) == ["*** value-number-000"]


async def test_tokens_of_bough(server: Running) -> None:
    """R1, 5d: Tokens of agents, users and the server itself are masked wherever they are told."""
    client = server.client
    session = await open_session(server)
    await client.post("/api/users", {"name": "anna", "role": "viewer"})
    token = (await client.post("/api/tokens", {"user": "anna", "scope": "viewer", "name": "laptop"}))["token"]
    tokens = [agent_tokens.mint(session), token, client.token]
    assert client.token.startswith(own_tokens.SERVER)
    await client.ask(session, f"[[say {' and '.join(tokens)}.]]")
    assert await client.texts(session) == ["*** and *** and ***."]
    shown = await everything(client, session)
    assert not any(token[-20:] in shown for token in tokens)


@pytest.mark.parametrize("holder", ["the session", "one racer"])
async def test_the_prompt_of_a_race(server: Running, holder: str) -> None:
    """R1, B6: Lists of races and `@last` show the prompt without the secret values of the session and of the racers;
    titles, branches and folders are named without them."""
    client = server.client
    session = await open_session(server, env={"TOLD": SECRET} if holder == "the session" else {})
    await client.ask(session, "[[say ready]]")
    body: dict[str, Any] = {"prompt": f"[[say {SECRET}]]", "contenders": [{}, {}], "kind": "fork"}
    if holder == "one racer":
        body["title"] = "Birds"
    begun = await client.post(f"/api/sessions/{session}/race", body)
    for racer in begun["sessions"]:
        await client.wait_task(racer["taskId"])
    if holder == "one racer":
        await change(client, begun["sessions"][1]["sessionId"], env={"TOLD": SECRET})
    race = begun["raceId"]
    paths = (f"/api/races/{race}", "/api/races", f"/api/sessions/{session}/races", "/api/find?kind=race&name=@last")
    for path in paths:
        shown = await fetch(client, path)
        assert race in shown and "[[say ***]]" in shown, path
        assert not pieces(shown), path


async def test_an_edited_prompt_keeps_its_values(server: Running) -> None:
    """R1, Q5: A queued prompt that is shown masked and saved again is sent with its values, not with asterisks."""
    client = server.client
    session = await open_session(server, env={"TOLD": SECRET, "ELSE": OTHER})
    running = await hold(client, session)
    queued = await client.prompt(session, f"[[write a.txt {SECRET} *** {OTHER}]]")
    shown = (await client.get(f"/api/tasks/{queued}"))["prompt"]
    assert shown == "[[write a.txt *** *** ***]]"
    edited = await client.call("PATCH", f"/api/tasks/{queued}", json={"prompt": shown.replace("a.txt", "b.txt")})
    assert edited["prompt"] == "[[write b.txt *** *** ***]]"
    for unclear in ("[[write b.txt ***]]", "[[write b.txt *** *** *** ***]]"):
        answer = await client.call("PATCH", f"/api/tasks/{queued}", json={"prompt": unclear}, expect=400)
        assert answer["error"]["code"] == "masked_prompt"
    await release(client, session, running)
    await client.wait_task(queued)
    [folder] = list(server.root.rglob("b.txt"))
    assert folder.read_text().strip() == f"{SECRET} *** {OTHER}"
    assert not pieces(await everything(client, session))


async def test_an_edited_prompt_may_lose_its_values(server: Running) -> None:
    """R1, Q5: A text without masks replaces the prompt, with its values."""
    client = server.client
    session = await open_session(server, env={"TOLD": SECRET})
    running = await hold(client, session)
    queued = await client.prompt(session, f"[[say {SECRET}]]")
    await client.call("PATCH", f"/api/tasks/{queued}", json={"prompt": "[[say nothing]]"})
    await release(client, session, running)
    await client.wait_task(queued)
    assert await client.texts(session) == ["nothing"]


async def test_a_repeated_prompt_keeps_its_values(server: Running) -> None:
    """R1: A prompt that is sent again as it was shown, such as by a button "Retry", has its values again."""
    client = server.client
    session = await open_session(server, env={"TOLD": SECRET})
    first = await client.ask(session, f"[[write a.txt {SECRET}]]")
    [file] = list(server.root.rglob("a.txt"))
    file.unlink()
    await client.ask(session, (await client.get(f"/api/tasks/{first['id']}"))["prompt"])
    assert file.read_text().strip() == SECRET
