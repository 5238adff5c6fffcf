"""A scene to look at: three repositories in which a good deal is going on, played through a real server by the demo
agent. What is said in it is the score's part; what is looked at, the tests' and the pictures'."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.client import Client, Json
from tests.support.repos import git, make_repo
from tests.support.server import ServerProcess

from . import score
from .player import Score

PLAYER = Path(__file__).with_name("player.py")
# The scene has more roots and agents at once than one person usually does.
FLAGS = ("--max-sessions", "40", "--max-agents", "30", "--default-agent", "demo")
# How wide and high cards are on the board, about.
COLUMN, CARD, LINE = 380, 120, 36
DESCRIPTION = """\
extends = "demo"
command = ["{{python}}", {player}, {score}]
"""


@dataclass
class Scene:
    """The ids of what is worth looking at."""

    root: str
    fork: str
    child: str
    asking: str
    editing: str
    failed: str
    done: str
    race: str
    proposing: str
    proposal: str


def prepare(data: Path, played: Score) -> None:
    """Puts the player into a data folder, before its server starts; there it is known as `demo`."""
    agents = data / "agents"
    agents.mkdir(parents=True)
    path = data / "score.json"
    path.write_text(json.dumps(played), "utf-8")
    (agents / "demo.toml").write_text(
        DESCRIPTION.format(player=json.dumps(str(PLAYER)), score=json.dumps(str(path))), "utf-8"
    )


def server(folder: Path, played: Score | None = None) -> ServerProcess:
    """A server that can play the scene, or another score; `async with` starts it."""
    prepare(folder / "data", played or score.score())
    return ServerProcess(folder / "data", folder / "work", FLAGS)


async def play(running: ServerProcess, client: Client) -> Scene:
    """Plays all of it, as much as possible at once."""
    player = _Player(client, running.root)
    await player.open_repos()
    limits, editing, checkout, race, german = await asyncio.gather(
        player.limits(), player.pages(), player.shop(), player.search(), player.translate()
    )
    failed, done = checkout
    root, fork, child, asking = limits
    proposing, proposal = german
    await player.place()
    # Somebody has looked at what would otherwise be unread all over.
    seen = (root, fork, child)
    await asyncio.gather(*(client.post(f"/api/sessions/{one}/seen") for one in seen))
    return Scene(root, fork, child, asking, editing, failed, done, race, proposing, proposal)


class _Player:
    """The people of the scene."""

    def __init__(self, client: Client, root: Path) -> None:
        self._client = client
        self._root = root
        self._repos: dict[str, str] = {}

    async def open_repos(self) -> None:
        paths = await asyncio.gather(*(asyncio.to_thread(_repository, self._root / name) for name in score.FILES))
        for path in paths:
            self._repos[path.name] = (await self._client.repo(path))["id"]

    async def limits(self) -> tuple[str, str, str, str]:
        """A tree: a root at work with prompts waiting, a fork, three children, a question aside."""
        place = await self._worktree("atlas-api", "feature/rate-limits")
        root = await self._session("atlas-api", "Rate limits for the public API", place, "bypassPermissions")
        await self._client.ask(root, score.LIMIT)
        # One after the other, so that they stand in the tree in the same order each time.
        tests = await self._branch(root, "spawn", score.TESTS, title="Tests for the limiter")
        guide = await self._branch(root, "spawn", score.GUIDE, title="A page in the guide")
        asking = await self._branch(root, "spawn", score.LOAD, title="Cost under load", permissionMode="default")
        apart = {"branch": "try/sliding-window"}
        fork = await self._branch(root, "fork", score.WINDOW, title="Sliding window", worktree=apart)
        await self._reports(root, tests, guide)
        await self._client.ask(root, score.WAIT)
        await self._client.prompt(root, score.GATEWAY)
        asked = self._branch(root, "btw", score.ASIDE, title="Where the counters are")
        for words in score.QUEUED:
            await self._client.prompt(root, words)
        await asked
        await asyncio.gather(self._rest(fork), self._rest(guide), self._client.approval(asking))
        return root, fork, tests, asking

    async def pages(self) -> str:
        """A question about a change of a file."""
        place = await self._worktree("atlas-api", "fix/slow-pages")
        session = await self._session("atlas-api", "Orders are slow after page 100", place, "default")
        await self._client.prompt(session, score.PAGES)
        first = await self._client.approval(session)
        await self._client.post(f"/api/approvals/{first['id']}", {"decision": "allow"})
        async with self._client.events(session) as events:
            while (await self._client.approval(session))["toolKind"] != "edit":
                await events.next()
        return session

    async def shop(self) -> tuple[str, str]:
        """One that has failed, and one that is done and not yet looked at."""
        place = await self._worktree("storefront", "feature/checkout")
        failed, done = await asyncio.gather(
            self._session("storefront", "Checkout in three steps", place, "acceptEdits"),
            self._session("storefront", "Upgrade to React 19", None, "bypassPermissions"),
        )
        await asyncio.gather(self._client.ask(failed, score.CHECKOUT), self._client.ask(done, score.REACT))
        return failed, done

    async def search(self) -> str:
        """A race that is over and not decided."""
        session = await self._session("docs-site", "Faster search", None, "bypassPermissions")
        await self._client.ask(session, score.READ)
        contenders = [
            {"model": "demo-small", "title": "Remember results"},
            {"model": "demo-large", "title": "Index of words"},
        ]
        race = await self._client.post(
            f"/api/sessions/{session}/race", {"prompt": score.FASTER, "contenders": contenders}
        )
        await asyncio.gather(*(self._client.wait_task(one["taskId"]) for one in race["sessions"]))
        await asyncio.gather(*(self._client.post(f"/api/sessions/{one['sessionId']}/seen") for one in race["sessions"]))
        await self._client.post(f"/api/sessions/{session}/seen")
        return race["raceId"]

    async def translate(self) -> tuple[str, str]:
        """An agent that would like to begin another session."""
        session = await self._session("docs-site", "German guides", None, "default")
        await self._client.prompt(session, score.GERMAN)
        return session, (await self._client.approval(session))["id"]

    async def place(self) -> None:
        """Puts everything in its place on the board: a column for each repository."""
        cards = (await self._client.get("/api/boards/default/cards"))["cards"]
        for column, repo in enumerate(self._repos.values()):
            y = 40.0
            for card in (one for one in cards if one["repo"]["id"] == repo):
                worktree = card["worktree"]
                path = f"/api/worktrees/{worktree['id']}" if worktree else f"/api/repos/{repo}"
                await self._client.call("PATCH", path, json={"x": 40.0 + COLUMN * column, "y": y})
                y += CARD + LINE * max(1, len(card["sessions"]))

    async def _worktree(self, repo: str, branch: str) -> str:
        made = await self._client.post("/api/worktrees", {"repoId": self._repos[repo], "branch": branch})
        return made["id"]

    async def _session(self, repo: str, title: str, worktree: str | None, mode: str) -> str:
        fields: Json = {"worktreeId": worktree} if worktree else {}
        return (await self._client.session(self._repos[repo], title=title, permissionMode=mode, **fields))["id"]

    async def _branch(self, session: str, how: str, words: str, **fields: Any) -> str:
        made = await self._client.post(f"/api/sessions/{session}/{how}", {"prompt": words, **fields})
        return made["sessionId"]

    async def _rest(self, *sessions: str) -> None:
        answer = await self._client.post("/api/wait", {"sessionIds": list(sessions), "timeoutSeconds": 30})
        assert not answer["pending"], answer

    async def _reports(self, parent: str, *children: str) -> None:
        """Waits until the reports of these children were answered."""
        await self._rest(*children)
        await self._rest(parent)


def _repository(path: Path) -> Path:
    """One of the scene's repositories, with its files."""
    make_repo(path)
    for name, text in score.FILES[path.name].items():
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
        if name.startswith("scripts/"):
            file.chmod(0o755)
    git(path, "add", ".")
    git(path, "commit", "--quiet", "--message", "Add what there is.")
    return path
