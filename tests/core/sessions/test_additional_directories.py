"""Tests sessions whose agent works in further folders beside their own."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.core.agent_offers.test_agent_offers import add_agent
from tests.support.repos import make_repo
from tests.support.server import Running, serving

AGENT = """
import json
from tests.support.misbehaving_agents.protocol import SESSION, answer, messages, say
for message in messages():
    if message["method"] == "initialize":
        capabilities = {{"sessionCapabilities": {capabilities}}}
        say(id=message["id"], result={{"protocolVersion": 1, "agentCapabilities": capabilities}})
        continue
    if message["method"] == "session/new":
        with open({log!r}, "a") as log:
            log.write(json.dumps(message["params"].get("additionalDirectories")) + "\\n")
    answer(message)
"""


async def test_an_agent_is_told_its_folders(tmp_path: Path) -> None:
    """W6: Further folders are part of the session, forks keep them, and an agent that takes them is told; one that does
    not is not, and the transcript says so."""
    log = tmp_path / "log"
    for name, capabilities in (("takes", '{"additionalDirectories": {}}'), ("leaves", "{}")):
        add_agent(tmp_path / "data", name, AGENT.format(log=str(log), capabilities=capabilities))
    async with serving(tmp_path) as server:
        repo = await server.client.repo(server.repo())
        other = str(server.repo("other"))
        for name, expected in (("takes", [other]), ("leaves", None)):
            session = await server.client.session(repo["id"], agent=name, additionalDirectories=[other])
            assert session["additionalDirectories"] == [other]
            task = await server.client.wait_task(await server.client.prompt(session["id"], "hello"))
            assert task["status"] == "completed"
            assert json.loads(log.read_text().splitlines()[-1]) == expected
            messages = await server.client.get(f"/api/sessions/{session['id']}/messages")
            assert ("takes no further folders" in json.dumps(messages)) == (expected is None)
        fork = await server.client.post(f"/api/sessions/{session['id']}/fork", {})
        forked = await server.client.get(f"/api/sessions/{fork['sessionId']}")
        assert forked["additionalDirectories"] == [other]


async def test_which_folders_are_refused(server: Running, tmp_path: Path) -> None:
    """W6, W3: A folder outside the workspace root, that is missing, or that overlaps with another is refused,
    also behind a link."""
    repo = await server.client.repo(server.repo())
    body = {"repoId": repo["id"], "agent": "demo"}
    (server.root / "link").symlink_to("/etc")
    (server.root / "sub").mkdir()
    for path, status, code in (
        ("/etc", 403, "path_outside_root"),
        (str(server.root / "link"), 403, "path_outside_root"),
        ("relative", 400, "path_not_absolute"),
        (str(server.root / "none"), 400, "path_missing"),
        (repo["path"], 409, "directory_overlap"),
        (str(server.root), 409, None),
    ):
        refused = await server.client.post("/api/sessions", {**body, "additionalDirectories": [path]}, expect=status)
        assert code is None or refused["error"]["code"] == code
    many = [str(server.root / "sub")] * 11
    refused = await server.client.post("/api/sessions", {**body, "additionalDirectories": many}, expect=400)
    assert refused["error"]["code"] == "too_many_directories"


async def test_a_folder_that_is_replaced(server: Running, tmp_path: Path) -> None:
    """W6, W3: A further folder that leads elsewhere by now, or is gone, is noticed before the next turn."""
    repo = await server.client.repo(server.repo())
    other = server.root / "other"
    other.mkdir()
    session = await server.client.session(repo["id"], additionalDirectories=[str(other)])
    shutil.rmtree(other)
    task = await server.client.wait_task(await server.client.prompt(session["id"], "hello"))
    assert (task["status"], task["error"]["code"]) == ("failed", "folder_missing")
    other.symlink_to("/etc")
    task = await server.client.wait_task(await server.client.prompt(session["id"], "hello"))
    assert (task["status"], task["error"]["code"]) == ("failed", "path_outside_root")


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
async def test_the_box_of_several_folders(tmp_path: Path) -> None:
    """W6: In its sandbox the agent writes in its further folders, commits there, and nowhere else."""
    async with serving(tmp_path, sandbox="required") as server:
        repo = await server.client.repo(server.repo())
        other, third = make_repo(server.root / "other"), server.root / "third"
        third.mkdir()
        session = await server.client.session(
            repo["id"], permissionMode="bypassPermissions", additionalDirectories=[str(other)]
        )
        commands = (
            f"[[run echo here > {other}/made]]"
            f"[[run git -C {other} add made]][[run git -C {other} commit -qm made]]"
            f"[[run echo evil > {third}/made]]"
            f"[[run echo evil > {other}/.git/config]]"
        )
        await server.client.wait_task(await server.client.prompt(session["id"], commands))
        assert (other / "made").read_text() == "here\n"
        assert "evil" not in (other / ".git/config").read_text()
        assert not (third / "made").exists()
        question = await server.client.post(
            f"/api/sessions/{session['id']}/btw", {"prompt": f"[[run touch {other}/by]]"}
        )
        await server.client.wait_task(question["taskId"])
        assert not (other / "by").exists()
