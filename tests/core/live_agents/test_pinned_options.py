"""Tests options that would grant rights besides the mode: each prompt finds them as the catalog pins them, and only
people change that. `test_self_granted_rights` and `test_ignored_modes` test modes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bough.agents.catalog import load_catalog
from tests.core.helpers import add_agent, messages, open_session
from tests.support.eventually import eventually
from tests.support.server import serving

PROGRAM = Path(__file__).with_name("agent_with_full_rights_option.py")


def add_full_rights_agent(folder: Path, how: str) -> Path:
    """Adds the agent to the catalog, and returns the file where it records its prompts."""
    received = folder / "heard.txt"
    add_agent(folder, how, ["{python}", str(PROGRAM), how, str(received)])
    with (folder / "data" / "agents" / f"{how}.toml").open("a") as entry:
        entry.write('[pinned-options]\neverything = "off"\n')
    return received


def test_copilot_asks_in_every_mode(tmp_path: Path) -> None:
    """P1: Copilot's option that asks about nothing is off, and no variable can turn it on."""
    entry = load_catalog(tmp_path).get("copilot")
    assert entry.pinned_options == {"allow_all": "off"}
    assert "COPILOT_ALLOW_ALL" in entry.hide


@pytest.mark.parametrize("how", ["plain", "silent"])
async def test_a_pinned_option_is_set_before_each_prompt(tmp_path: Path, how: str) -> None:
    """P2: Sets the option even if the agent does not report it, and again if it has changed since."""
    received = add_full_rights_agent(tmp_path, how)
    async with serving(tmp_path) as server:
        session = await open_session(server, agent=how, permissionMode="allow-all")
        client = server.client
        for text in ("go", "end"):
            assert (await client.ask(session, text))["status"] == "completed"

        async def is_loose() -> bool:
            return '"currentValue": "on"' in json.dumps(await client.get(f"/api/sessions/{session}"))

        # It changes the option only after its answer, which may be a while later.
        await eventually(is_loose, "the agent has changed its option")
        assert (await client.ask(session, "go"))["status"] == "completed"
        assert received.read_text().splitlines() == ["go: off", "end: off", "go: off"]
        assert await messages(server.client, session, "notice") == []


async def test_a_pinned_option_is_set_back_during_a_turn(tmp_path: Path) -> None:
    """P2: An agent that gives itself more rights by an option loses them within the turn, and people are notified."""
    add_full_rights_agent(tmp_path, "plain")
    async with serving(tmp_path) as server:
        session = await open_session(server, agent="plain", permissionMode="allow-all")
        async with server.client.events(session) as events:
            assert (await server.client.ask(session, "loosen"))["status"] == "completed"
            event = await events.until(lambda event: event["type"].startswith("message.") and "itself" in str(event))
        assert "set everything to 'on' by itself and was reset" in event["data"]["content"]["text"]


@pytest.mark.parametrize(
    ("how", "sentence"), [("liar", "keeps it at 'on'"), ("without", "has no such option"), ("refuses", "refuses that")]
)
async def test_a_pinned_option_that_is_not_accepted(tmp_path: Path, how: str, sentence: str) -> None:
    """P2: An agent that reports another value, or has no such option, gets no prompt."""
    received = add_full_rights_agent(tmp_path, how)
    async with serving(tmp_path) as server:
        session = await open_session(server, agent=how)
        task = await server.client.ask(session, "go")
        assert (task["status"], task["error"]["code"]) == ("failed", "mode_not_taken")
        assert sentence in task["error"]["message"] and "'off'" in task["error"]["message"]
        assert not received.exists()


async def test_an_agent_that_refuses_a_pinned_option_is_ended(tmp_path: Path) -> None:
    """P2: Ends an agent that refuses to return rights, and notifies people."""
    add_full_rights_agent(tmp_path, "stubborn")
    async with serving(tmp_path, max_deaths=1) as server:
        session = await open_session(server, agent="stubborn")
        assert (await server.client.ask(session, "loosen"))["status"] == "failed"

        async def is_told() -> bool | None:
            texts = [item["text"] for item in await messages(server.client, session, "notice")]
            return any("set everything to 'on' by itself" in text and "it is ended" in text for text in texts) or None

        # The agent ends before the notice is stored.
        await server.client.eventually(is_told, "people are told")
