"""What agents say when something went wrong, each in its own way: an error, a text that looks like an answer, a word in
`_meta`. Here it becomes one kind of failure, with the next step where there is one."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Generator
from typing import Any, cast

import msgspec

from bough.agents.acp.wire import Update
from bough.agents.catalog import Entry
from bough.agents.errors import AgentRefused
from bough.errors import AgentFailed

# What agents answer who want to be logged in first.
LOGIN_NEEDED = -32000
# What of an agent's own words is told.
LONGEST_SAID = 2000


class Complaints:
    """Listens for what one agent complains of."""

    def __init__(self, entry: Entry) -> None:
        self._entry = entry
        # Whether the agent says that the turn failed, though it may end it well.
        self._failed = False

    def begin(self) -> None:
        """A turn begins."""
        self._failed = False

    def heard(self, update: Update) -> None:
        """An update that may hold a complaint."""
        wanted = self._entry.quirks.failure_meta
        if update.kind != "session_info_update" or not wanted:
            return
        path, _, value = wanted.partition("=")
        found: Any = msgspec.json.decode(update.raw)
        for name in ("_meta", *path.split(".")):
            if not isinstance(found, dict) or name not in found:
                return
            found = cast("dict[str, Any]", found)[name]
        self._failed = str(found) == value

    def check(self, stop_reason: str, said: str) -> None:
        """AgentFailed if a turn that ended well did not go well, by the agent's last words or by its signs."""
        if stop_reason != "end_turn":
            return
        quirks = self._entry.quirks
        said = said.strip()
        if any(re.search(pattern, said) for pattern in quirks.unauthenticated):
            raise self.login_needed(said)
        if self._failed or any(re.search(pattern, said) for pattern in quirks.failures):
            what = said or "The turn failed."
            raise AgentFailed("agent_error", f"{self._entry.title} says: {what}"[:LONGEST_SAID], agent=self._entry.name)

    @contextlib.contextmanager
    def explained(self) -> Generator[None]:
        """An agent that wants to be logged in first is a sentence with the next step."""
        try:
            yield
        except AgentRefused as error:
            if error.rpc_code != LOGIN_NEEDED:
                raise
            raise self.login_needed(error.message) from error

    def login_needed(self, said: str) -> AgentFailed:
        entry = self._entry
        sentence = f"{entry.title} is not logged in, or its key was refused. {entry.login.how}".strip()
        return AgentFailed("agent_login", sentence, agent=entry.name, said=said[:LONGEST_SAID])
