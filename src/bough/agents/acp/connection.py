"""Holds the conversation with one agent: sends requests, matches answers to them, and passes on the rest in order.

A handler decides about updates and requests of the agent. The owner of the link ends it.
"""

import asyncio
import contextlib
from typing import Any, Protocol

import structlog
from msgspec import Raw, Struct

from bough.agents.acp.chunk_batches import decode_batch
from bough.agents.acp.wire import (
    AgentRequest,
    AgentResponse,
    ErrorFromAgent,
    Junk,
    Notification,
    RequestId,
    SessionUpdate,
    UnreadableRequest,
    decode,
)
from bough.agents.errors import AgentGone, AgentRefused, AgentTimeout, command_name
from bough.agents.json_rpc import PARSE_ERROR, encode_error, encode_notification, encode_request, encode_result
from bough.agents.link import AgentExit, LineBatch, Link, LinkClosed
from bough.agents.process.stderr import telling_line
from bough.errors import AgentFailed, Internal

JUNK_LIMIT = 1000
"""Junk lines in a row after which a program is not an ACP agent. Agents may print a banner or a stray log line."""
EXCERPT = 200
"""Characters of a junk line that are logged."""
CANCEL_WAIT = 2.0
"""Seconds to send `$/cancel_request` to an agent that reads slowly; after that it is not sent."""

log: structlog.stdlib.BoundLogger = structlog.get_logger("bough.agents")


class Handler(Protocol):
    """Receives what the agent writes, in the order of its lines, each with the number of its line.

    While `on_request`, `settled` or `ready` waits, later lines are not processed.
    """

    def on_updates(self, updates: list[SessionUpdate], last: int) -> None:
        """Takes updates before anything that followed them. `last` is the line number of the last one.

        Adjacent chunks of one message may arrive as one update.
        """
        ...

    async def on_request(self, request: AgentRequest, number: int) -> None:
        """Takes a request, to be answered later through `reply` or `reply_error`."""
        ...

    def on_answer(self, key: str, number: int) -> None:
        """Called when the request with this key is answered, just before its waiter continues."""
        ...

    async def settled(self, key: str) -> None:
        """Awaited after the waiter of an answered request has continued. Later lines are not processed meanwhile."""
        ...

    def on_lost(self, text: str) -> None:
        """Takes a sentence about lines that are missing before the next ones."""
        ...

    def on_notification(self, method: str, params: Raw) -> None:
        """Takes any other notification."""
        ...

    async def ready(self) -> None:
        """Awaited after each batch of lines. The agent is not read meanwhile."""
        ...


