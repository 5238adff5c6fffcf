"""Files in which agents keep their conversations: a hostile one leads Bough elsewhere by links, or keeps it busy."""

from __future__ import annotations

import errno
import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from bough.agents.catalog.conversation_files import LineField
from bough.agents.catalog.entry import CatalogEntry
from bough.agents.catalog.load import load_catalog
from bough.core.conversations import catch_up, history_files
from bough.core.conversations.turns_from_file import file_turns
from bough.errors import Conflict
from bough.model.values.redaction import NOTHING_SECRET
from tests.api.error_responses import refused
from tests.core.helpers import add_agent, open_session
from tests.support.outside import demo_chat
from tests.support.server import Running, serving

ID = "0199a213-81c0-7800-8aa1-bbab2a035a53"
NAME = f"rollout-2026-01-02T03-04-05-{ID}.jsonl"
DAY = "2026/01/02"
SECONDS = 20.0


class Held:
    """A user with one conversation of an agent that has a settings folder of its own for Bough's sessions."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "data"
        self.entry: CatalogEntry = load_catalog(self.data).get("codex")
        self.env = {"CODEX_HOME": str(folder / "codex"), "HOME": str(folder)}
        file = folder / "codex" / "sessions" / DAY / NAME
        file.parent.mkdir(parents=True)
        file.write_text("said\n")
        pattern = history_files.conversation_paths(self.entry, self.env, self.data, user=False)[0]
        self.sessions = Path(pattern.split("*")[0])
        self.sessions.parent.mkdir(parents=True)
        self.victim = folder / "victim"
        self.victim.mkdir()

    def link(self) -> None:
        history_files.link_file(self.entry, self.env, self.data, ID)

    def found(self) -> str | None:
        return history_files.find_file(self.entry, self.env, self.data, ID, user=False)


@pytest.mark.parametrize("depth", range(4))
def test_an_import_follows_no_link(tmp_path: Path, depth: int) -> None:
    """H2: A link that an agent put in place of a folder of its conversations leads no import elsewhere."""
    held = Held(tmp_path)
    place = held.sessions.joinpath(*DAY.split("/")[:depth])
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(held.victim)
    with pytest.raises(Conflict, match="link"):
        held.link()
    assert list(held.victim.rglob("*")) == []


@pytest.mark.parametrize("other_disk", [False, True])
def test_an_import_writes_through_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other_disk: bool) -> None:
    """H2: Nor does a link in place of the file itself, or of the copy that Bough makes on another disk."""
    held = Held(tmp_path)
    victim = held.victim / ".bashrc"
    victim.write_text("mine\n")
    day = held.sessions / DAY
    day.mkdir(parents=True)
    for name in (f"{NAME}.part", f"{NAME}.new"):
        (day / name).symlink_to(victim)
    if other_disk:

        def refuse(*_paths: Any, **_fields: Any) -> None:
            raise OSError(errno.EXDEV, "Invalid cross-device link")

        monkeypatch.setattr(os, "link", refuse)
    held.link()
    assert victim.read_text() == "mine\n"
    assert held.found() == str(day / NAME) and (day / NAME).read_text() == "said\n"


def test_no_conversation_is_read_elsewhere(tmp_path: Path) -> None:
    """H3: Bough looks for what was said outside only in the agent's own folder, not where a link in it leads."""
    held = Held(tmp_path)
    (held.victim / DAY).mkdir(parents=True)
    (held.victim / DAY / NAME).write_text("secret\n")
    held.sessions.symlink_to(held.victim)
    assert held.found() is None


def test_a_turn_of_many_lines(tmp_path: Path) -> None:
    """H2: A conversation whose one turn has very many messages is read in a time in proportion to their number."""
    entry = load_catalog(tmp_path).get("demo")
    entry.conversations.text = LineField(where={"type": "text"}, field="content")
    file = tmp_path / "conversation.jsonl"
    lines = [json.dumps({"type": "prompt", "content": "go"}), *['{"type":"text","content":"x"}'] * 60_000]
    file.write_text("\n".join(lines))
    started = time.process_time()
    (turn,), left_out, is_cut = file_turns(entry, str(file), 1 << 30, NOTHING_SECRET)
    assert (len(turn.messages), left_out, is_cut) == (60_000, 0, False)
    assert time.process_time() - started < SECONDS


async def test_comparing_holds_up_nobody(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """H3: What an agent says that its conversation holds is compared with Bough's prompts beside the event loop."""
    threads: list[threading.Thread] = []

    def compared(*arguments: Any) -> Any:
        threads.append(threading.current_thread())
        return new_turns(*arguments)

    new_turns = catch_up.new_turns
    monkeypatch.setattr(catch_up, "new_turns", compared)
    session = await open_session(server)
    await server.client.ask(session, "[[say inside]]")
    command = await server.client.post(f"/api/sessions/{session}/terminal-command")
    await demo_chat(server.data / "demo", Path(command["cwd"]), "[[say outside]]", resume=command["words"][-1])
    assert (await server.client.post(f"/api/sessions/{session}/catch-up"))["turns"] == 1
    assert threads and threading.main_thread() not in threads


@pytest.mark.parametrize("conversation_id", ["--yolo", "-cnotify=['evil']", "../x", "a\nb", "\u202ea", "x" * 201])
async def test_an_id_is_no_option(tmp_path: Path, conversation_id: str) -> None:
    """H1, H3: A conversation whose id its agent's own terminal program would take for an option or a path is not listed
    for people, and no command with such an id is shown to them."""
    add_agent(tmp_path, "odd", ["{python}", "-m", "tests.attacks.agents.names_itself", conversation_id, str(tmp_path)])
    file = tmp_path / "data" / "agents" / "odd.toml"
    file.write_text(f'{file.read_text()}[conversations]\nterminal = ["odd", "resume", "{{id}}"]\n')
    async with serving(tmp_path) as server:
        session = await open_session(server, agent="odd")
        await server.client.ask(session, "hello")
        answer = await server.client.http.post(f"/api/sessions/{session}/terminal-command")
        refused(answer, 409, "odd_conversation_id")
        page = await server.client.get("/api/conversations", params={"agent": "odd"})
        assert [conversation["id"] for conversation in page["conversations"]] == ["plain"]
