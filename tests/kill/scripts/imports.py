"""Imports conversations from outside during a kill run, and checks that each became one session (H1)."""

from __future__ import annotations

from tests.kill.scripts.script import CheckedScript
from tests.support.client import Client
from tests.support.outside import demo_chat

CONVERSATIONS = 2
TURNS = 2
IMPORT = "/api/conversations/import"


class Imports(CheckedScript):
    """Conversations that the demo agent had before Bough knew of them."""

    name = "imports"

    async def play(self) -> None:
        self._texts: dict[str, list[str]] = {}
        for number in range(CONVERSATIONS):
            folder = self.path / f"part{number}"
            folder.mkdir()
            words = [f"outside {number}.{turn}" for turn in range(TURNS)]
            await demo_chat(self.data / "demo", folder, *(f"[[say {word}]]" for word in words))
            held = await self.call("GET", "/api/conversations?agent=demo&limit=100", may_refuse=True)
            while "error" in held:
                # The agent that was asked for its conversations was killed.
                held = await self.call("GET", "/api/conversations?agent=demo&limit=100", may_refuse=True)
            (conversation_id,) = [row["id"] for row in held["conversations"] if row["folder"] == str(folder)]
            self._texts[conversation_id] = words
        self._session_ids = {conversation_id: await self._import(conversation_id) for conversation_id in self._texts}

    async def _import(self, conversation_id: str) -> str:
        """Imports a conversation until it is known, and returns its session."""
        body = {"agent": "demo", "conversationId": conversation_id}
        key = self.key()
        while True:
            answer = await self.call("POST", IMPORT, body, key, may_refuse=True)
            if "session" in answer:
                return answer["session"]["id"]
            # Otherwise the agent that was asked for it was killed.
            assert answer["error"]["code"] != "conversation_known", answer

    async def check(self, client: Client) -> None:
        for conversation_id, words in self._texts.items():
            body = {"agent": "demo", "conversationId": conversation_id}
            again = await client.post(IMPORT, body, expect=409)
            session_id = self._session_ids[conversation_id]
            assert again["error"]["details"]["sessionId"] == session_id
            tasks = (await client.get(f"/api/sessions/{session_id}/tasks"))["tasks"]
            assert [task["prompt"] for task in tasks] == [f"[[say {word}]]" for word in words]
            assert await client.texts(session_id) == words
        path = f"/api/sessions?limit=500&repoId={await self._repo_id(client)}"
        sessions = (await client.get(path))["sessions"]
        assert {session["id"] for session in sessions} == set(self._session_ids.values())
        assert len(sessions) == CONVERSATIONS

    async def _repo_id(self, client: Client) -> str:
        repos = (await client.get("/api/repos?limit=500"))["repos"]
        (repo_id,) = {repo["id"] for repo in repos if repo["path"].startswith(str(self.path))}
        return repo_id