class AgentConnection:
    """The conversation with one agent. Requests are answered only while `run` runs."""

    def __init__(self, link: Link, handler: Handler) -> None:
        self._link = link
        self._handler = handler
        self._pending: dict[str, tuple[str, asyncio.Future[Raw]]] = {}
        self._keys: set[str] = set()
        self._failure: AgentFailed | None = None
        self._detached = False
        # Requests that were given up and are still unanswered.
        self._cancelled: set[str] = set()
        self._cancel_tasks: set[asyncio.Task[None]] = set()
        self.name = command_name(link.command)
        self.junk = 0
        """The number of lines so far that were not messages."""
        self._junk_in_a_row = 0

    async def run(self) -> AgentExit:
        """Reads until the link closes, and returns how it closed. Pending requests then raise `AgentGone`."""
        try:
            while True:
                batch = await self._link.receive()
                if batch.lost:
                    log.warning("agent_lines_lost", agent=self.name, text=batch.lost)
                    self._handler.on_lost(batch.lost)
                await self._dispatch(batch)
                await self._handler.ready()
        except LinkClosed as closed:
            self._stop(self._gone(closed.exit))
            return closed.exit
        except AgentFailed as error:
            self._stop(error)
            raise
        finally:
            self._stop(AgentGone("agent_gone", f"{self.name} is no longer connected."))
            if self._cancel_tasks:
                await asyncio.wait(self._cancel_tasks)

    @property
    def over(self) -> bool:
        """Whether the agent can no longer be reached."""
        return self._failure is not None

    def detach(self) -> None:
        """Makes cancelled waiters leave their requests running.

        A server that stops calls this first, because the turn continues and the next server expects its answer.
        """
        self._detached = True

    async def request(
        self,
        method: str,
        params: Struct | dict[str, Any],
        *,
        key: str,
        timeout: float | None = None,  # noqa: ASYNC109 - the error must name the unanswered method
    ) -> Raw:
        """Sends a request whose id is the key. Raises `AgentRefused`, `AgentGone` or `AgentTimeout`.

        If the request is cancelled or times out, sends `$/cancel_request`.
        """
        future = self._register(key, method)
        try:
            async with asyncio.timeout(timeout):
                await self._send(encode_request(key, method, params), key)
                return await future
        except TimeoutError:
            self._cancel_request(key)
            raise AgentTimeout(
                "agent_timeout",
                f"{self.name} did not answer {method} within {timeout:g} s.",
                **self._details(method=method, timeout=timeout),
            ) from None
        except asyncio.CancelledError:
            self._cancel_request(key)
            raise
        finally:
            self._pending.pop(key, None)

    def forget(self, prefix: str) -> None:
        """Forgets all keys with this prefix, which will not be used again."""
        self._keys = {key for key in self._keys if not key.startswith(prefix)}
        self._link.forget(prefix)

    async def notify(self, method: str, params: Struct | dict[str, Any], *, key: str) -> None:
        """Sends a notification."""
        self._claim(key)
        await self._send(encode_notification(method, params), key)

    async def reply(self, request_id: RequestId, result: Struct | dict[str, Any], *, key: str) -> None:
        """Answers a request of the agent."""
        self._claim(key)
        await self._send(encode_result(request_id, result), key)

    async def reply_error(self, request_id: RequestId, code: int, message: str, *, key: str) -> None:
        """Answers a request of the agent with an error."""
        self._claim(key)
        await self._send(encode_error(request_id, code, message), key)

    async def _dispatch(self, batch: LineBatch) -> None:
        decoded = decode_batch(batch.lines)
        if decoded:
            self._junk_in_a_row = 0
            self._handler.on_updates(decoded, batch.last)
            return
        updates: list[SessionUpdate] = []
        last = 0
        for number, line in enumerate(batch.lines, batch.last - len(batch.lines) + 1):
            try:
                message = decode(line)
            except UnreadableRequest as error:
                await self._refuse_unreadable(error, number)
                continue
            except Junk as error:
                self._count_junk(line, error)
                continue
            self._junk_in_a_row = 0
            if type(message) is SessionUpdate:
                updates.append(message)
                last = number
                continue
            if updates:
                self._handler.on_updates(updates, last)
                updates = []
            if type(message) is AgentResponse:
                if self._settle(message, number):
                    # The waiter continues before the lines after the answer are processed.
                    await asyncio.sleep(0)
                    await self._handler.settled(str(message.id))
            elif type(message) is AgentRequest:
                await self._handler.on_request(message, number)
            elif type(message) is Notification:
                self._handler.on_notification(message.method, message.params)
        if updates:
            self._handler.on_updates(updates, last)

    def _settle(self, response: AgentResponse, number: int) -> bool:
        key = response.id
        pending = self._pending.pop(key, None) if isinstance(key, str) else None
        if pending is None or not isinstance(key, str):
            if response.id in self._cancelled:
                self._cancelled.discard(str(response.id))
            else:
                log.warning("agent answered what nobody asked", agent=self.name, id=response.id)
            return False
        method, future = pending
        if future.done():
            return False
        self._handler.on_answer(key, number)
        if response.error is not None:
            future.set_exception(self._refused(method, response.error))
        else:
            future.set_result(response.result)
        return True

    async def _refuse_unreadable(self, error: UnreadableRequest, number: int) -> None:
        """Answers an unreadable request for a person, since the agent would otherwise wait forever."""
        if error.id is None:
            raise AgentFailed("agent_protocol", f"{self.name} sent an unreadable request: {error}")
        log.warning("agent asks in a way that cannot be read", agent=self.name, error=str(error))
        await self.reply_error(error.id, PARSE_ERROR, str(error), key=f"refused:{number}")

    def _count_junk(self, line: bytes, error: Junk) -> None:
        if not line.strip():
            return
        self.junk += 1
        self._junk_in_a_row += 1
        excerpt = line[:EXCERPT].decode(errors="replace")
        if self.junk == 1:
            log.warning("agent wrote a line that is no message", agent=self.name, error=str(error), line=excerpt)
        if self._junk_in_a_row > JUNK_LIMIT:
            raise AgentFailed(
                "agent_talks_junk",
                f"{self.name} does not speak the Agent Client Protocol: {JUNK_LIMIT} lines in a row were not "
                f"messages, the last one {excerpt[:80]!r}.",
                **self._details(),
            )

    def _claim(self, key: str) -> None:
        if key in self._keys:
            raise Internal("key_reused", f"The key {key!r} was already used on this connection.", key=key)
        self._keys.add(key)

    def _register(self, key: str, method: str) -> "asyncio.Future[Raw]":
        self._claim(key)
        self._check_open()
        future: asyncio.Future[Raw] = asyncio.get_running_loop().create_future()
        self._pending[key] = (method, future)
        return future

    async def _send(self, line: bytes, key: str) -> None:
        self._check_open()
        try:
            await self._link.send(line, key)
        except LinkClosed as closed:
            raise self._gone(closed.exit) from None

    def _check_open(self) -> None:
        if self._failure is not None:
            raise _copy(self._failure)

    def _cancel_request(self, key: str) -> None:
        """Tells the agent in the background that the answer to a request is no longer needed."""
        if self._detached or self._failure is not None:
            return
        self._cancelled.add(key)
        task = asyncio.create_task(self._send_cancel(key), name=f"{self.name} cancel {key}")
        self._cancel_tasks.add(task)
        task.add_done_callback(self._cancel_tasks.discard)

    async def _send_cancel(self, key: str) -> None:
        with contextlib.suppress(TimeoutError, AgentFailed):
            async with asyncio.timeout(CANCEL_WAIT):
                await self.notify("$/cancel_request", {"requestId": key}, key=f"{key}:cancel_request")

    def _stop(self, error: AgentFailed) -> None:
        """Fails all pending requests. Later calls do not change the reason."""
        if self._failure is not None:
            return
        self._failure = error
        for _, future in self._pending.values():
            if not future.done():
                future.set_exception(_copy(error))
                future.exception()  # Marks it as retrieved, since a registered waiter may not be waiting yet.
        self._pending.clear()

    def _gone(self, exit: AgentExit) -> AgentGone:
        if exit.signal is not None:
            how = f"was ended by signal {exit.signal}"
        elif exit.code is not None:
            how = f"ended with code {exit.code}"
        else:
            how = "closed its output"
        reason = telling_line(exit.stderr)
        return AgentGone(
            "agent_gone",
            f"{self.name} {how}{': ' + reason[:EXCERPT] if reason else '.'}",
            **self._details(exit_code=exit.code, signal=exit.signal, stderr=exit.stderr),
        )

    def _refused(self, method: str, error: ErrorFromAgent) -> AgentRefused:
        return AgentRefused(
            "agent_refused",
            f"{self.name} refused {method}: {error.message} ({error.code})",
            agent_message=error.message,
            rpc_code=error.code,
            **self._details(method=method, data=error.data),
        )

    def _details(self, **more: Any) -> dict[str, Any]:
        return {"command": list(self._link.command), "stderr": self._link.stderr_tail(), **more}


def _copy(error: AgentFailed) -> AgentFailed:
    """Copies a failure for another waiter, because an exception object holds the traceback of one."""
    return type(error)(error.code, error.message, **error.details)
