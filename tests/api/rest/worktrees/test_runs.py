"""Tests runs over REST: started, listed, logged, stopped, kept across restarts and ended with their worktree."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from bough.agents.keeper_client import keeper_folder, orphans
from bough.agents.keeper_client.keeper_folder import list_keepers
from bough.errors import AgentFailed
from tests.api.error_responses import NOBODY, refused
from tests.api.worktree_helpers import at, commit, made, registered
from tests.support.client import Client, Json
from tests.support.eventually import eventually
from tests.support.repos import make_repo
from tests.support.server import Running, ServerProcess, serving

SERVES = f"exec {sys.executable} -m http.server --bind 127.0.0.1 $PORT"
CONFIG = f"""\
ports = 3
[run]
dev = "echo on $BOUGH_PORT $BOUGH_PORT_2 ${{BOUGH_PORT_3:-none}} $PORT; sleep 600"
web = {{ command = "{SERVES}", port = 1 }}
fails = "printf '\\\\033[31mred\\\\033[0m 10%%\\\\r100%%\\\\n'; exit 3"
"""


async def allowed(client: Client, repo: Json, *, allow: bool = True) -> None:
    where = f"/api/repos/{repo['id']}/config"
    digest = (await client.get(where))["digest"]
    await client.call("PATCH", where, json={"digest": digest, "allowed": allow})


async def configured(server: Running, config: str = CONFIG) -> tuple[Json, Json]:
    """Registers a repository whose commands a person has allowed, with one worktree."""
    repo = await registered(server)
    commit(at(repo["path"]), ".bough.toml", config)
    await allowed(server.client, repo)
    return repo, await made(server.client, repo)


async def start(client: Client, worktree: Json, **body: object) -> Json:
    return await client.post(f"/api/worktrees/{worktree['id']}/runs", body)


async def log_of(client: Client, run: Json) -> str:
    return (await client.get(f"/api/runs/{run['id']}/log"))["text"]


async def until_logged(client: Client, run: Json, text: str) -> None:
    async def is_there() -> bool:
        return text in await log_of(client, run)

    await eventually(is_there, f"the log has {text!r}")


async def until_state(client: Client, run: Json, state: str) -> Json:
    async def is_so() -> bool:
        return (await client.get(f"/api/runs/{run['id']}"))["state"] == state

    await eventually(is_so, f"the run is {state}")
    return await client.get(f"/api/runs/{run['id']}")


async def test_a_named_command_runs_with_its_ports(server: Running) -> None:
    """Y3, Y4: A command of the repository runs in its worktree, learns as many ports as the file says, and stops with
    everything that it started."""
    client = server.client
    _, worktree = await configured(server)
    async with client.events() as events:
        run = await start(client, worktree, name="dev")
        assert (await events.until(lambda event: event["type"] == "run.created"))["data"] == run
    first = (await client.get(f"/api/worktrees/{worktree['id']}"))["firstPort"]
    assert (run["name"], run["state"], run["port"], run["startedBy"]) == ("dev", "running", first, "owner")
    await until_logged(client, run, f"on {first} {first + 2} none {first}")
    about = keeper_folder.read_info(server.data / "runs" / run["id"])
    assert about is not None
    assert (await client.get("/api/runs", params={"worktreeId": worktree["id"][-8:]}))["runs"] == [run]
    refused(
        await client.http.post(f"/api/worktrees/{worktree['id']}/runs", json={"name": "dev"}), 409, "already_running"
    )
    stopped = await client.post(f"/api/runs/{run['id']}/stop")
    assert (stopped["state"], stopped["endedAt"] is not None) == ("stopped", True)
    assert not at("/proc", str(about.agent.pid)).exists()
    assert f"on {first}" in await log_of(client, run)
    assert (await client.post(f"/api/runs/{run['id']}/stop"))["state"] == "stopped"
    actions = [entry["action"] for entry in (await client.get("/api/audit"))["entries"]]
    assert [action for action in reversed(actions) if action.startswith("run.")] == ["run.started", "run.stopped"]


async def test_a_command_that_ends_says_how(server: Running) -> None:
    """Y3: The exit code and the log of a command that has ended stay, as plain text."""
    _, worktree = await configured(server)
    run = await start(server.client, worktree, name="fails")
    ended = await until_state(server.client, run, "exited")
    assert ended["code"] == 3
    assert await log_of(server.client, run) == "100%\n"


async def test_a_command_that_cannot_be_ended_stops_no_repair(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Y3: A command whose processes resist even SIGKILL neither keeps the server from starting nor others from being
    noticed."""
    _, worktree = await configured(server)
    stuck, other = [await start(server.client, worktree, command="sleep 600") for _ in range(2)]
    end_keeper = orphans.end_keeper

    async def end(folder: Path) -> list[int]:
        if folder.name == stuck["id"]:
            raise AgentFailed("agent_stuck", "Processes could not be ended.")
        return await end_keeper(folder)

    with monkeypatch.context() as resisting:
        resisting.setattr(orphans, "end_keeper", end)
        for run in (stuck, other):
            about = keeper_folder.read_info(server.data / "runs" / run["id"])
            assert about is not None
            for process in (about.keeper, about.agent):
                os.kill(process.pid, signal.SIGKILL)
            await eventually(lambda run=run: not keeper_folder.is_alive(server.data / "runs" / run["id"]))
        await server.services.runs.repair()
        assert (await server.client.get(f"/api/runs/{stuck['id']}"))["state"] == "running"
        assert (await server.client.get(f"/api/runs/{other['id']}"))["state"] == "lost"
    await until_state(server.client, stuck, "lost")


