"""Records one live session: folds what the agent sends, publishes it as it grows and stores it in few writes. `fold`
decides what to write, the recorder decides when."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import msgspec
import structlog

from bough.agents.acp.wire import SessionUpdate
from bough.agents.catalog.entry import ToolVocabulary
from bough.agents.wait_shielded import shielded
from bough.core.events.hub import Hub
from bough.core.store import records
from bough.core.store.sql import KEEPERS, MESSAGES, SESSIONS
from bough.core.store.transactions import Change, Store
from bough.core.transcripts.agent_state import shown_state, store_state
from bough.core.transcripts.ended_calls import EndedCalls
from bough.core.transcripts.fold import STATE, Fold
from bough.core.transcripts.growing_message import SPOKEN_KINDS, GrowingMessage
from bough.core.transcripts.transcript_limit import UNLIMITED, StoredSize, TranscriptGrowth
from bough.errors import Unavailable
from bough.model.message import Message, Role, raw
from bough.model.values.redaction import NOTHING_SECRET, Redactor

T = TypeVar("T")

log = structlog.get_logger("bough.recorder")

# The shortest time between writes of a growing message; longer messages are written less often, because each write
# holds the whole text.
GROWTH_PAUSE = 0.25
GROWTH_PAUSE_PER_MIB = 1.0
# New messages are written at once, but a flood is batched for a hundredth of a second.
NEWS_PAUSE = 0.01
# With more than this unwritten, the agent has to wait.
MOST_UNWRITTEN = 8 * 1024 * 1024
# How long to wait before writing again after a database error.
RETRY_PAUSE = 1.0


class MessageWrite(msgspec.Struct):
    """One message as it was when the transaction was prepared."""

    entry: GrowingMessage
    id: str
    role: Role
    content: msgspec.Raw
    is_new: bool
    announce: bool


class Recorder:
    """Keeps one session's transcript up to date while its agent runs."""

    def __init__(
        self,
        store: Store,
        hub: Hub,
        session_id: str,
        keeper_id: str,
        vocabulary: ToolVocabulary | None = None,
        redactor: Redactor = NOTHING_SECRET,
        withheld: Mapping[str, str] | None = None,
        limit: int = UNLIMITED,
    ) -> None:
        """Takes the agent's words for its tools, if it has a catalog entry; the redactor of the values that it was
        started with; the ends of messages that an earlier server withheld, because they may become such values; and the
        largest size of a transcript without its own limit."""
        self._store = store
        self._vocabulary = vocabulary
        self.redactor = redactor
        self._withheld = dict(withheld or {})
        self.growth = TranscriptGrowth(limit)
        # Set when the transcript is full: what the agent says from then on is not stored. Whether it said anything.
        self.full = asyncio.Event()
        self.dropped = False
        self._hub = hub
        self._session_id = session_id
        self._keeper_id = keeper_id
        self._confirm: Callable[[int], None] = lambda _number: None
        self._task_id: str | None = None
        self._fold = Fold(vocabulary, redactor)
        # The number of the last folded line; from the end of a turn on, the line to store with that end; and whether
        # anything was folded since.
        self._received = 0
        self._held: int | None = None
        self._sealed = False
        self._due = asyncio.Event()
        self._settled = asyncio.Event()
        self._settled.set()
        self._lock = asyncio.Lock()
        # Whether the last write may be stored although it failed.
        self._unsure = False

    @property
    def tool_count(self) -> int:
        return self._fold.tool_count

    @property
    def calls(self) -> EndedCalls:
        """The tool calls of this turn that have ended."""
        return self._fold.calls

    def learn(self, redactor: Redactor) -> None:
        """Masks more values from now on, also in messages that have begun."""
        self.redactor = redactor
        self._fold.learn(redactor)

    def begin(self, task_id: str) -> None:
        """Starts a turn: what follows belongs to this task."""
        self._task_id = task_id
        self._fold = Fold(self._vocabulary, self.redactor)
        self.full.clear()
        self.dropped = False
        self.growth.begin()

    def restore(self, task_id: str, messages: list[Message], stored: int) -> None:
        """Continues a turn that an earlier server recorded up to line `stored`."""
        self.begin(task_id)
        for entry in self._fold.restore(messages, self._withheld):
            self._hub.growing(self._session_id, entry.id, entry.text)
        self._received, self._held, self._sealed = stored, None, False

    def confirm_to(self, confirm: Callable[[int], None]) -> None:
        """Calls `confirm` for every line that is stored."""
        self._confirm = confirm

    @property
    def last(self) -> int:
        """The number of the last line received."""
        return self._received if self._held is None else self._held

    @property
    def answered(self) -> bool:
        """Whether the agent has finished the turn but its end is not stored yet."""
        return self._held is not None

    def received(self, number: int, *, hold: bool = False) -> None:
        """Marks lines that need no storing of their own; with `hold` they are stored with the turn's end."""
        if hold or self._held is not None:
            self._held = number
        else:
            self._received = number

    def take(self, updates: list[SessionUpdate], last: int) -> None:
        """Folds what the agent sent and publishes growth of messages that subscribers already know."""
        self.received(last)
        self._sealed = self._held is not None
        fold = self._fold
        if self.full.is_set():
            state = [update for update in updates if update.kind in STATE]
            self.dropped = self.dropped or len(state) < len(updates)
            updates = state
        fold.add(updates)
        for entry in fold.grown:
            if entry.stored:
                self._publish(entry)
        if fold.unwritten > MOST_UNWRITTEN:
            self._settled.clear()
        self._due.set()

    def close_text(self) -> None:
        """Ends the message that the agent is writing: what it says next is another one."""
        self._fold.close_text()

    def add_notice(self, text: str) -> None:
        """Adds a notice to the transcript at this point of what the agent says."""
        self._fold.notice(text)
        self._due.set()

    def tool(self, update: dict[str, Any]) -> GrowingMessage:
        """Folds a tool call that did not come as an update."""
        return self._fold.tool({**update, "sessionUpdate": None})

    def last_text(self) -> str:
        """Returns the agent's last text of this turn."""
        return self._fold.last_text()

    def permit(self, entry: GrowingMessage, outcome: dict[str, Any] | None) -> None:
        """Records the policy's outcome for a tool call."""
        self._fold.permit(entry, outcome)
        self._due.set()

    def decide(self, call_id: str, outcome: dict[str, Any]) -> None:
        """Records the answer to the question about a tool call."""
        self._fold.decide(call_id, outcome)
        self._due.set()

    def deny(self, call_id: str) -> None:
        """Records that a tool call was denied."""
        self._fold.deny(call_id)
        self._due.set()

    async def ready(self) -> None:
        """Waits while too much is unwritten."""
        await self._settled.wait()

    async def run(self) -> None:
        """Writes until cancelled: new messages at once, growth from time to time."""
        loop = asyncio.get_running_loop()
        next_news = next_growth = 0.0
        while True:
            await self._due.wait()
            await asyncio.sleep(next_news - loop.time())
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(next_growth):
                    while not self._has_news():
                        self._due.clear()
                        await self._due.wait()
            self._due.clear()
            try:
                await self.flush()
            except Exception as error:
                # Whatever failed: if nothing were written any more, the agent would wait for ever.
                log.warning("transcript_not_written", session=self._session_id, error=str(error) or repr(error))
                await asyncio.sleep(RETRY_PAUSE)
                self._due.set()
            next_news = loop.time() + NEWS_PAUSE
            longest = max((entry.length for entry in self._fold.grown), default=0)
            next_growth = loop.time() + GROWTH_PAUSE + GROWTH_PAUSE_PER_MIB * longest / (1 << 20)

    def _has_news(self) -> bool:
        return bool(self._fold.dirty) or not self._settled.is_set()

    async def flush(self) -> None:
        """Writes everything new. Like `settle` and `finish`, it completes even if the caller is cancelled."""
        await shielded(asyncio.create_task(self._flush(None, 0, ends=False)))

    async def settle(self, number: int, also: Callable[[Change], Awaitable[T]]) -> T | None:
        """Writes everything new and the effect of this line in one transaction; does nothing if the turn is over."""
        return await shielded(asyncio.create_task(self._flush(also, number, ends=False)))

    async def finish(self, also: Callable[[Change], Awaitable[T]]) -> T | None:
        """Writes everything new and the effects of the turn's end in one transaction."""
        self.close()
        return await shielded(asyncio.create_task(self._flush(also, 0, ends=True)))

    async def _flush(self, also: Callable[[Change], Awaitable[T]] | None, number: int, *, ends: bool) -> T | None:
        async with self._lock:
            if not ends and (self._sealed or (also is not None and self.answered)):
                return None
            # The line counts as received only when its effect is stored: until then it would be delivered again.
            received = self.last if ends else max(self._received, number)
            writes, state = self._prepare()
            task_id, withheld = self._task_id, self._fold.withheld
            if not writes and not state and also is None:
                return None
            size: StoredSize | None = None

            async def work(change: Change) -> T | None:
                nonlocal size
                size = await self._write(change, task_id, writes, state)
                await change.tx.run(KEEPERS.stored, id=self._keeper_id, stored=received)
                if self._unsure or withheld != self._withheld:
                    await change.tx.run(KEEPERS.withhold, id=self._keeper_id, withheld=raw(withheld))
                return await also(change) if also is not None else None

            try:
                result = await self._store.write(work)
            except BaseException as error:
                self._unsure = self._unsure or (isinstance(error, Unavailable) and error.code == "commit_unknown")
                self._take_back(writes, state)
                raise
            self._unsure = False
            self._withheld = withheld
            self._received = max(self._received, number)
            if ends and self._held is not None:
                self._received, self._held, self._sealed = max(received, self._held), None, False
            self._written(writes)
            self.growth.observe(size)
            if self.growth.full:
                self.full.set()
            self._confirm(received)
            return result

    def _take_back(self, writes: list[MessageWrite], state: dict[str, dict[str, Any]]) -> None:
        """Marks entries as unwritten again after a failed write."""
        for write in writes:
            self._fold.dirty[write.entry] = None
            write.entry.announce = write.entry.announce or write.announce
        self._fold.state = state | self._fold.state

    def close(self) -> None:
        """Closes open messages and tool calls, because nothing more will come."""
        self._fold.close()

    def _prepare(self) -> tuple[list[MessageWrite], dict[str, dict[str, Any]]]:
        fold = self._fold
        entries = list(fold.dirty) + [entry for entry in fold.grown if entry not in fold.dirty]
        for entry in entries:
            if entry.stored:
                self._publish(entry)
        short = self.growth.nearly_full
        writes = [
            MessageWrite(entry, entry.id, entry.role, entry.content(short), not entry.stored, entry.announce)
            for entry in entries
        ]
        state: dict[str, dict[str, Any]] = shown_state(fold.state, self.redactor)
        for entry in entries:
            entry.announce = False
        fold.dirty, fold.grown, fold.state = {}, {}, {}
        fold.unwritten = 0
        self._settled.set()
        return writes, state

    async def _write(
        self, change: Change, task_id: str | None, writes: list[MessageWrite], state: dict[str, dict[str, Any]]
    ) -> StoredSize | None:
        """Stores messages and state. Returns the new size of the transcript, if it has changed."""
        moment = await records.message_time(change, self._session_id) if writes else change.now
        stored: set[str] = set()
        if self._unsure:
            ids = [write.id for write in writes if write.is_new]
            stored = {row[0] for row in await change.tx.all(MESSAGES.among, tuple[str], ids=ids)} if ids else set()
        # Earlier messages change before later ones appear: a call has ended when the next one begins.
        for write in writes:
            if not write.is_new or write.id in stored:
                message = await change.tx.one(MESSAGES.rewrite, Message, id=write.id, content=write.content, now=moment)
                if message is not None and write.announce:
                    change.message("message.patched", message)
        new = [write for write in writes if write.is_new and write.id not in stored]
        if new:
            after: Any = await change.tx.value(SESSIONS.take_positions, id=self._session_id, count=len(new))
            messages = [
                Message(write.id, self._session_id, task_id, position, write.role, write.content, moment, moment)
                for position, write in enumerate(new, after - len(new))
            ]
            await records.insert_messages(change, messages)
        if writes:
            await change.tx.run(SESSIONS.touch, id=self._session_id, added=len(new), now=change.now)
        if state:
            await store_state(change, self._session_id, state)
        # What may be stored already was counted with it.
        growth = sum(len(bytes(write.content)) - write.entry.size for write in writes if write.id not in stored)
        return await self.growth.grow(change, self._session_id, task_id, growth) if writes else None

    def _written(self, writes: list[MessageWrite]) -> None:
        for write in writes:
            entry = write.entry
            entry.size = len(bytes(write.content))
            if write.is_new:
                entry.stored = True
                if entry.kind in SPOKEN_KINDS:
                    self._hub.growing(self._session_id, entry.id, entry.text)
            self._publish(entry)
            if entry.closed and entry not in self._fold.dirty:
                self._hub.grown(entry.id)

    def _publish(self, entry: GrowingMessage) -> None:
        offset = entry.length
        text = entry.unseen()
        if text:
            self._hub.grow(self._session_id, entry.id, offset, text)
