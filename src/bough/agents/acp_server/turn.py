"""Runs one turn: records the prompt, lets the agent act on it, and ends answered, failed or cancelled."""

from __future__ import annotations

import asyncio
import sys
import traceback
from abc import ABC, abstractmethod
from typing import Generic, Literal

from bough.agents.acp_server.records import EndRecord, PromptRecord
from bough.agents.acp_server.session_store import SessionFile, State, now
from bough.agents.acp_server.updates import ToolCall, new_id
from bough.agents.json_rpc import CANCELLED, INTERNAL_ERROR, Json, RpcError

CancelledBy = Literal["session", "request"]


class PermissionCancelled(Exception):
    """The client answered a permission request with `cancelled`, which ends the turn."""


class Turn(ABC, Generic[State]):
    """The work that one prompt causes."""

    def __init__(self, file: SessionFile[State], content: list[Json]) -> None:
        self._file = file
        self._content = content
        self._number = 0
        self._task: asyncio.Task[None] | None = None
        self._cancelled: CancelledBy | None = None

    def cancel(self, by: CancelledBy) -> None:
        """Stops the turn; `run` returns soon. A second cancel must not disturb the cleanup that the first started."""
        if self._cancelled is None:
            self._cancelled = by
            if self._task is not None:
                self._task.cancel()

    async def run(self) -> Json:
        """Returns the answer to the prompt, or raises the `RpcError` to answer it with."""
        self._number = self._file.state().turns + 1
        prompt = PromptRecord(at=now(), turn=self._number, message_id=new_id("user"), content=self._content)
        self._file.append(prompt)
        self._begin()
        self._task = asyncio.create_task(self._act())
        await asyncio.wait({self._task})
        stop_reason, error = self._outcome(self._task)
        tool = self._open_tool()
        if tool is not None and tool.open:
            tool.fail("Cancelled." if stop_reason == "cancelled" else f"The turn failed: {error}")
        failed = error is not None and stop_reason != "cancelled"
        self._finish(
            EndRecord(
                at=now(),
                turn=self._number,
                stop_reason=None if failed else stop_reason,
                error=None if error is None else str(error),
            )
        )
        if error is not None:
            raise error
        return {"stopReason": stop_reason, **self._usage()}

    @abstractmethod
    async def _act(self) -> None:
        """Does what the prompt asks for."""

    @abstractmethod
    def _open_tool(self) -> ToolCall | None:
        """Returns the tool call that was started last, which fails if the turn ends before it."""

    def _begin(self) -> None:
        """Called when the prompt is recorded and nothing was done yet."""

    def _finish(self, end: EndRecord) -> None:
        """Records the end of the turn."""
        self._file.append(end)

    def _usage(self) -> Json:
        """Returns the fields that the answer has besides the stop reason."""
        return {}

    def _outcome(self, task: asyncio.Task[None]) -> tuple[str, RpcError | None]:
        """Returns the stop reason of a finished task, and the error to answer the prompt with."""
        if task.cancelled() or isinstance(task.exception(), PermissionCancelled):
            error = RpcError(CANCELLED, "The prompt was cancelled") if self._cancelled == "request" else None
            return "cancelled", error
        failure = task.exception()
        if failure is None or isinstance(failure, RpcError):
            return "end_turn", failure
        traceback.print_exception(failure, file=sys.stderr)
        return "end_turn", RpcError(INTERNAL_ERROR, f"{type(failure).__name__}: {failure}")