async def test_a_port_that_answers_is_noticed(server: Running) -> None:
    """Y3, Y4: A run says when something answers at its port, and no longer once it has stopped."""
    _, worktree = await configured(server)
    run = await start(server.client, worktree, name="web")
    assert run["port"] == (await server.client.get(f"/api/worktrees/{worktree['id']}"))["firstPort"] + 1

    async def answers() -> bool:
        return (await server.client.get(f"/api/runs/{run['id']}"))["answers"]

    await eventually(answers, "it answers")
    assert (await server.client.post(f"/api/runs/{run['id']}/stop"))["answers"] is False


async def test_nothing_runs_that_nobody_allowed(server: Running) -> None:
    """Y3: A command runs only as a person has allowed it; one that changes is not run any more."""
    client = server.client
    repo = await registered(server)
    commit(at(repo["path"]), ".bough.toml", CONFIG)
    worktree = await made(client, repo)
    path = f"/api/worktrees/{worktree['id']}/runs"
    refused(await client.http.post(path, json={"name": "dev"}), 409, "run_not_allowed")
    await allowed(client, repo, allow=False)
    refused(await client.http.post(path, json={"name": "dev"}), 409, "run_not_allowed")
    await allowed(client, repo)
    at(worktree["path"], ".bough.toml").write_text('[run]\ndev = "touch stolen; sleep 600"\n')
    refused(await client.http.post(path, json={"name": "dev"}), 409, "run_not_allowed")
    assert not at(worktree["path"], "stolen").exists()
    at(worktree["path"], ".bough.toml").write_text(CONFIG)
    changed = await client.http.post(path, json={"name": "dev", "expectedCommand": "true"})
    refused(changed, 409, "run_changed")
    assert (await start(client, worktree, name="dev"))["state"] == "running"


async def test_wrong_requests(server: Running) -> None:
    """Y3: A request names one known command or gives one, and one of the block's ports."""
    client = server.client
    _, worktree = await configured(server)
    path = f"/api/worktrees/{worktree['id']}/runs"
    for body in ({}, {"name": "dev", "command": "true"}, {"command": " "}, {"command": "true", "port": 10}):
        refused(await client.http.post(path, json=body), 400, "bad_run")
    refused(await client.http.post(path, json={"name": "other"}), 404, "run_command_not_found")
    refused(await client.http.post(f"/api/worktrees/{NOBODY}/runs", json={"name": "dev"}), 404, "worktree_not_found")
    refused(await client.http.get(f"/api/runs/{NOBODY}/log"), 404, "run_not_found")
    await client.call("DELETE", f"/api/worktrees/{worktree['id']}?force=true")
    refused(await client.http.post(path, json={"name": "dev"}), 409, "worktree_removed")


async def test_it_ends_with_its_worktree(server: Running) -> None:
    """Y3, Y4: Removing a worktree ends its runs and frees its ports; nothing of them is left."""
    client = server.client
    _, worktree = await configured(server)
    run = await start(client, worktree, command="(trap '' HUP TERM; sleep 600) & sleep 600")
    folder = server.data / "runs" / run["id"]
    await eventually(lambda: keeper_folder.is_alive(folder))
    about = keeper_folder.read_info(folder)
    assert about is not None
    await client.call("DELETE", f"/api/worktrees/{worktree['id']}?force=true")
    assert not at("/proc", str(about.agent.pid)).exists()
    assert (await client.get(f"/api/worktrees/{worktree['id']}"))["firstPort"] is None
    await server.services.runs.repair()
    assert (await client.get("/api/runs"))["runs"] == []
    assert not folder.exists()


