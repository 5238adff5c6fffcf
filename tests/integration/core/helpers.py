"""What the tests of the running core share: agents of one's own in the catalog, and sessions in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bough.testing.client import Client
from bough.testing.server import Running


def add_agent(folder: Path, name: str, command: list[str], **fields: Any) -> None:
    """Puts an agent into the catalog of a server that is yet to start below `folder`."""
    agents = folder / "data" / "agents"
    agents.mkdir(parents=True, exist_ok=True)
    lines = [f'title = "{name}"', f"command = {json.dumps(command)}"]
    lines += [f"{key.replace('_', '-')} = {json.dumps(value)}" for key, value in fields.items()]
    (agents / f"{name}.toml").write_text("\n".join(lines) + "\n", "utf-8")


def misbehaving(folder: Path, name: str) -> None:
    """Puts one of the misbehaving agents into the catalog."""
    add_agent(folder, name, ["{python}", "-m", f"bough.testing.agents.{name}"])


async def open_session(server: Running, **fields: Any) -> str:
    """A session in a repository of its own."""
    client: Client = server.client
    number = len(list(server.root.iterdir()))
    repo = await client.repo(server.repo(f"repo{number}"))
    return (await client.session(repo["id"], **fields))["id"]


async def messages(client: Client, session_id: str, kind: str) -> list[dict[str, Any]]:
    """The contents of one type in a transcript."""
    found = await client.get(f"/api/sessions/{session_id}/messages")
    return [one["content"] for one in found if one["content"]["type"] == kind]
