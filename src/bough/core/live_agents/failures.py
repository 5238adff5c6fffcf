"""Recognizes how an agent reports a failure (an error, a text that looks like an answer, a value in `_meta`) and turns
it into one kind of error, with the next step where there is one."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Generator
from typing import Any, cast

import msgspec

from bough.agents.acp.wire import SessionUpdate
from bough.agents.catalog import CatalogEntry
from bough.agents.errors import AgentGone, AgentRefused
from bough.agents.process.stderr import telling_line
from bough.core.live_agents.error_causes import cause, says_nothing, unwrapped
from bough.core.live_agents.reported_limits import reported_limit
from bough.errors import AgentFailed

# The error codes of agents that need a login; some pass on the status of their model's service.
LOGIN_NEEDED = (-32000, 401)
# The error code of agents that do not know the conversation, or a file of the prompt.
NOT_FOUND = -32002
# The longest excerpt of an agent's own words in an error.
LONGEST_EXCERPT = 2000


class FailureDetector:
    """Watches one agent for reports of failure."""

    def __init__(self, entry: CatalogEntry) -> None:
        self._entry = entry
        # Whether the agent reported a failure in `_meta`; it may still end the turn normally.
        self._failed = False

    def begin(self) -> None:
        """Forgets the reports of earlier turns."""
        self._failed = False

    def observe(self, update: SessionUpdate) -> None:
        """Notes whether an update reports that the turn failed."""
        pattern = self._entry.quirks.failure_meta
        if update.kind != "session_info_update" or not pattern:
            return
        path, _, expected = pattern.partition("=")
        value: Any = msgspec.json.decode(update.raw)
        for name in ("_meta", *path.split(".")):
            if not isinstance(value, dict) or name not in value:
                return
            value = cast("dict[str, Any]", value)[name]
        self._failed = str(value) == expected

    def is_noise(self, update: SessionUpdate) -> bool:
        """Tells whether an update is text of the agent that is not meant for people."""
        return update.kind == "agent_message_chunk" and any(
            re.fullmatch(pattern, (update.text or "").strip()) for pattern in self._entry.quirks.noise
        )

    def check(self, stop_reason: str, last_text: str) -> None:
        """Raises `AgentFailed` if a turn that ended normally has failed, by the agent's last text or its reports."""
        if stop_reason != "end_turn":
            return
        quirks = self._entry.quirks
        last_text = last_text.strip()
        if any(re.search(pattern, last_text) for pattern in quirks.unauthenticated):
            raise self.login_needed(last_text)
        if self._failed or any(re.search(pattern, last_text) for pattern in quirks.failures):
            if (limit := reported_limit(self._entry, last_text, quotation=self._quoted(last_text))) is not None:
                raise limit
            raise AgentFailed("agent_error", self._quoted(last_text or "The turn failed."), agent=self._entry.name)

    @contextlib.contextmanager
    def explained(self) -> Generator[None]:
        """Rewords an agent's error: a missing login or a limit becomes the next step, any other error the agent's own
        words."""
        try:
            yield
        except AgentRefused as error:
            words = cause(error)
            if says_nothing(words) and (line := telling_line(str(error.details.get("stderr") or ""), errors=True)):
                words = f"{words}: {line}".lstrip(": ")
            if error.rpc_code in LOGIN_NEEDED:
                raise self.login_needed(words) from error
            limit = reported_limit(
                self._entry, words, quotation=self._quoted(words), rpc_code=error.rpc_code, data=error.data
            )
            if limit is not None:
                raise limit from error
            if any(re.search(pattern, words) for pattern in self._entry.quirks.unauthorized):
                raise self.login_needed(words) from error
            raise AgentRefused(
                error.code, self._quoted(words), agent_message=error.agent_message, **error.details
            ) from error

    @contextlib.contextmanager
    def unbroken(self) -> Generator[None]:
        """Raises `AgentGone` in place of an error that means that the agent cannot continue: it has lost the
        conversation, or a process inside it has died. Its own process may still run."""
        try:
            yield
        except AgentFailed as error:
            refusal = error if isinstance(error, AgentRefused) else error.__cause__
            if isinstance(refusal, AgentRefused) and self._is_broken(refusal):
                details = {"agent": self._entry.name, "stderr": refusal.details.get("stderr")}
                raise AgentGone("agent_gone", self._quoted(cause(refusal)), **details) from error
            raise

    def _is_broken(self, error: AgentRefused) -> bool:
        if error.rpc_code == NOT_FOUND:
            data: Any = error.data
            # With the address of a file, it is a file of the prompt that was not found. The field may also hold the
            # id of a conversation that is lost.
            uri = str(cast("dict[str, Any]", data).get("uri", "")) if isinstance(data, dict) else ""
            return not ("://" in uri or uri.startswith("/"))
        return any(re.search(pattern, cause(error)) for pattern in self._entry.quirks.broken)

    def _quoted(self, words: str) -> str:
        return f"{self._entry.title} says: {unwrapped(words)}"[:LONGEST_EXCERPT]

    def login_needed(self, words: str) -> AgentFailed:
        """Builds the error that tells how to log in, or which variable to set."""
        entry = self._entry
        variable = self._missing_variable(words)
        if variable:
            sentence = (
                f"{entry.title} needs the environment variable {variable}, which its settings name, but it is not set. "
                f"Set it for the server and add its name to the setting agent_env, or set it for the session with "
                f"--env {variable}=VALUE."
            )
        else:
            sentence = f"{entry.title} is not logged in, or its key was refused. {entry.login.how}".strip()
        return AgentFailed("agent_login", sentence, agent=entry.name, said=words[:LONGEST_EXCERPT])

    def _missing_variable(self, words: str) -> str:
        """Returns the environment variable that the agent's words name as missing, or an empty text."""
        for pattern in (*self._entry.quirks.unauthenticated, *self._entry.quirks.unauthorized):
            match = re.search(pattern, words)
            if match is not None and (variable := match.groupdict().get("variable")):
                return variable
        return ""
