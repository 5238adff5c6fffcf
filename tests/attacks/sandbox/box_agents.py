"""Helpers for attacks on the sandbox: sessions that run commands without questions, and a home folder with secrets."""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bough.agents.sandbox.detect import detect
from tests.core.helpers import messages
from tests.support.client import Client
from tests.support.server import Running

available = detect()
needs_sandbox = pytest.mark.skipif(available.program is None, reason=available.reason or "the sandbox works")


def make_home(folder: Path) -> Path:
    """Creates a home folder that holds what an attacker looks for."""
    for name in (".ssh/id_ed25519", ".aws/credentials", ".config/gcloud/token", ".netrc", ".kube/config", ".notes"):
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"secret of {name}\n")
    (folder / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.com\n")
    return folder


async def run(client: Client, session: str, command: str) -> str:
    """Runs a command in a session's agent and returns its output, whatever its exit code."""
    await client.ask(session, f"[[run {command}]]")
    return (await messages(client, session, "tool"))[-1]["result"]["output"]["output"]


def disguised(command: str) -> str:
    """Returns a command that does the same, but does not show policy which paths it names."""
    return f"echo {base64.b64encode(command.encode()).decode()} | base64 -d | sh"


def outside(path: Path) -> list[str]:
    """Returns the names of everything below a folder, to see that an attack changed nothing."""
    return sorted(os.path.relpath(os.path.join(top, name), path) for top, _, names in os.walk(path) for name in names)


@dataclass
class Boxed:
    """A server whose agents are confined, with the home folder that they see."""

    server: Running
    home: Path
    repo: Path
    repo_id: str

    @property
    def client(self) -> Client:
        return self.server.client

    async def session(self, **fields: Any) -> str:
        fields = {"permissionMode": "bypassPermissions", "env": {"HOME": str(self.home)}} | fields
        return (await self.client.session(self.repo_id, **fields))["id"]

    async def run(self, session: str, command: str) -> str:
        return await run(self.client, session, command)
