"""What a tool is: a name, what it takes and gives, whether it changes something, and a few lines that do it. Which
tools there are is `catalog`; how one is called, `calling`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

import msgspec

from bough.core.services import Services
from bough.core.state import call_rights
from bough.core.store import records
from bough.errors import Invalid
from bough.model.call import Claim
from bough.model.session import Caller, Session
from bough.storage.backend import Tx

P = TypeVar("P")

# Reading changes nothing; `change` adds or changes; `end` may take something away.
Effect = Literal["read", "change", "end"]


class Params(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """What a tool takes."""


class Changing(Params, kw_only=True):
    """What a tool takes that changes something: with a key of the caller's choice, the same call acts once."""

    idempotency_key: str | None = None


class Nothing(Params):
    """For tools that need no argument."""


@dataclass(frozen=True)
class Desk:
    """What a tool works with: the services, who calls, and by which tool."""

    services: Services
    caller: Caller
    tool: str

    async def me(self, instead: str) -> Session:
        """The session that calls; whoever is none is told what to use instead."""
        if self.caller.kind != "session" or self.caller.id is None:
            raise Invalid(
                "not_a_session",
                f"{self.tool} is about the session that calls it, and this token is no session's. {instead}",
            )
        return await self.services.sessions.get(self.caller.id)

    async def see(self, session_id: str) -> Session:
        """A session that the caller may read."""

        async def work(tx: Tx) -> Session:
            session = await records.session(tx, session_id)
            if self.caller.kind == "session" and self.caller.id not in (None, session.id):
                await call_rights.readable(tx, await records.session(tx, self.caller.id), self.tool, session)
            return session

        return await self.services.store.read(work)

    async def roots(self) -> tuple[str, ...] | None:
        """The trees that lists show the caller; none stands for all."""

        async def work(tx: Tx) -> tuple[str, ...] | None:
            if self.caller.kind != "session" or self.caller.id is None:
                return None
            session = await records.session(tx, self.caller.id)
            return None if await call_rights.opened(tx, session, self.tool) else await call_rights.reach(tx, session)

        return await self.services.store.read(work)


@dataclass(frozen=True)
class Tool(Generic[P]):
    """One tool. `run` does it; what changes something says beforehand, by `claim`, what it will do."""

    name: str
    about: str
    takes: type[P]
    # A struct, or a JSON schema.
    gives: Any
    run: Callable[[Desk, P], Awaitable[Any]]
    claim: Callable[[Desk, P], Awaitable[Claim]] | None = None
    effect: Effect = "read"
    # Whether doing it twice is the same as doing it once.
    repeatable: bool = False
    # Whether what it reads is in rows alone; a folder changes and time goes by without a row that says so.
    rows_alone: bool = True
    # An error in the shape of the result, for tools whose result has one.
    refusal: Callable[[str], Any] | None = None
