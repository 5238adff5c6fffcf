"""Opens a person's terminals during a kill run, and checks that they outlive servers and end with their worktrees (Y1,
Y2)."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import psutil
from websockets.exceptions import WebSocketException

from bough.agents.keeper_client import keeper_folder
from tests.api.worktree_helpers import at
from tests.kill.scripts.script import CheckedScript, Json
from tests.support.client import Client
from tests.support.eventually import eventually
from tests.support.terminals import viewing

# Seconds for a shell to write a file, and for a program that was ended to be gone.
WITHIN = 60.0
# Seconds for a shell to answer although its servers are killed all the time.
ANSWERS_WITHIN = 600.0


class Terminals(CheckedScript):
    """Two worktrees with one shell each. The second is removed while processes are killed."""

    name = "terminals"

    async def play(self) -> None:
        repo_id = await self.repo()
        self._stays, self._removed = [await self.worktree(repo_id, f"shell-{number}") for number in range(2)]
        self._terminal_id, self._pid = await self._open(self._stays)
        _, self._ended_pid = await self._open(self._removed)
        path = f"/api/worktrees/{self._removed['id']}?force=true"
        answer = await self.call("DELETE", path, may_refuse=True)
        while answer.get("error", {}).get("code") not in (None, "worktree_removed"):
            answer = await self.call("DELETE", path, may_refuse=True)

    async def _open(self, worktree: Json) -> tuple[str, int]:
        """Opens terminals until a shell has answered, and returns its terminal and process. A terminal whose server
        died before it started the shell is reported as ended."""
        while True:
            row = await self.call("POST", "/api/terminals", {"worktreeId": worktree["id"]}, self.key(), may_refuse=True)
            pid = await self._shell(worktree, row["id"]) if "id" in row else None
            if pid is not None:
                return row["id"], pid

    async def _shell(self, worktree: Json, terminal_id: str) -> int | None:
        """Has the shell write its process id; returns None if there is no such terminal."""
        file = Path(worktree["path"]) / "shell"
        file.unlink(missing_ok=True)

        async def settled() -> bool:
            """Types again until the file is there: a server that dies may take what was typed with it."""
            if file.exists():
                return True
            known = await self.call("GET", "/api/terminals")
            if terminal_id not in {row["id"] for row in known["terminals"]}:
                return True
            with contextlib.suppress(OSError, WebSocketException, TimeoutError, KeyError):
                async with asyncio.timeout(5):
                    await self._type(terminal_id, "echo $$ > .shell && mv .shell shell\n")
            return False

        await eventually(settled, "a shell has answered, or its terminal is gone", within=ANSWERS_WITHIN, pause=0.2)
        return int(file.read_text()) if file.exists() else None

    async def _type(self, terminal_id: str, text: str) -> None:
        async with self.server.client() as client, viewing(client, terminal_id) as view:
            await view.type(text)
            await view.until("mv .shell shell")

    async def check(self, client: Client) -> None:
        rows = (await client.get("/api/terminals"))["terminals"]
        assert [row["id"] for row in rows if row["id"] == self._terminal_id], "a terminal did not outlive its server"
        # Shells that were started for a request whose server died are there, too, but no others.
        assert {row["worktreeId"] for row in rows} == {self._stays["id"]}
        folders = {folder.name for folder in keeper_folder.list_keepers(self.data / "terminals")}
        assert folders == {row["id"] for row in rows}, "a shell is without a row, or the reverse"
        assert await self._shell(self._stays, self._terminal_id) == self._pid, "a terminal has another shell"
        await client.call("DELETE", f"/api/worktrees/{self._stays['id']}?force=true")
        for pid in (self._pid, self._ended_pid):
            await eventually(lambda pid=pid: not psutil.pid_exists(pid), f"shell {pid} has ended", within=WITHIN)
        assert (await client.get("/api/terminals"))["terminals"] == []
        assert not at(self._stays["path"]).exists() and not at(self._removed["path"]).exists()
