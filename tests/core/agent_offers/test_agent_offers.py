"""Tests that Bough knows what an agent offers before the first turn."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests.support.eventually import eventually
from tests.support.server import Running, serving

Json = dict[str, Any]
PATH = "/api/agents/{}/offer"

AGENT = """
import os, sys
from tests.support.misbehaving_agents.protocol import SESSION, answer, messages, say
with open({log!r}, "a") as log:
    log.write(os.getcwd() + " " + str(len(os.listdir("."))) + "\\n")
def option(id, category, values):
    options = [{{"value": value, "name": value}} for value in values]
    chosen = {{"type": "select", "currentValue": values[0], "options": options}}
    return {{"id": id, "name": id, "category": category, **chosen}}
for message in messages():
    if message["method"] == "session/prompt":
        open({prompted!r}, "w").close()
    if message["method"] == "session/new":
        result = {{"sessionId": SESSION, "configOptions": [option("model", "model", ["big", "sm\\u202eall"])],
                  "modes": {{"currentModeId": "ask", "availableModes": [{{"id": "ask", "name": "Ask"}}]}}}}
        say(id=message["id"], result=result)
        update = {{"sessionUpdate": "available_commands_update", "availableCommands": [
            {{"name": "fix", "description": "Fixes\\n it"}}, {{"name": 3}}, {{"name": "x" * 500, "description": ""}}]}}
        say(method="session/update", params={{"sessionId": SESSION, "update": update}})
    else:
        answer(message)
"""


def add_agent(data: Path, name: str, program: str, more: str = "") -> None:
    (data / "agents").mkdir(parents=True, exist_ok=True)
    script = data / f"{name}.py"
    script.write_text(program, "utf-8")
    command = json.dumps([sys.executable, str(script)])
    text = f'title = "{name}"\ncommand = {command}\nmodel-option = "model"\n[env]\nPYTHONPATH = "{Path.cwd()}"\n{more}'
    (data / "agents" / f"{name}.toml").write_text(text, "utf-8")


async def checked(server: Running, agent: str, **body: Any) -> Json:
    """Has an agent asked, and returns what it offers."""
    await server.client.post(PATH.format(agent), body, expect=202)

    async def answer() -> Json | None:
        offer = await server.client.get(PATH.format(agent))
        return None if offer["checking"] else offer

    return await eventually(answer, f"{agent} was asked")


async def test_an_agent_is_asked_once(tmp_path: Path) -> None:
    """H4: An agent is asked once, in an empty folder and without a prompt, also after a restart; a person can have it
    asked again. Names that people could not choose or read are left out."""
    log, prompted = tmp_path / "starts", tmp_path / "prompted"
    add_agent(tmp_path / "data", "mine", AGENT.format(log=str(log), prompted=str(prompted)))
    async with serving(tmp_path) as server:
        before = await server.client.get(PATH.format("mine"))
        assert (before["source"], before["current"], before["models"]) == (None, False, [])
        assert not log.exists()
        offer = await checked(server, "mine")
        assert (offer["source"], offer["current"], offer["error"]) == ("check", True, None)
        assert ([model["value"] for model in offer["models"]], offer["defaultModel"]) == (["big"], "big")
        assert [mode["id"] for mode in offer["modes"]] == ["ask"]
        assert offer["commands"] == [{"name": "fix", "description": "Fixes it"}]
        await checked(server, "mine")
        assert len(log.read_text().splitlines()) == 1
    async with serving(tmp_path) as server:
        assert (await checked(server, "mine"))["models"] == offer["models"]
        assert len(log.read_text().splitlines()) == 1
        await checked(server, "mine", force=True)
        assert [line.rsplit(" ", 1)[1] for line in log.read_text().splitlines()] == ["0", "0"]
    assert not prompted.exists()
    assert list((tmp_path / "data" / "checks").iterdir()) == []


async def test_errors_are_said(tmp_path: Path) -> None:
    """H4: A login that is missing, a program that is gone and an agent that dies are said; what was known stays, and
    nothing is asked again and again."""
    data = tmp_path / "data"
    refusing = """
from tests.support.misbehaving_agents.protocol import answer, messages, say
for message in messages():
    if message["method"] == "session/new":
        say(id=message["id"], error={"code": -32000, "message": "Authentication required"})
    else:
        answer(message)
"""
    add_agent(data, "locked", refusing, '[login]\nhow = "Set MY_KEY for the server."\n')
    (data / "agents" / "gone.toml").write_text('title = "Gone"\ncommand = ["no-such-agent"]\ninstall = "Build it."')
    log, prompted = tmp_path / "starts", tmp_path / "prompted"
    add_agent(data, "mine", AGENT.format(log=str(log), prompted=str(prompted)))
    async with serving(tmp_path) as server:
        locked = await checked(server, "locked")
        assert locked["error"]["code"] == "agent_login"
        assert "Set MY_KEY for the server." in locked["error"]["message"]
        first = locked["checkedAt"]
        assert (await checked(server, "locked"))["checkedAt"] == first
        gone = await server.client.get(PATH.format("gone"))
        assert gone["error"] == {"code": "agent_missing", "message": "Gone is not installed. Build it."}
        assert (await server.client.post(PATH.format("gone"), {}, expect=202))["checking"] is False
        refused = await server.client.post(PATH.format("gone"), {"force": True}, expect=400)
        assert refused["error"]["code"] == "agent_missing"
        unknown = await server.client.get(PATH.format("none"), expect=400)
        assert unknown["error"]["code"] == "unknown_agent"
        await checked(server, "mine")
        (data / "mine.py").write_text("raise SystemExit(3)")
        broken = await checked(server, "mine", force=True)
        assert broken["error"] is not None
        assert [model["value"] for model in broken["models"]] == ["big"]


async def test_sessions_and_editors_know_it(server: Running) -> None:
    """H4: A new session has the models of its agent before its first turn; a session's agent tells newer ones, unless
    the session has variables of its own."""
    repo = await server.client.repo(server.repo())
    answer = await server.client.session(repo["id"])
    session = answer.get("session", answer)
    assert "configOptions" not in session["metadata"]
    await server.client.wait_task(await server.client.prompt(session["id"], "[[say hi]]"))
    offer = await server.client.get(PATH.format("demo"))
    assert (offer["source"], [value["value"] for value in offer["models"]]) == ("session", ["demo-small", "demo-large"])
    answer = await server.client.session(repo["id"])
    second = answer.get("session", answer)
    options = {option["id"]: option for option in second["metadata"]["configOptions"]}
    assert [value["value"] for value in options["effort"]["options"]] == ["low", "medium", "high"]
    assert (await checked(server, "demo"))["commands"]
