"""Tests what the recorder may store before the end of a turn, and what only with it."""

from __future__ import annotations

from bough.agents.acp.wire import SessionUpdate
from bough.core.store.transactions import Change
from bough.core.transcripts.fold import Fold
from bough.core.transcripts.recorder import Recorder
from tests.core.helpers import messages, open_session
from tests.support.server import Running


def said(text: str, message_id: str | None = None) -> SessionUpdate:
    return SessionUpdate("s", "agent_message_chunk", text, message_id, b"")


def test_text_without_an_id_is_not_added_to_a_message_with_one() -> None:
    """R4: An error that an agent writes as text after a partial answer is a message of its own."""
    fold = Fold()
    fold.add([said("Half an ", "m1"), said("answer", "m1"), said("You hit your limit."), said(" Wait.")])
    assert fold.last_text() == "You hit your limit. Wait."
    assert [entry.text() for entry in fold.dirty] == ["Half an answer", "You hit your limit. Wait."]


async def test_the_last_text_is_stored_before_the_end_but_not_the_answer(server: Running) -> None:
    """O2: A turn whose end is not stored yet is found again with its answer unread, and no text is stored twice."""
    session = await open_session(server)
    recorder = Recorder(server.services.store, server.services.hub, session, "nobody")
    stored: list[int] = []
    recorder.confirm_to(stored.append)

    recorder.take([said("one")], 1)
    recorder.received(2, hold=True)
    await recorder.flush()
    assert stored == [1] and recorder.last == 2
    assert [message["text"] for message in await messages(server.client, session, "text")] == ["one"]

    # What follows the answer cannot be stored without it.
    recorder.take([said(" two")], 3)
    await recorder.flush()
    assert stored == [1]

    async def end(_change: Change) -> None: ...

    await recorder.finish(end)
    assert stored == [1, 3]
    assert [message["text"] for message in await messages(server.client, session, "text")] == ["one two"]

    recorder.take([said(" three")], 4)
    await recorder.flush()
    assert stored == [1, 3, 4]
