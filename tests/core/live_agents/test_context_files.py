"""Tests context files (R4c): they reach the agent with their text or as links, and leave the prompt untouched."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from bough.agents.acp.types import ResourceBlock, ResourceLinkBlock, TextBlock
from bough.core.live_agents.start.context import AFTER_FILES, with_preface
from bough.core.state import context_files
from bough.core.state.context_files import context_blocks
from bough.model.agents.sandbox import Confinement
from tests.support.server import Running


class _Folder(msgspec.Struct):
    cwd: str
    confinement: Confinement | None


def blocks(folder: Path, *names: str, embed: bool = True, confinement: Confinement | None = "unconfined") -> list[Any]:
    session: Any = _Folder(str(folder), confinement)
    return context_blocks(session, [str(folder / name) for name in names], embed=embed)


async def test_the_text_reaches_the_agent(server: Running) -> None:
    """R4c: The first prompt comes with the files' text, and a file that is added later with the next one."""
    repo = server.repo()
    (repo / "notes.md").write_text("Feed the heron.", "utf-8")
    known = await server.client.repo(repo)
    session = await server.client.session(known["id"], contextFiles=["notes.md"], sandbox="off")
    await server.client.ask(session["id"], "[[recall]]")
    (recalled,) = await server.client.texts(session["id"])
    assert "Feed the heron." in recalled and recalled.endswith("[[recall]]")
    (repo / "more.md").write_text("Then the otter.", "utf-8")
    files = {"contextFiles": ["notes.md", "more.md"]}
    await server.client.call("PATCH", f"/api/sessions/{session['id']}", json=files)
    await server.client.ask(session["id"], "[[recall]]")
    again = (await server.client.texts(session["id"]))[-1]
    assert again.count("Feed the heron.") == 1 and again.count("Then the otter.") == 1
    messages = await server.client.get(f"/api/sessions/{session['id']}/messages")
    assert messages[0]["content"] == {"type": "text", "text": "[[recall]]"}


async def test_a_terminal_runs_exactly_the_prompt(server: Running) -> None:
    """R4c: A command is not changed by context files."""
    repo = server.repo()
    known = await server.client.repo(repo)
    fields = {"agent": "terminal", "permissionMode": "bypassPermissions", "contextFiles": ["README.md"]}
    session = await server.client.session(known["id"], **fields)
    await server.client.ask(session["id"], "echo hi")
    messages = await server.client.get(f"/api/sessions/{session['id']}/messages")
    (tool,) = [message["content"] for message in messages if message["content"]["type"] == "tool"]
    assert "\necho hi" not in str(tool["args"]) + tool["title"] and "echo hi" in tool["title"]


def test_the_prompt_stays(tmp_path: Path) -> None:
    """R4c: A line separates the files from the prompt, in a block of its own."""
    (tmp_path / "a").write_text("a", "utf-8")
    prompt = TextBlock(text="echo hi")
    for embed in (True, False):
        files = blocks(tmp_path, "a", embed=embed)
        assert with_preface(files, [prompt]) == [*files, TextBlock(text=AFTER_FILES), prompt]
    assert with_preface([], [prompt]) == [prompt]


def test_files_that_are_only_linked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """R4c: A link stands for a file that is large, not a text, missing or a pipe, and for agents that take no text."""
    monkeypatch.setattr(context_files, "LARGEST_EMBEDDED", 10)
    monkeypatch.setattr(context_files, "LARGEST_TOGETHER", 15)
    contents = {"small": b"123456789", "large": b"x" * 11, "binary": b"\xff\xfe", "nul": b"a\0b", "rest": b"1234567"}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    os.mkfifo(tmp_path / "pipe")
    made = blocks(tmp_path, *contents, "missing", "pipe")
    assert [type(block) for block in made] == [ResourceBlock, *[ResourceLinkBlock] * 6]
    assert made[0].resource.text == "123456789"
    assert made[1].name == "large" and made[1].uri == (tmp_path / "large").as_uri()
    assert isinstance(blocks(tmp_path, "small", embed=False)[0], ResourceLinkBlock)


@pytest.mark.parametrize("confinement", [*sorted({*get_args(Confinement)} - {"unconfined"}), None])
def test_a_confined_agent_gets_links(tmp_path: Path, confinement: Confinement | None) -> None:
    """R4c, S6: Bough reads no file for an agent in a box, nor for one that has not been started."""
    (tmp_path / "small").write_text("small", "utf-8")
    assert isinstance(blocks(tmp_path, "small", confinement=confinement)[0], ResourceLinkBlock)


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    """R4c, W3: A file that was replaced by a link, or whose folder was, is not read for the agent."""
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("hidden", "utf-8")
    work = tmp_path / "work"
    (work / "inner").mkdir(parents=True)
    (work / "file").symlink_to(secret / "key")
    (work / "inner" / "key").write_text("fine", "utf-8")
    assert isinstance(blocks(work, "inner/key")[0], ResourceBlock)
    (work / "inner" / "key").unlink()
    (work / "inner").rmdir()
    (work / "inner").symlink_to(secret)
    assert all(isinstance(block, ResourceLinkBlock) for block in blocks(work, "file", "inner/key"))
