"""States in one table what agents may do in each permission mode, and finds out what they do (P1)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.real_agents.helpers.agent_under_test import FULL, Real
from tests.real_agents.helpers.watch_turn import Seen, watch

RUNS, ASKS, REFUSED = "runs", "asks", "refused"

DEEDS = ("edit", "edit outside", "echo", "command", "command outside", "MCP tool")
"""The actions to try. Codex has one more: a command that asks to leave the sandbox. With FULL, the web is tried too."""
ESCALATED, FETCH = "command, escalated", "web fetch"
COMMIT, REMOVE = "commit", "rm -rf in the folder"

# The rule: what a mode grants runs, everything else is asked about, and in `plan` nothing happens at all.
GRANTED: dict[str, tuple[str, ...]] = {
    "plan": (),
    "default": (),
    "ask": (),
    "acceptEdits": ("edit",),
    "auto": ("edit", "echo", "command"),
    "on-failure": ("edit", "echo", "command"),
    "bypassPermissions": (*DEEDS, ESCALATED, FETCH),
    "allow-all": (*DEEDS, ESCALATED, FETCH),
}
MODES = tuple(GRANTED) if FULL else ("plan", "default", "acceptEdits", "auto", "bypassPermissions")

ALL = tuple(GRANTED)
CAREFUL = ("default", "ask", "acceptEdits")
FREER = ("auto", "on-failure")
FREE = ("bypassPermissions", "allow-all")

# Where an agent is coarser than the rule: agent → action → modes, and the outcome there.
COARSER: dict[str, dict[str, tuple[tuple[str, ...], str]]] = {
    "claude-code": {},
    "codex": {
        # Commands run in a read-only sandbox: those that change nothing work, the others fail without asking.
        "echo": (("plan", *CAREFUL), RUNS),
        "command": (CAREFUL, REFUSED),
        # The sandbox stays in every mode: what it refuses fails, and only a request to leave it is asked about.
        "command outside": (ALL, REFUSED),
        ESCALATED: (FREE, ASKS),
        "edit outside": (FREE, ASKS),
    },
    "gemini": {
        # Its list of harmless commands overrides the setting to ask.
        "echo": (CAREFUL, RUNS),
        # It has no folder in which commands are free.
        "command": (FREER, ASKS),
        # Its file tools reach no files outside the folder.
        "edit outside": (ALL, REFUSED),
    },
    # It has no folder in which commands are free.
    "opencode": {"echo": (FREER, ASKS), "command": (FREER, ASKS)},
    "copilot": {"echo": (FREER, ASKS), "command": (FREER, ASKS)},
    # It has a list like Gemini's.
    "qwen": {"echo": (("plan", *CAREFUL), RUNS), "command": (FREER, ASKS)},
}


def expected(agent: str, mode: str, action: str) -> str:
    """Returns the outcome of an action in a mode."""
    modes, instead = COARSER[agent].get(action, ((), ""))
    if mode in modes:
        return instead
    if mode == "plan":
        return REFUSED
    return RUNS if action in GRANTED[mode] else ASKS


@dataclass
class Trial:
    """One action to try, and how to see that it happened."""

    prompt: str
    done: Callable[[Seen], bool]


class Trials:
    """Creates new actions each time, so that their traces cannot be mixed up."""

    def __init__(self, real: Real, place: Path, web: Web | None = None) -> None:
        self._real = real
        self._place = place
        self._web = web
        self._count = 0

    def of(self, action: str) -> Trial:
        self._count += 1
        mark = f"mark{self._count}"
        actions, inside, outside = self._real.actions, self._real.repo / mark, self._place / mark
        if action == "edit":
            return Trial(actions.write(mark), lambda _: inside.exists())
        if action == "edit outside":
            return Trial(actions.write(str(outside)), lambda _: outside.exists())
        if action == "echo":
            return Trial(actions.echo(mark), lambda seen: mark in seen.said)
        if action == "command":
            return Trial(actions.shell_write(mark), lambda _: inside.exists())
        if action == "command outside":
            return Trial(actions.shell_outside(outside), lambda _: outside.exists())
        if action == ESCALATED:
            return Trial(actions.shell_outside(outside, escalate=True), lambda _: outside.exists())
        if action == COMMIT:
            log = self._real.repo / ".git" / "logs" / "HEAD"
            command = f"git -c user.name=A -c user.email=a@b.c commit --allow-empty -m {mark}"
            return Trial(actions.shell(command, escalate=True), lambda _: log.exists() and mark in log.read_text())
        if action == REMOVE:
            inside.mkdir()
            return Trial(actions.shell(f"rm -rf {mark}"), lambda _: not inside.exists())
        if action == "MCP tool":
            return Trial(actions.mcp("far", text=mark), lambda seen: f"SHOUTED[http]: {mark.upper()}" in seen.said)
        assert self._web is not None
        return _fetch(self._real.agent, self._web, mark)


@dataclass
class Web:
    """A page on this machine and the requests that it received."""

    url: str
    paths: list[str]


def _fetch(agent: str, web: Web, mark: str) -> Trial:
    """Fetches a page."""
    url = f"{web.url}/{mark}"
    tool, arguments = {
        "claude-code": ("WebFetch", {"url": url, "prompt": "What is there?"}),
        "gemini": ("web_fetch", {"prompt": f"What is at {url} ?"}),
        "opencode": ("webfetch", {"url": url, "format": "text"}),
    }[agent]

    def done(seen: Seen) -> bool:
        if agent == "opencode":
            return f"/{mark}" in web.paths
        # The others refuse addresses of this machine, but only after the request was allowed.
        return not (seen.refused or (seen.asked and not seen.allowed) or "There is no tool" in seen.said)

    return Trial(f"[[tool {tool} {json.dumps(arguments)}]]", done)


def tried(agent: str) -> list[str]:
    """Returns the actions to try with an agent; MCP servers come last, because some agents need a while to reach
    them."""
    more = [ESCALATED] if agent == "codex" else []
    web = [FETCH] if FULL and agent in ("claude-code", "gemini", "opencode") else []
    return [*DEEDS[:-1], *more, *web, DEEDS[-1]]


async def outcome(real: Real, session: str, trials: Trials, action: str) -> str:
    """Returns the outcome of an action. It denies the action when asked, then tries it again and allows it."""
    seen, done = await _attempt(real, session, trials.of(action), "deny")
    assert not (seen.asked and done), f"done although it was denied: {seen}"
    if not seen.asked:
        return RUNS if done else REFUSED
    seen, done = await _attempt(real, session, trials.of(action), "allow")
    assert seen.asked, f"asked at first, and then not: {seen}"
    return ASKS if done else f"asks, and does not do it: {seen.said}"


async def _attempt(real: Real, session: str, trial: Trial, decision: str) -> tuple[Seen, bool]:
    seen = await watch(real, session, trial.prompt, decision)
    if seen.task["attempt"] > 1:
        # Only this prompt revealed that the agent had died; the next agent is told to continue, which is not a
        # script.
        seen = await watch(real, session, trial.prompt, decision)
    assert seen.task["status"] != "failed", seen
    return seen, trial.done(seen)
