"""Until when a question waits for a person, by the word of its session or of the server (P4). Answering it then is
`expiry`."""

from __future__ import annotations

from bough.model.session import Session
from bough.model.times import after
from bough.settings import Settings


def deadline(session: Session, settings: Settings) -> tuple[str | None, str | None]:
    """Until when a question of a session waits, and what is answered then; nothing if it waits for ever."""
    headless = session.headless or settings.headless
    return (None, None) if headless == "wait" else (after(settings.approval_timeout * 60), headless)
