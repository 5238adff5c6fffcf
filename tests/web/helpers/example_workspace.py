"""Builds an example workspace: three repositories in which a lot is going on, played by the demo agent on a real
server. Accessibility tests and screenshots look at it; `example_script` holds its texts."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.client import Client, Json
from tests.support.repos import git, make_repo
from tests.support.server import ServerProcess
from tests.web.helpers import example_script as script
from tests.web.helpers.scripted_agent import Script

SCRIPTED_AGENT = Path(__file__).with_name("scripted_agent.py")
# The workspace has more root sessions and agents at once than a person usually does.
FLAGS = ("--max-sessions", "40", "--max-agents", "30", "--default-agent", "demo")
# The approximate size of cards on the board.
COLUMN, CARD, LINE = 380, 120, 36
DESCRIPTION = """\
extends = "demo"
command = ["{{python}}", {program}, {script}]
"""


@dataclass
class ExampleWorkspace:
    """Holds the ids of the sessions, race and approval to look at."""

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


def prepare(data: Path, prompts: Script) -> None:
    """Replaces the demo agent by the scripted one in a data folder whose server has not started yet."""
    agents = data / "agents"
    agents.mkdir(parents=True)
    path = data / "script.json"
    path.write_text(json.dumps(prompts), "utf-8")
    (agents / "demo.toml").write_text(
        DESCRIPTION.format(program=json.dumps(str(SCRIPTED_AGENT)), script=json.dumps(str(path))), "utf-8"
    )


def server(folder: Path, own_script: Script | None = None) -> ServerProcess:
    """Returns a server whose agent follows a script, by default that of the example; `async with` starts it."""
    prepare(folder / "data", own_script or script.script())
    return ServerProcess(folder / "data", folder / "work", FLAGS)


async def build(running: ServerProcess, client: Client) -> ExampleWorkspace:
    """Builds the workspace, as much of it at once as possible."""
    builder = _Builder(client, running.root)
    await builder.open_repos()
    limits, editing, checkout, race, german = await asyncio.gather(
        builder.limits(), builder.pages(), builder.shop(), builder.search(), builder.translate()
    )
    failed, done = checkout
    root, fork, child, asking = limits
    proposing, proposal = german
    await builder.place()
    # Otherwise nearly everything would be unread.
    await asyncio.gather(*(client.post(f"/api/sessions/{session}/seen") for session in (root, fork, child)))
    return ExampleWorkspace(root, fork, child, asking, editing, failed, done, race, proposing, proposal)


class _Builder:
    """Plays the people who work in the example."""

    def __init__(self, client: Client, root: Path) -> None:
        self._client = client
        self._root = root
        self._repos: dict[str, str] = {}

    async def open_repos(self) -> None:
        paths = await asyncio.gather(*(asyncio.to_thread(_repository, self._root / name) for name in script.FILES))
        for path in paths:
            self._repos[path.name] = (await self._client.repo(path))["id"]

    async def limits(self) -> tuple[str, str, str, str]:
        """Grows a tree: a working root with a queue, a fork, three children and a side question."""
        place = await self._worktree("atlas-api", "feature/rate-limits")
        root = await self._session("atlas-api", "Rate limits for the public API", place, "bypassPermissions")
        await self._client.ask(root, script.LIMIT)
        # One after the other, so that they stand in the tree in the same order each time.
        tests = await self._branch(root, "spawn", script.TESTS, title="Tests for the limiter")
        guide = await self._branch(root, "spawn", script.GUIDE, title="A page in the guide")
        asking = await self._branch(root, "spawn", script.LOAD, title="Cost under load", permissionMode="default")
        apart = {"branch": "try/sliding-window"}
        fork = await self._branch(root, "fork", script.WINDOW, title="Sliding window", worktree=apart)
        await self._reports(root, tests, guide)
        await self._client.ask(root, script.WAIT)
        await self._client.prompt(root, script.GATEWAY)
        asked = self._branch(root, "btw", script.ASIDE, title="Where the counters are")
        for words in script.QUEUED:
            await self._client.prompt(root, words)
        await asked
        await asyncio.gather(self._rest(fork), self._rest(guide), self._client.approval(asking))
        return root, fork, tests, asking

    async def pages(self) -> str:
        """Leaves an approval of a file change pending."""
        place = await self._worktree("atlas-api", "fix/slow-pages")
        session = await self._session("atlas-api", "Orders are slow after page 100", place, "default")
        await self._client.prompt(session, script.PAGES)
        first = await self._client.approval(session)
        await self._client.post(f"/api/approvals/{first['id']}", {"decision": "allow"})
        async with self._client.events(session) as events:
            while (await self._client.approval(session))["toolKind"] != "edit":
                await events.next()
        return session

    async def shop(self) -> tuple[str, str]:
        """Leaves one failed session and one finished, unread session."""
        place = await self._worktree("storefront", "feature/checkout")
        failed, done = await asyncio.gather(
            self._session("storefront", "Checkout in three steps", place, "acceptEdits"),
            self._session("storefront", "Upgrade to React 19", None, "bypassPermissions"),
        )
        await asyncio.gather(self._client.ask(failed, script.CHECKOUT), self._client.ask(done, script.REACT))
        return failed, done

    async def search(self) -> str:
        """Runs a race that is finished but not decided."""
        session = await self._session("docs-site", "Faster search", None, "bypassPermissions")
        await self._client.ask(session, script.READ)
        contenders = [
            {"model": "demo-small", "title": "Remember results"},
            {"model": "demo-large", "title": "Index of words"},
        ]
        race = await self._client.post(
            f"/api/sessions/{session}/race", {"prompt": script.FASTER, "contenders": contenders}
        )
        await asyncio.gather(*(self._client.wait_task(item["taskId"]) for item in race["sessions"]))
        await asyncio.gather(
            *(self._client.post(f"/api/sessions/{item['sessionId']}/seen") for item in race["sessions"])
        )
        await self._client.post(f"/api/sessions/{session}/seen")
        return race["raceId"]

    async def translate(self) -> tuple[str, str]:
        """Leaves an agent's request to start another session pending."""
        session = await self._session("docs-site", "German guides", None, "default")
        await self._client.prompt(session, script.GERMAN)
        return session, (await self._client.approval(session))["id"]

    async def place(self) -> None:
        """Arranges the board: one column per repository."""
        cards = (await self._client.get("/api/boards/default/cards"))["cards"]
        for column, repo in enumerate(self._repos.values()):
            y = 40.0
            for card in (item for item in cards if item["repo"]["id"] == repo):
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
        """Waits until the parent has answered the reports of these children."""
        await self._rest(*children)
        await self._rest(parent)


def _repository(path: Path) -> Path:
    """Creates one of the example's repositories with its files."""
    make_repo(path)
    for name, text in script.FILES[path.name].items():
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
        if name.startswith("scripts/"):
            file.chmod(0o755)
    git(path, "add", ".")
    git(path, "commit", "--quiet", "--message", "Add what there is.")
    return path
