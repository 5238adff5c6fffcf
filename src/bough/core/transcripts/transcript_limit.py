"""Limits the size of a session's transcript. Near the limit, the output of tools is shortened and people are told once;
at the limit, the turn is stopped and the queue pauses until a person raises the limit."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from bough.core.store import records
from bough.core.store.short_ids import find_id
from bough.core.store.sql import SESSIONS
from bough.core.store.transactions import Change, Store
from bough.errors import AgentFailed, Denied
from bough.model.message import notice, raw
from bough.model.session import Caller
from bough.settings import Settings
from bough.storage.backend import Tx

NEARLY_FULL = 0.9
"""The part of the limit from which on the output of tools is shortened."""
UNLIMITED = 1 << 62
UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


class TranscriptSize(msgspec.Struct, rename="camel"):
    """The size of a session's transcript in bytes, and its limit; `ownLimit` is null if the limit is the server's."""

    used: int
    limit: int
    own_limit: int | None


class TranscriptLimit(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """The largest size of a session's transcript in bytes; null uses the server's setting."""

    limit: Annotated[int, Meta(ge=1, le=1 << 50)] | None


class StoredSize(msgspec.Struct):
    """The columns of a session that hold the size of its transcript and its own limit."""

    transcript_bytes: int
    transcript_limit: int | None


class TranscriptLimits:
    """Shows and sets the limits of transcripts."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings

    async def get(self, session_id: str) -> TranscriptSize:
        async def work(tx: Tx) -> TranscriptSize:
            return await self._size(tx, await find_id(tx, "sessions", session_id))

        return await self._store.read(work)

    async def set(self, caller: Caller, session_id: str, new: TranscriptLimit) -> TranscriptSize:
        """Sets the limit of a session's transcript. A queue that was paused at the old one stays paused."""
        if caller.kind == "session":
            raise Denied("transcript_limit_for_people", "Only people can change a transcript's limit.")

        async def work(change: Change) -> TranscriptSize:
            session = await records.session(change.tx, session_id)
            await change.tx.run(SESSIONS.limit_transcript, id=session.id, limit=new.limit)
            limit = "inherit" if new.limit is None else new.limit
            change.audit(caller, "transcript.limited", session_id=session.id, subject_id=session.id, limit=limit)
            # Clients that show the limit read it again.
            change.session("session.patched", session)
            return await self._size(change.tx, session.id)

        return await self._store.write(work)

    async def _size(self, tx: Tx, session_id: str) -> TranscriptSize:
        stored = await tx.one(SESSIONS.transcript_size, StoredSize, id=session_id)
        assert stored is not None
        limit = stored.transcript_limit or self._settings.max_transcript
        return TranscriptSize(stored.transcript_bytes, limit, stored.transcript_limit)


class TranscriptGrowth:
    """Follows the size of a transcript while a turn is recorded."""

    def __init__(self, limit: int = UNLIMITED) -> None:
        """Takes the limit for sessions without their own."""
        self._default = limit
        self.limit = limit
        # Whether the output of tools is shortened, and whether nothing more is stored.
        self.nearly_full = False
        self.full = False
        self._told: int | None = None

    def begin(self) -> None:
        """Starts a turn. A person may have raised the limit since the last one."""
        self.full = self.nearly_full = False

    async def grow(self, change: Change, session_id: str, task_id: str | None, size: int) -> StoredSize | None:
        """Adds to the stored size. Tells people once, in the same transaction, that a transcript is nearly full."""
        stored = await change.tx.one(SESSIONS.grow, StoredSize, id=session_id, size=size)
        if stored is None:
            return None
        limit = stored.transcript_limit or self._default
        if stored.transcript_bytes >= limit * NEARLY_FULL and self._told != limit:
            await _tell(change, session_id, task_id, limit)
        return stored

    def observe(self, stored: StoredSize | None) -> None:
        """Takes the size that a transaction has stored."""
        if stored is None:
            return
        self.limit = stored.transcript_limit or self._default
        self.nearly_full = stored.transcript_bytes >= self.limit * NEARLY_FULL
        self.full = stored.transcript_bytes >= self.limit
        if self.nearly_full:
            self._told = self.limit


async def check(tx: Tx, session_id: str, settings: Settings) -> None:
    """Raises `AgentFailed` (`transcript_full`) if a session's transcript has reached its limit."""
    stored = await tx.one(SESSIONS.transcript_size, StoredSize, id=session_id)
    if stored is not None and stored.transcript_bytes >= (limit := stored.transcript_limit or settings.max_transcript):
        raise AgentFailed(
            "transcript_full", f"The transcript of this session has reached its limit of {_size(limit)}. {_ADVICE}"
        )


def stopped(limit: int) -> AgentFailed:
    """Builds the error of a turn that was stopped at the limit."""
    return AgentFailed(
        "transcript_full",
        f"The turn was stopped, because the transcript of this session has reached its limit of {_size(limit)}. What "
        f"the agent said after that is not stored. {_ADVICE}",
    )


_ADVICE = (
    "Raise the limit in the session's settings or with `bough session transcript SESSION --limit SIZE`, or fork the "
    "session: a fork knows the conversation and starts with an empty transcript."
)


async def _tell(change: Change, session_id: str, task_id: str | None, limit: int) -> None:
    """Adds a notice about a limit, once per session and limit."""
    text = (
        f"The transcript of this session has reached {NEARLY_FULL:.0%} of its limit of {_size(limit)}. The output of "
        "tools is shortened from now on, and at the limit the turn is stopped. Raise the limit in the session's "
        "settings or with `bough session transcript SESSION --limit SIZE`."
    )
    session = await records.session(change.tx, session_id)
    known = session.metadata.told_texts
    if text not in known:
        await records.add_message(change, session_id, task_id, "system", notice(text))
        await records.update_session(change, session_id, told_notices=raw([*known, text]))


def _size(number: int) -> str:
    """Returns a number of bytes for people."""
    for unit, name in UNITS:
        if number >= unit:
            return f"{number / unit:.4g} {name}"
    return f"{number} bytes"
