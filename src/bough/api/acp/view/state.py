"""What editors show of a session besides its words: title, mode, options, commands, usage, and what waits in its queue.
Gives back what has changed; sending it is `attachment`."""

from __future__ import annotations

from typing import Any

import msgspec

from bough.agents.catalog import Catalog
from bough.api.acp.sessions import options as choices
from bough.api.acp.sessions import slash_commands
from bough.api.acp.view.shapes import Update
from bough.model.session import Session
from bough.model.task import TERMINAL, Task

LONGEST_PROMPT = 200


class State:
    """The state of one session as one editor has been told it."""

    def __init__(self, session: Session, catalog: Catalog, notices: bool) -> None:
        self._session = session
        self._catalog = catalog
        self._notices = notices
        # Tasks that have not ended, whether they are this editor's, and those that were last said to wait.
        self._open: dict[str, tuple[Task, bool]] = {}
        self._told: Update = _queue([], paused=False)

    def whole(self) -> list[Update]:
        """All of it, for an editor that opens the session; modes and options are in the answer to that."""
        updates: list[Update] = [self._commands()]
        if self._session.title:
            updates.append(self._info(title=self._session.title))
        if (usage := _usage(self._session)) is not None:
            updates.append(usage)
        return [*updates, *self._waiting()]

    def session(self, fresh: Session) -> list[Update]:
        """The session has changed."""
        known, self._session = self._session, fresh
        updates: list[Update] = []
        if fresh.title != known.title:
            updates.append(self._info(title=fresh.title or None, updatedAt=fresh.updated_at))
        if choices.modes(fresh) != choices.modes(known):
            mode = choices.modes(fresh)["currentModeId"]
            updates.append({"sessionUpdate": "current_mode_update", "currentModeId": mode})
        options = choices.options(fresh, self._catalog)
        if options != choices.options(known, self._catalog):
            updates.append({"sessionUpdate": "config_option_update", "configOptions": options})
        if slash_commands.available(fresh) != slash_commands.available(known):
            updates.append(self._commands())
        if (usage := _usage(fresh)) is not None and usage != _usage(known):
            updates.append(usage)
        return [*updates, *self._waiting()]

    def task(self, task: Task, *, mine: bool) -> list[Update]:
        """A task of the session is new, or has changed."""
        if task.status in TERMINAL:
            self._open.pop(task.id, None)
        else:
            self._open[task.id] = (task, mine)
        return self._waiting()

    def _waiting(self) -> list[Update]:
        """What waits, if that has changed. What starts at once has not waited."""
        queue = sorted(
            (one for one in self._open.values() if one[0].status == "queued"), key=lambda one: one[0].position
        )
        paused = self._session.queue_paused
        if len(queue) == len(self._open) and not paused:
            queue = queue[1:]
        before = self._told
        told = _queue(queue, paused=paused and bool(queue))
        if told == before:
            return []
        self._told = told
        updates: list[Update] = [self._info(_meta={"bough": {"queue": told}})]
        if self._notices:
            updates += self._notice(before, told)
        return updates

    def _notice(self, before: Update, told: Update) -> list[Update]:
        """Said to a person: that their own prompt waits, and for what."""
        known = {one["taskId"] for one in before["waiting"]}
        new = [place for place, one in enumerate(told["waiting"]) if one["mine"] and one["taskId"] not in known]
        if any(one["mine"] for one in told["waiting"]) and told["paused"] and not before["paused"]:
            return [_notice("The queue is paused", "Your prompt waits until somebody sends another, or resumes it.")]
        if not new:
            return []
        others = f"{new[0]} more wait before it." if new[0] else "It is next."
        return [_notice("Your prompt is queued behind the turn that runs", others)]

    def _commands(self) -> Update:
        offered = slash_commands.available(self._session)
        return {"sessionUpdate": "available_commands_update", "availableCommands": offered}

    def _info(self, **fields: Any) -> Update:
        return {"sessionUpdate": "session_info_update", **fields}


def _notice(title: str, description: str) -> Update:
    return {"sessionUpdate": "notice", "severity": "info", "title": title, "description": description}


def _queue(tasks: list[tuple[Task, bool]], *, paused: bool) -> Update:
    waiting = [
        {"taskId": task.id, "prompt": task.prompt[:LONGEST_PROMPT], "source": task.source, "mine": mine}
        for task, mine in tasks
    ]
    return {"waiting": waiting, "paused": paused}


def _usage(session: Session) -> Update | None:
    """How full the context is and what was spent, if the agent has said."""
    context: dict[str, Any] = msgspec.json.decode(session.context) if session.context is not None else {}
    used, size = context.get("used"), context.get("size")
    if type(used) is not int or type(size) is not int or used < 0 or size < 0:
        return None
    update: Update = {"sessionUpdate": "usage_update", "used": used, "size": size}
    cost: dict[str, Any] = msgspec.json.decode(session.cost) if session.cost is not None else {}
    if isinstance(cost.get("amount"), int | float) and isinstance(cost.get("currency"), str):
        update["cost"] = {"amount": cost["amount"], "currency": cost["currency"]}
    return update
