"""One real agent behind one real server, with one-line helpers for tests; `conftest` starts both."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.client import Client
from tests.support.real_agents.actions import Actions, actions_of
from tests.support.real_agents.homes import Home
from tests.support.scripted_model.running import ScriptedModel
from tests.support.server import ServerProcess

Json = dict[str, Any]

# `make test-agents FULL=1` adds the combinations that take long.
FULL = bool(os.environ.get("FULL"))
"""Why the core run leaves out a new test."""
SEED = "one\ntwo\nthree\n"


@dataclass
class Real:
    """A server whose agents are those of `home`, a client that may do everything, and a repo with a file `seed.txt`."""

    agent: str
    home: Home
    model: ScriptedModel
    server: ServerProcess
    client: Client
    repo: Path
    repo_id: str

    @property
    def actions(self) -> Actions:
        """Returns what the agent can be told to do in the repo."""
        return self.actions_in(self.repo)

    def actions_in(self, cwd: Path) -> Actions:
        """Does the same for another folder, such as a worktree."""
        return actions_of(self.agent, cwd)

    async def session(self, **fields: Any) -> str:
        """Creates a session with the agent in the repo and returns its id."""
        return (await self.client.session(self.repo_id, **({"agent": self.agent} | fields)))["id"]

    async def ask(self, session_id: str, text: str) -> Json:
        """Sends a prompt, waits for the end of its turn and returns the task."""
        return await self.client.ask(session_id, text)

    async def messages(self, session_id: str) -> list[Json]:
        return await self.client.get(f"/api/sessions/{session_id}/messages")

    async def said(self, session_id: str) -> str:
        """Returns all of the agent's texts as one."""
        return "\n".join(await self.client.texts(session_id))

    async def tools(self, session_id: str) -> list[Json]:
        """Returns the tool calls of the transcript."""
        messages = await self.messages(session_id)
        return [message["content"] for message in messages if message["content"]["type"] == "tool"]

    async def decide(self, session_id: str, decision: str) -> Json:
        """Waits for the session's next approval and answers it: `allow`, `allow_always` or `deny`."""
        approval = await self.client.approval(session_id)
        return await self.client.post(f"/api/approvals/{approval['id']}", {"decision": decision})
