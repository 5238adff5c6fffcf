"""Builds the updates about a session other than its transcript: title, mode, options, commands, usage and queue."""

from __future__ import annotations

from typing import Any

import msgspec

from bough.agents.catalog import Catalog
from bough.api.acp.view import commands
from bough.api.acp.view import options as session_options
from bough.api.acp.view.shapes import Update
from bough.model.session import Session
from bough.model.task import TERMINAL, Task

LONGEST_PROMPT = 200


class ShownSession:
    """The state of one session as one editor knows it."""

    def __init__(self, session: Session, catalog: Catalog, notices: bool) -> None:
        self._session = session
        self._catalog = catalog
        self._notices = notices
        # Tasks that have not ended and whether they are this editor's, and the queue as last sent.
        self._open: dict[str, tuple[Task, bool]] = {}
        self._sent_queue: Update = _queue([], paused=False)

    def whole(self) -> list[Update]:
        """Returns the full state for an editor that opens the session; the answer itself has modes and options."""
        updates: list[Update] = [self._commands()]
        if self._session.title:
            updates.append(self._info(title=self._session.title))
        if (usage := _usage(self._session)) is not None:
            updates.append(usage)
        return [*updates, *self._waiting()]

    def session(self, fresh: Session) -> list[Update]:
        """Returns the updates for a changed session."""
        previous, self._session = self._session, fresh
        updates: list[Update] = []
        if fresh.title != previous.title:
            updates.append(self._info(title=fresh.title or None, updatedAt=fresh.updated_at))
        if session_options.modes(fresh) != session_options.modes(previous):
            mode = session_options.modes(fresh)["currentModeId"]
            updates.append({"sessionUpdate": "current_mode_update", "currentModeId": mode})
        options = session_options.options(fresh, self._catalog)
        if options != session_options.options(previous, self._catalog):
            updates.append({"sessionUpdate": "config_option_update", "configOptions": options})
        if commands.available(fresh) != commands.available(previous):
            updates.append(self._commands())
        if (usage := _usage(fresh)) is not None and usage != _usage(previous):
            updates.append(usage)
        return [*updates, *self._waiting()]

    def task(self, task: Task, *, mine: bool) -> list[Update]:
        """Returns the updates for a new or changed task."""
        if task.status in TERMINAL:
            self._open.pop(task.id, None)
        else:
            self._open[task.id] = (task, mine)
        return self._waiting()

    def _waiting(self) -> list[Update]:
        """Returns the queue if it has changed; a prompt that starts at once is not queued."""
        queue = sorted(
            (entry for entry in self._open.values() if entry[0].status == "queued"), key=lambda entry: entry[0].position
        )
        paused = self._session.queue_paused
        if len(queue) == len(self._open) and not paused:
            queue = queue[1:]
        before = self._sent_queue
        current = _queue(queue, paused=paused and bool(queue))
        if current == before:
            return []
        self._sent_queue = current
        updates: list[Update] = [self._info(_meta={"bough": {"queue": current}})]
        if self._notices:
            updates += self._notice(before, current)
        return updates

    def _notice(self, before: Update, current: Update) -> list[Update]:
        """Returns the notice that tells a person that their own prompt is queued."""
        queued_before = {entry["taskId"] for entry in before["waiting"]}
        new = [
            index
            for index, entry in enumerate(current["waiting"])
            if entry["mine"] and entry["taskId"] not in queued_before
        ]
        if any(entry["mine"] for entry in current["waiting"]) and current["paused"] and not before["paused"]:
            reason = self._session.metadata.pause_reason
            resumes = "Sending another prompt resumes it."
            return [_notice("Queue paused", f"{reason} {resumes}" if reason else resumes)]
        if not new:
            return []
        others = f"{new[0]} prompts are queued before it." if new[0] else "It is next."
        return [_notice("Your prompt is queued behind the running turn", others)]

    def _commands(self) -> Update:
        offered = commands.available(self._session)
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
    """Returns the context's usage and the cost, if the agent has reported them."""
    context: dict[str, Any] = msgspec.json.decode(session.context) if session.context is not None else {}
    used, size = context.get("used"), context.get("size")
    if type(used) is not int or type(size) is not int or used < 0 or size < 0:
        return None
    update: Update = {"sessionUpdate": "usage_update", "used": used, "size": size}
    cost: dict[str, Any] = msgspec.json.decode(session.cost) if session.cost is not None else {}
    if isinstance(cost.get("amount"), int | float) and isinstance(cost.get("currency"), str):
        update["cost"] = {"amount": cost["amount"], "currency": cost["currency"]}
    return update
