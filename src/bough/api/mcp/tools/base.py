"""Defines what a tool is: its name, description, parameters, result, effect, and the function that runs it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

import msgspec

from bough.api.mcp.tools.shared_wording import Id
from bough.core.services import Services
from bough.errors import Invalid
from bough.model.call import Claim
from bough.model.session import Caller, Session
from bough.model.task import Task

P = TypeVar("P")

# `read` changes nothing, `change` adds or changes something, `end` may remove or stop something.
Effect = Literal["read", "change", "end"]


class Params(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """The parameters of a tool."""


class ChangingParams(Params, kw_only=True):
    """The parameters of a tool that changes something; calls with the same idempotency key act once."""

    idempotency_key: str | None = None


class SessionById(Params):
    """The parameters of a tool that takes only a session."""

    session_id: Id


class NoArguments(Params):
    """The parameters of a tool that takes none."""


@dataclass(frozen=True)
class ToolContext:
    """Holds what a tool function receives: the services, the caller, the tool's name, and what its claim expected."""

    services: Services
    caller: Caller
    tool: str
    expected: Mapping[str, str] = field(default_factory=dict[str, str])

    async def own_session(self, instead: str) -> Session:
        """Returns the calling session. Raises `Invalid` if the caller is not a session; `instead` says what to use."""
        if self.caller.kind != "session" or self.caller.id is None:
            raise Invalid(
                "not_a_session",
                f"{self.tool} is about the calling session, but this token does not belong to a session. {instead}",
            )
        return await self.services.sessions.get(self.caller.id)

    async def readable_session(self, session_id: str) -> Session:
        """Returns a session that the caller may read; raises `Denied` otherwise."""
        return await self.services.calls.readable_session(self.caller, self.tool, session_id)

    async def readable_task(self, task_id: str) -> Task:
        """Returns a task of a session that the caller may read, or one that the caller was allowed to send."""
        task = await self.services.tasks.get(task_id)
        sent = self.caller.kind == "session" and task.source_session_id == self.caller.id
        # A report names the session that it comes from, but its turn belongs to the receiver.
        if not sent or task.source not in ("session", "btw"):
            await self.readable_session(task.session_id)
        return task

    @property
    def lists_all(self) -> bool:
        """Whether names, folders and statuses of all sessions are shown to the caller."""
        return self.services.settings.listed_sessions == "all"

    async def readable_roots(self) -> tuple[str, ...] | None:
        """Returns the roots of the trees that lists show the caller; None means all."""
        return await self.services.calls.readable_roots(self.caller, self.tool)


@dataclass(frozen=True)
class Tool(Generic[P]):
    """A tool. `run` does the work; a tool that changes something also has `claim`, which describes the change first."""

    name: str
    about: str
    takes: type[P]
    # A struct, or a JSON schema.
    gives: Any
    run: Callable[[ToolContext, P], Awaitable[Any]]
    claim: Callable[[ToolContext, P], Awaitable[Claim]] | None = None
    effect: Effect = "read"
    # Whether repeating it has no further effect.
    repeatable: bool = False
    # Whether its result depends on database rows only, and not on folders or the time.
    only_rows: bool = True
    # Builds the result for an error, for tools whose result has a place for it.
    refusal: Callable[[str], Any] | None = None
