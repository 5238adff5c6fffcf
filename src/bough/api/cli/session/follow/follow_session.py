"""Follows a session in the terminal: prints the answer as it arrives and asks for approvals, until the turn ends or
the person presses Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import sys
import termios
from dataclasses import dataclass

from bough.api.cli.approvals.answer import send_answer
from bough.api.cli.approvals.approval import question
from bough.api.cli.approvals.fill_form import CANCEL, DECLINE, FormFill
from bough.api.cli.approvals.shared import how_to_answer
from bough.api.cli.framework import output
from bough.api.cli.framework.base import DONE, FAILED, CommandContext
from bough.api.cli.framework.client import Json, Refused, part, parts, path
from bough.api.cli.framework.error_hints import explain
from bough.api.cli.framework.formats import short
from bough.api.cli.framework.stream import EventStream, StreamItem
from bough.api.cli.framework.terminal_safety import clean
from bough.api.cli.session.follow.ask_approval import print_subject, read_answer
from bough.api.cli.session.follow.event_order import EventOrder
from bough.api.cli.session.follow.print_transcript import TranscriptPrinter
from bough.api.cli.session.follow.silence import SilenceWatch
from bough.errors import BoughError
from bough.model.task import EARLY_ENDS, IN_FLIGHT, STEERED, TERMINAL

# After a gap in the stream, this many messages are read again; a turn rarely has more.
CATCH_UP = 500
UNDER_WAY = ",".join((*IN_FLIGHT, "interrupted"))
AT_REST = ("idle", "not_started")


@dataclass
class FollowTarget:
    """The session to follow, or one turn of it until it ends."""

    session_id: str
    task_id: str | None = None


def follow(ctx: CommandContext, followed: FollowTarget, cursor: int) -> int:
    """Prints what happens after `cursor`; returns FAILED if the turn did not complete or the person left it."""
    client = ctx.client
    with EventStream(client, followed.session_id, cursor, patient=followed.task_id is None) as stream:
        follower = Follower(ctx, followed, stream)
        try:
            return follower.lines() if ctx.json else follower.show()
        except KeyboardInterrupt:
            follower.leave()
            if followed.task_id is None:
                output.parting(
                    "Stopped watching; the session continues. "
                    f"Stop its turn: bough session stop {short(followed.session_id)}"
                )
                return DONE
            output.parting(
                f"Detached; the turn continues. Watch it: bough session watch {short(followed.session_id)}. "
                f"Stop it: bough session stop {short(followed.session_id)}"
            )
            return FAILED


def _describe_end(session: Json) -> str:
    if session["status"] == "error":
        return "The session ended in an error."
    return f"The session is {session['status']}. Reopen it: bough session resume {short(session['id'])}"


class Follower:
    """One person following one session."""

    def __init__(self, ctx: CommandContext, followed: FollowTarget, stream: EventStream) -> None:
        self._ctx = ctx
        self._followed = followed
        self._stream = stream
        self._asks = output.is_interactive()
        self._questions: dict[str, Json] = {}
        self._asked: str | None = None
        # The form that is being filled in, if a question is asked.
        self._filling: FormFill | None = None
        self._settled: set[str] = set()
        self._later: list[Json] = []
        # Messages of other turns; deltas do not name their turn.
        self._other_turns: set[str] = set()
        self.talk = TranscriptPrinter(output.console(), prompts=followed.task_id is None)
        self._silence = SilenceWatch()
        self._order = EventOrder(self._show_message_event, self.talk.knows)

    def leave(self) -> None:
        """Shows the held messages and finishes the last line."""
        self._order.let_go()
        self.talk.end()

    def lines(self) -> int:
        """Prints every event as one line of JSON."""
        while True:
            item = self._stream.next()
            if item is None or item.kind != "event":
                continue
            output.raw(item.raw)
            event = item.event
            if event["type"] == "stream.gap":
                event = {"type": "task.patched", "data": self._task()} if self._followed.task_id else event
            if (code := self._ended(event)) is not None:
                return code

    def show(self) -> int:
        """Prints the session for people."""
        if self._followed.task_id is None:
            self._catch_up()
            session: Json = self._ctx.client.get(path("sessions", self._followed.session_id), messages=False).value
            if session["activity"] in AT_REST:
                self._mark_seen()
            if session["status"] != "active":
                self.leave()
                output.note(_describe_end(session))
                return DONE
        while True:
            self._ask()
            left, patience = self._order.left(), self._silence.left()
            shortest = min((wait for wait in (left, patience) if wait is not None), default=None)
            item = self._stream.next(sys.stdin if self._asked else None, shortest)
            if left == 0:
                self._order.let_go()
            if item is not None and item.kind == "quiet" and (silence := self._silence.notice()) is not None:
                self.talk.line(silence, "yellow")
            if item is None:
                # Not through Python's buffer, which would hide a second line from the next wait.
                self._answered(os.read(sys.stdin.fileno(), 4096).decode("utf-8", "replace"))
            elif (code := self._news(item)) is not None:
                return code

    def _news(self, item: StreamItem) -> int | None:
        if item.kind == "event":
            self._silence.take(item.event)
            if not self._asked or not item.event["type"].startswith("message."):
                return self._take(item.event)
            self._later.append(item.event)
        elif item.kind == "lost":
            self.leave()
            output.note("Connection lost; reconnecting …")
        elif item.kind == "back":
            output.note("Reconnected.")
        return None

    def _take(self, event: Json) -> int | None:
        kind: str = event["type"]
        if kind.startswith("message."):
            if not self._is_other_turn(event):
                self._order.take(event)
        elif kind in ("approval.created", "approval.patched"):
            self._order.let_go()
            self._approval(event["data"])
        elif kind == "stream.gap":
            self._order.let_go()
            return self._catch_up()
        elif kind == "session.patched" and event["data"]["status"] != "active" and self._followed.task_id is None:
            self._order.let_go()
            self.talk.line(f"The session is {event['data']['status']}.", "dim")
        elif kind == "session.removed":
            self._order.let_go()
            self.talk.line("The session was removed.", "yellow")
            return DONE if self._followed.task_id is None else FAILED
        return self._ended(event)

    def _is_other_turn(self, event: Json) -> bool:
        """Returns whether an event belongs to a turn other than the followed one."""
        message = part(event, "data")
        if message and self._followed.task_id not in (None, message["taskId"]):
            self._other_turns.add(message["id"])
        return (message["id"] if message else event["messageId"]) in self._other_turns

    def _show_message_event(self, event: Json) -> None:
        if event["type"] in ("message.created", "message.patched"):
            self._message(event["data"])
        elif event["type"] in ("message.delta", "message.snapshot"):
            self._grow(event)

    def _message(self, message: Json) -> None:
        if self._followed.task_id in (None, message["taskId"]):
            self.talk.message(message)
        else:
            self._other_turns.add(message["id"])

    def _grow(self, event: Json) -> None:
        message_id = event["messageId"]
        if message_id in self._other_turns:
            return
        if not self.talk.knows(message_id) or not self.talk.grow(message_id, event["offset"], event["text"]):
            # Its beginning is missing; get it from the server.
            self._message(self._ctx.client.get(path("messages", message_id)).value)
            if message_id not in self._other_turns:
                self.talk.grow(message_id, event["offset"], event["text"])

    def _catch_up(self) -> int | None:
        """Reads what the stream did not deliver: the running turn's messages, pending approvals, the task's status."""
        client, session_id = self._ctx.client, self._followed.session_id
        tasks: list[Json] = client.get(path("sessions", session_id, "tasks"), status=UNDER_WAY).value["tasks"]
        running = {task["id"] for task in tasks}
        for task in tasks:
            self._silence.take({"type": "task.patched", "data": task})
        messages: list[Json] = client.get(path("sessions", session_id, "messages"), limit=CATCH_UP).value
        shown_tasks = {self._followed.task_id} if self._followed.task_id else running or self._last_turn(messages)
        for message in messages:
            if message["taskId"] in shown_tasks or self.talk.knows(message["id"]):
                self._take({"type": "message.patched", "data": message})
        self._order.let_go()
        for approval in client.get("/api/approvals", status="pending", sessionId=session_id).value["approvals"]:
            self._approval(approval)
        return self._ended({"type": "task.patched", "data": self._task()}) if self._followed.task_id else None

    def _last_turn(self, messages: list[Json]) -> set[str]:
        """Returns the task of the last turn, which is shown while none is running."""
        queued: list[Json] = self._ctx.client.get(
            path("sessions", self._followed.session_id, "tasks"), status="queued", limit=CATCH_UP
        ).value["tasks"]
        waiting = {None, *(task["id"] for task in queued)}
        last = next((message["taskId"] for message in reversed(messages) if message["taskId"] not in waiting), None)
        return {last} if last is not None else set()

    def _mark_seen(self) -> None:
        """Marks the session as read: a person has followed it to the end of its turn."""
        if not self._ctx.json:
            # A viewer may not mark it, and a server that goes away meanwhile is no failure of the turn.
            with contextlib.suppress(BoughError):
                self._ctx.client.post(path("sessions", self._followed.session_id, "seen"))

    def _task(self) -> Json:
        return self._ctx.client.get(path("tasks", self._followed.task_id or "")).value

    def _ended(self, event: Json) -> int | None:
        """Returns the exit code if this event ends the followed turn."""
        if event["type"] != "task.patched":
            return None
        task: Json = event["data"]
        if task["status"] not in TERMINAL or self._followed.task_id not in (None, task["id"]):
            return None
        if self._followed.task_id is not None and task["stopReason"] == STEERED:
            # Its answer is part of the turn that it was put into.
            self._followed = FollowTarget(self._followed.session_id, task["steersTaskId"])
            self._other_turns.clear()
            return self._catch_up()
        self._mark_seen()
        if self._followed.task_id is None:
            return None
        # An early end is no success, although the agent calls the turn complete.
        code = DONE if task["status"] == "completed" and task["stopReason"] not in EARLY_ENDS else FAILED
        if self._ctx.json:
            return code
        self.leave()
        if task["status"] == "completed":
            if task["stopReason"] not in (None, "end_turn"):
                # The notice of the transcript comes after the end that this returns at.
                output.note(EARLY_ENDS.get(task["stopReason"]) or f"The turn ended early ({task['stopReason']}).")
            return code
        why = clean(str(part(task, "error").get("message") or ""))
        output.note(
            f"The turn {'failed' if task['status'] == 'failed' else 'was cancelled'}{f': {why}' if why else '.'}"
        )
        return FAILED

    # Approvals

    def _approval(self, approval: Json) -> None:
        approval_id = approval["id"]
        if approval["status"] == "pending":
            if approval_id not in self._questions and approval_id not in self._settled:
                self._questions[approval_id] = approval
                if not self._asks:
                    self.talk.line(question(approval), "yellow")
                    self.talk.line(f"  Answer: {how_to_answer(approval)}  (or deny)", "dim")
            return
        self._settled.add(approval_id)
        if self._questions.pop(approval_id, None) is not None and approval_id == self._asked:
            self._asked = self._filling = None
            self.talk.line(f"  Answered elsewhere: {approval['status']}.", "dim")
            self._resume()

    def _ask(self) -> None:
        """Asks the oldest pending question, if a person is at the terminal."""
        if not self._asks or self._asked is not None or not self._questions:
            return
        self._asked, approval = next(iter(self._questions.items()))
        self.talk.line(question(approval), "bold yellow")
        if approval["toolKind"] == "question":
            self._open_form(approval)
            return
        print_subject(self.talk, approval)
        # Discard what was typed before the question appeared.
        termios.tcflush(sys.stdin, termios.TCIFLUSH)
        self._prompt()

    def _open_form(self, approval: Json) -> None:
        form = part(approval, "toolCall")
        if any(field.get("secret") for field in parts(form, "fields")):
            command = how_to_answer(approval)
            self.talk.line(f"  A secret field would be echoed here. In another terminal: {command}", "dim")
            self._questions.pop(approval["id"], None)
            self._asked = None
            return
        print_subject(self.talk, approval)
        self.talk.line(f"  ({DECLINE} and {CANCEL} end the form.)", "dim")
        self._filling = FormFill(form)
        termios.tcflush(sys.stdin, termios.TCIFLUSH)
        self._prompt()

    def _prompt(self) -> None:
        console = output.console()
        text = "  Allow? yes (y), always (a), no (n): " if self._filling is None else self._filling.prompt()
        console.print(text, end="", style="bold", markup=False)
        console.file.flush()

    def _answered(self, text: str) -> None:
        assert self._asked is not None
        if not text:
            # End of input: nobody at this terminal will answer.
            self._asks = False
            approval_id, self._asked, self._filling = self._asked, None, None
            output.note(f"\nNot answered. Answer: {how_to_answer(self._questions[approval_id])}  (or deny)")
            self._resume()
            return
        body = read_answer(self._filling, text)
        if body is None:
            self._prompt()
            return
        approval_id, self._asked, self._filling = self._asked, None, None
        self._questions.pop(approval_id, None)
        self._settled.add(approval_id)
        try:
            send_answer(self._ctx, approval_id, body)
        except Refused as error:
            output.note(f"  {explain(error)} ({error.code})")
        self._resume()

    def _resume(self) -> None:
        """Shows the messages that arrived while the question was open."""
        later, self._later = self._later, []
        for event in later:
            self._take(event)
