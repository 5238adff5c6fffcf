"""What agents say when something went wrong, each in its own way: an error, a text that looks like an answer, a word in
`_meta`. Here it becomes one kind of failure, with the next step where there is one; what is not meant for people is
told apart."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Generator
from typing import Any, cast

import msgspec

from bough.agents.acp.wire import Update
from bough.agents.catalog import CatalogEntry
from bough.agents.errors import AgentRefused
from bough.errors import AgentFailed

# What agents answer who want to be logged in first; some pass on what the service of their model answered.
LOGIN_NEEDED = (-32000, 401)
# What of an agent's own words is told.
LONGEST_SAID = 2000


class FailureDetector:
    """Listens for what one agent complains of."""

    def __init__(self, entry: CatalogEntry) -> None:
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

    def is_noise(self, update: Update) -> bool:
        """Whether this is text of the agent's that is not meant for people."""
        return update.kind == "agent_message_chunk" and any(
            re.fullmatch(pattern, (update.text or "").strip()) for pattern in self._entry.quirks.noise
        )

    def check(self, stop_reason: str, said: str) -> None:
        """AgentFailed if a turn that ended well did not go well, by the agent's last words or by its signs."""
        if stop_reason != "end_turn":
            return
        quirks = self._entry.quirks
        said = said.strip()
        if any(re.search(pattern, said) for pattern in quirks.unauthenticated):
            raise self.login_needed(said)
        if self._failed or any(re.search(pattern, said) for pattern in quirks.failures):
            raise AgentFailed("agent_error", self._says(said or "The turn failed."), agent=self._entry.name)

    @contextlib.contextmanager
    def explained(self) -> Generator[None]:
        """An agent that wants to be logged in first is a sentence with the next step, other errors are its words."""
        try:
            yield
        except AgentRefused as error:
            said = _plain(error)
            if error.rpc_code in LOGIN_NEEDED or any(
                re.search(pattern, said) for pattern in self._entry.quirks.unauthorized
            ):
                raise self.login_needed(said) from error
            raise AgentRefused(error.code, self._says(said), **error.details) from error

    def _says(self, said: str) -> str:
        return f"{self._entry.title} says: {_unwrapped(said)}"[:LONGEST_SAID]

    def login_needed(self, said: str) -> AgentFailed:
        entry = self._entry
        sentence = f"{entry.title} is not logged in, or its key was refused. {entry.login.how}".strip()
        return AgentFailed("agent_login", sentence, agent=entry.name, said=said[:LONGEST_SAID])


def _plain(error: AgentRefused) -> str:
    """An agent's own words, without what the connection says around them."""
    said = error.message.partition(f" refused {error.details.get('method')}: ")[2]
    return said.removesuffix(f" ({error.rpc_code})").removeprefix("Internal error: ") or error.message


def _unwrapped(said: str) -> str:
    """The message of an error that an agent passes on as the service sent it."""
    try:
        found: Any = msgspec.json.decode(said)
        return str(found["error"]["message"])
    except (msgspec.DecodeError, TypeError, KeyError, IndexError):
        return said
