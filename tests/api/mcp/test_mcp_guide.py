"""Tests that the guide is correct: its calls work, its prompts can be filled, and the docs show the same text."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
import pytest

from bough.api.mcp.protocol import guide
from bough.api.mcp.tools import all_tools
from bough.errors import Invalid
from bough.settings import Settings
from tests.support.server import Running

TOOLS = {tool.name: tool for tool in all_tools.TOOLS}
BLOCK = re.compile(r"```calls\n(.*?)```", re.DOTALL)
# A model reads about this much carefully; a token is about four characters.
MOST_CHARACTERS = 10_000


def _calls() -> list[tuple[str, dict[str, Any]]]:
    lines = [line for block in BLOCK.findall(guide.text()) for line in block.splitlines()]
    return [(name, json.loads(rest)) for name, _, rest in (line.partition(" ") for line in lines)]


def test_every_call_can_be_made() -> None:
    """5a: Every call in the guide uses valid arguments of its tool."""
    calls = _calls()
    assert len(calls) > 20
    for name, arguments in calls:
        assert msgspec.convert(arguments, TOOLS[name].takes) is not None
    modes = {arguments["mode"] for name, arguments in calls if name == "agor_sessions_prompt"}
    assert modes == {"continue", "fork", "subsession", "btw"}


def test_every_name_is_known() -> None:
    """5a: Everything in the guide and its prompts that looks like a tool is one."""
    texts = [guide.text(), *(prompt.text for prompt in guide.prompts())]
    named = {name for text in texts for name in re.findall(r"\bagor_\w+", text)}
    assert named and named <= set(TOOLS)


def test_limits_are_the_defaults() -> None:
    """B5: The limits in the guide are the defaults of the settings."""
    settings = Settings()
    text = " ".join(guide.text().split())
    words = {5: "Five"}
    assert f"{words[settings.max_depth]} levels of children, {settings.max_children} active children each" in text
    assert f"{settings.max_tree} sessions a tree, {settings.max_unattended} turns caused by agents" in text


def test_the_guide_is_short() -> None:
    """5: The guide is short enough for a model's context."""
    assert len(guide.text()) < MOST_CHARACTERS


def test_prompts() -> None:
    """5: Fills a prompt with the given values and omits the lines about the others; no placeholder is left."""
    for prompt in guide.prompts():
        assert prompt.about and prompt.text and prompt.arguments
        placed = set(re.findall(r"\{(\w+)\}", prompt.text))
        assert placed == {argument.name for argument in prompt.arguments}
        full = prompt.filled({argument.name: f"<{argument.name}>" for argument in prompt.arguments})
        assert all(f"<{name}>" in full for name in placed)
        least = prompt.filled({argument.name: "x{work}" for argument in prompt.arguments if argument.required})
        assert len(least) < len(full) and "\n\n\n" not in least
        assert not re.search(r"(?<!x)\{\w+\}", least)


def test_invalid_prompt_arguments() -> None:
    """5: Names a missing or unknown argument."""
    delegate = guide.prompt("delegate")
    with pytest.raises(Invalid, match="needs work"):
        delegate.filled({"agent": "codex", "work": "  "})
    with pytest.raises(Invalid, match="takes work, agent, report, not colour"):
        delegate.filled({"work": "x", "colour": "red"})
    with pytest.raises(Invalid, match="no prompt 'nothing'"):
        guide.prompt("nothing")


async def test_an_agent_follows_the_guide(server: Running) -> None:
    """5: An agent can follow the guide: the demo agent creates a worktree, spawns a child in it, waits for it and reads
    its answer."""
    client = server.client
    repo = await client.repo(server.repo())
    session = await client.session(repo["id"], agent="demo", permissionMode="bypassPermissions")

    async def does(tool: str, **arguments: Any) -> Any:
        assert tool in guide.text()
        await client.ask(session["id"], f"[[mcp {tool} {json.dumps(arguments)}]]")
        text = (await client.texts(session["id"]))[-1]
        return json.loads(text[text.index("{") : text.rindex("}") + 1])

    tree = await does("agor_worktrees_create", repoId=repo["id"], branch="race-1")
    spawned = await does(
        "agor_sessions_spawn", prompt="[[say Won.]]", worktreeId=tree["worktree_id"], enableCallback=False
    )
    waited = await does("agor_sessions_wait", taskIds=[spawned["taskId"]], timeoutSeconds=30)
    assert [item["status"] for item in waited["done"]] == ["completed"]
    assert (await does("agor_tasks_get", taskId=spawned["taskId"]))["result"] == "Won."
