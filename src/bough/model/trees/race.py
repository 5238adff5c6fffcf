"""A race: one prompt given to several branches of a session, of which one result is kept (B6)."""

from __future__ import annotations

from typing import Literal

import msgspec

RaceKind = Literal["fork", "spawn"]


class RaceRow(msgspec.Struct, rename="camel"):
    """A row of `races`. Its id is also the id of the notice in the transcript of the session that it began at."""

    id: str
    session_id: str
    kind: RaceKind
    prompt: str
    # The folder where the race began, the commit that holds the files of that moment, and the commit checked out then.
    cwd: str
    start_sha: str
    head_sha: str
    # The racer that was kept, and the answer that was given for it; null while the race is open.
    kept_session_id: str | None
    kept: msgspec.Raw | None
    created_at: str
    updated_at: str