async def test_each_worktree_has_its_own_ports(tmp_path: Path) -> None:
    """Y4: Live worktrees never share a port; a block is free again once its worktree is removed, and a command is
    refused while none is."""
    async with serving(tmp_path, worktree_ports="28000-28029") as server:
        client = server.client
        repo = await registered(server)
        worktrees = [await made(client, repo, f"branch-{number}") for number in range(4)]
        runs = [await start(client, worktree, command="true") for worktree in worktrees[:3]]
        firsts = [run["port"] for run in runs]
        assert sorted(firsts) == [28000, 28010, 28020]
        path = f"/api/worktrees/{worktrees[3]['id']}/runs"
        refused(await client.http.post(path, json={"command": "true"}), 409, "no_ports")
        await client.call("DELETE", f"/api/worktrees/{worktrees[1]['id']}")
        assert (await start(client, worktrees[3], command="true"))["port"] == firsts[1]
        again = await client.post(f"/api/worktrees/{worktrees[1]['id']}/recover")
        assert again["firstPort"] is None


async def test_setup_terminals_and_agents_know_the_ports(server: Running) -> None:
    """Y4: Setup commands and agents learn the same ports as commands that run."""
    client = server.client
    repo, _ = await configured(server, 'setup = "echo $BOUGH_PORT $BOUGH_PORT_1 > ports.txt"\n' + CONFIG)
    worktree = await made(client, repo, "second")
    first = (await client.get(f"/api/worktrees/{worktree['id']}"))["firstPort"]
    assert at(worktree["path"], "ports.txt").read_text() == f"{first} {first + 1}\n"
    session = await client.post(
        "/api/sessions",
        {"worktreeId": worktree["id"], "agent": "demo", "permissionMode": "allow-all"},
    )
    await client.prompt(session["id"], "[[run echo $BOUGH_PORT > agent.txt]]")
    await eventually(lambda: at(worktree["path"], "agent.txt").exists())
    await eventually(lambda: at(worktree["path"], "agent.txt").read_text() == f"{first}\n")


async def test_it_survives_the_server(tmp_path: Path) -> None:
    """Y3: A run goes on while the server is away, even killed; one that ended meanwhile is found, and one whose keeper
    was killed is lost."""
    server = ServerProcess(tmp_path / "data", tmp_path / "work")
    async with server:
        repo_path = make_repo(tmp_path / "work" / "repo")
        async with server.client() as client:
            worktree = await made(client, await client.repo(repo_path))
            lasting = await start(client, worktree, command="echo be''fore; cat gate; echo af''ter; sleep 600")
            ending = await start(client, worktree, command="while [ ! -e go ]; do sleep 0.1; done; echo do''ne; exit 4")
            lost = await start(client, worktree, command="sleep 600")
            await until_logged(client, lasting, "before")
        await server.stop(signal.SIGKILL)
        at(worktree["path"], "go").write_text("")
        folder = server.data / "runs" / ending["id"]
        await eventually(lambda: not keeper_folder.is_alive(folder))
        about = keeper_folder.read_info(server.data / "runs" / lost["id"])
        assert about is not None
        os.kill(about.keeper.pid, signal.SIGKILL)
        await server.start()
        async with server.client() as client:
            assert (await until_state(client, ending, "exited"))["code"] == 4
            assert "done" in await log_of(client, ending)
            await until_state(client, lost, "lost")
            await eventually(lambda: not at("/proc", str(about.agent.pid)).exists())
            await until_logged(client, lasting, "before")
            assert (await client.post(f"/api/runs/{lasting['id']}/stop"))["state"] == "stopped"


async def test_the_number_and_the_logs_are_bounded(tmp_path: Path) -> None:
    """Y3: At `max_runs` nothing more runs, a log shows its end, and the logs of old runs go."""
    async with serving(tmp_path, max_runs=1) as server:
        client = server.client
        worktree = await made(client, await registered(server))
        run = await start(client, worktree, command="seq 1 100000; echo la''st; sleep 600")
        await until_logged(client, run, "last")
        answer = await client.get(f"/api/runs/{run['id']}/log")
        assert (answer["cut"], len(answer["text"]) <= 128 * 1024) == (True, True)
        path = f"/api/worktrees/{worktree['id']}/runs"
        refused(await client.http.post(path, json={"command": "true"}), 429, "too_many_runs")
        await client.post(f"/api/runs/{run['id']}/stop")
        for _ in range(7):
            ended = await start(client, worktree, command="true")
            await until_state(client, ended, "exited")
        rows = (await client.get("/api/runs"))["runs"]
        assert len(rows) == 6
        assert {folder.name for folder in list_keepers(server.data / "runs")} == {row["id"] for row in rows}


async def test_a_key_starts_one(server: Running) -> None:
    """Y3, A4: A request that is repeated with its key starts nothing again."""
    _, worktree = await configured(server)
    runs = [await start(server.client, worktree, command="sleep 600", idempotencyKey="k") for _ in range(2)]
    assert runs[0]["id"] == runs[1]["id"]
    assert len((await server.client.get("/api/runs"))["runs"]) == 1
