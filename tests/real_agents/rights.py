"""What agents may do in each permission mode, as one table, and how one sees what they do (P1). Doing it, mode by mode,
is up to the tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .real import FULL, Real
from .watching import Seen, watch

RUNS, ASKS, REFUSED = "runs", "asks", "refused"

DEEDS = ("edit", "edit outside", "echo", "command", "command outside", "MCP tool")
"""What is tried. Codex knows one more: a command that asks to leave the sandbox. With FULL, the web is tried too."""
ESCALATED, FETCH = "command, escalated", "web fetch"

# The rule: what a mode grants runs, the rest is asked about, and in `plan` nothing happens at all.
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

# Where an agent is coarser than the rule: agent → action → in which modes, and what becomes of it there.
COARSER: dict[str, dict[str, tuple[tuple[str, ...], str]]] = {
    "claude-code": {},
    "codex": {
        # Commands run in a sandbox that cannot be written: they do what changes nothing, and fail at the rest unasked.
        "echo": (("plan", *CAREFUL), RUNS),
        "command": (CAREFUL, REFUSED),
        # The sandbox stays in every mode, also when nobody is asked; only what asks to leave it is asked about.
        "command outside": (ALL, REFUSED),
        ESCALATED: (FREE, REFUSED),
        "edit outside": (FREE, REFUSED),
    },
    "gemini": {
        # Its list of harmless commands counts more than being told to ask.
        "echo": (CAREFUL, RUNS),
        # It knows no folder in which commands would be free.
        "command": (FREER, ASKS),
        # Its file tools know no files outside the folder.
        "edit outside": (ALL, REFUSED),
    },
    # It knows no folder in which commands would be free.
    "opencode": {"echo": (FREER, ASKS), "command": (FREER, ASKS)},
    "copilot": {"echo": (FREER, ASKS), "command": (FREER, ASKS)},
    # It has a list like Gemini's.
    "qwen": {"echo": (("plan", *CAREFUL), RUNS), "command": (FREER, ASKS)},
}


def expected(agent: str, mode: str, action: str) -> str:
    """What becomes of a action in a mode."""
    modes, instead = COARSER[agent].get(action, ((), ""))
    if mode in modes:
        return instead
    if mode == "plan":
        return REFUSED
    return RUNS if action in GRANTED[mode] else ASKS


@dataclass
class Trial:
    """A action, ready to be done once, and how one sees that it was."""

    prompt: str
    done: Callable[[Seen], bool]


class Trials:
    """Makes each action anew each time, so that no trace of one is taken for another's."""

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
        if action == "MCP tool":
            return Trial(actions.mcp("far", text=mark), lambda seen: f"SHOUTED[http]: {mark.upper()}" in seen.said)
        assert self._web is not None
        return _fetch(self._real.agent, self._web, mark)


@dataclass
class Web:
    """A page on this machine, and what was asked of it."""

    url: str
    paths: list[str]


def _fetch(agent: str, web: Web, mark: str) -> Trial:
    """Looks at a page."""
    url = f"{web.url}/{mark}"
    tool, arguments = {
        "claude-code": ("WebFetch", {"url": url, "prompt": "What is there?"}),
        "gemini": ("web_fetch", {"prompt": f"What is at {url} ?"}),
        "opencode": ("webfetch", {"url": url, "format": "text"}),
    }[agent]

    def done(seen: Seen) -> bool:
        if agent == "opencode":
            return f"/{mark}" in web.paths
        # The others refuse addresses of this machine, but only after they were let.
        return not (seen.refused or (seen.asked and not seen.allowed) or "There is no tool" in seen.said)

    return Trial(f"[[tool {tool} {json.dumps(arguments)}]]", done)


def tried(agent: str) -> list[str]:
    """The actions that an agent is tried with; MCP servers come last, since some agents need a while to reach them."""
    more = [ESCALATED] if agent == "codex" else []
    web = [FETCH] if FULL and agent in ("claude-code", "gemini", "opencode") else []
    return [*DEEDS[:-1], *more, *web, DEEDS[-1]]


async def outcome(real: Real, session: str, trials: Trials, action: str) -> str:
    """What becomes of a action: it is denied when it is asked about, and then tried once more and allowed."""
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
        # Its death was noticed only by the prompt; another one was told to go on, which is no script.
        seen = await watch(real, session, trial.prompt, decision)
    assert seen.task["status"] != "failed", seen
    return seen, trial.done(seen)
