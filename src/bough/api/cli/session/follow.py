"""Follows a session in the terminal: the answer as it comes, questions asked on the spot, until a turn ends or the
person leaves. How it looks is `talk`, how it arrives `stream`."""

from __future__ import annotations

import os
import sys
import termios
from dataclasses import dataclass

from bough.api.cli.commands.approval import decide, question
from bough.api.cli.framework import output
from bough.api.cli.framework.base import DONE, FAILED, Here
from bough.api.cli.framework.client import Json, Refused, part, parts, path
from bough.api.cli.framework.error_hints import told
from bough.api.cli.framework.formats import brief, clean, short
from bough.api.cli.framework.stream import Item, Stream
from bough.api.cli.session.event_order import Order
from bough.api.cli.session.print_transcript import Talk
from bough.model.task import TERMINAL

# After a gap the stream cannot tell what was missed; a turn rarely has more messages than this.
CATCH_UP = 500
ANSWERS = {
    **dict.fromkeys(("y", "yes", "allow"), "allow"),
    **dict.fromkeys(("a", "always"), "allow_always"),
    **dict.fromkeys(("n", "no", "d", "deny"), "deny"),
}


@dataclass
class Followed:
    """What is followed: a whole session, or one turn of it until its end."""

    session_id: str
    task_id: str | None = None


def follow(here: Here, what: Followed, cursor: int) -> int:
    """Prints what happens after `cursor`; the exit code says how the turn ended, or that it was left alone."""
    client = here.client
    with Stream(client, what.session_id, cursor, patient=what.task_id is None) as stream:
        follower = Follower(here, what, stream)
        try:
            return follower.lines() if here.json else follower.show()
        except KeyboardInterrupt:
            follower.leave()
            if what.task_id is None:
                output.parting(
                    f"Left; the session goes on. Stop its turn with: bough session stop {short(what.session_id)}"
                )
                return DONE
            output.parting(
                f"Detached; the turn goes on. See it with: bough session watch {short(what.session_id)}, "
                f"stop it with: bough session stop {short(what.session_id)}"
            )
            return FAILED


class Follower:
    """One person watching one session."""

    def __init__(self, here: Here, what: Followed, stream: Stream) -> None:
        self._here = here
        self._what = what
        self._stream = stream
        self._asks = output.is_interactive()
        self._questions: dict[str, Json] = {}
        self._asked: str | None = None
        self._settled: set[str] = set()
        self._later: list[Json] = []
        # Which turn a message belongs to: deltas do not say.
        self._foreign: set[str] = set()
        self.talk = Talk(output.console(), prompts=what.task_id is None)
        self._order = Order(self._said, self.talk.knows)

    def leave(self) -> None:
        """Shows what is still held, and finishes the last line."""
        self._order.let_go()
        self.talk.end()

    def lines(self) -> int:
        """Every event as one line of JSON."""
        while True:
            item = self._stream.next()
            if item is None or item.kind != "event":
                continue
            output.raw(item.raw)
            event = item.event
            if event["type"] == "stream.gap":
                event = {"type": "task.patched", "data": self._task()} if self._what.task_id else event
            if (code := self._ended(event)) is not None:
                return code

    def show(self) -> int:
        """The same for people."""
        if self._what.task_id is None:
            self._catch_up()
        while True:
            self._ask()
            left = self._order.left()
            item = self._stream.next(sys.stdin if self._asked else None, left)
            if left == 0:
                self._order.let_go()
            if item is None:
                # Past Python's own buffer, which would hide a second line from the next wait.
                self._answered(os.read(sys.stdin.fileno(), 4096).decode("utf-8", "replace"))
            elif (code := self._news(item)) is not None:
                return code

    def _news(self, item: Item) -> int | None:
        if item.kind == "event":
            if not self._asked or not item.event["type"].startswith("message."):
                return self._take(item.event)
            self._later.append(item.event)
        elif item.kind == "lost":
            self.leave()
            output.note("The connection is lost; trying again …")
        elif item.kind == "back":
            output.note("Connected again.")
        return None

    def _take(self, event: Json) -> int | None:
        kind: str = event["type"]
        if kind.startswith("message."):
            if not self._is_foreign(event):
                self._order.take(event)
        elif kind in ("approval.created", "approval.patched"):
            self._order.let_go()
            self._approval(event["data"])
        elif kind == "stream.gap":
            self._order.let_go()
            return self._catch_up()
        elif kind == "session.patched" and event["data"]["status"] != "active" and self._what.task_id is None:
            self._order.let_go()
            self.talk.line(f"The session is {event['data']['status']}.", "dim")
        elif kind == "session.removed":
            self._order.let_go()
            self.talk.line("The session was removed.", "yellow")
            return DONE if self._what.task_id is None else FAILED
        return self._ended(event)

    def _is_foreign(self, event: Json) -> bool:
        """Whether it is about a message of another turn than the one that is followed."""
        message = part(event, "data")
        if message and self._what.task_id not in (None, message["taskId"]):
            self._foreign.add(message["id"])
        return (message["id"] if message else event["messageId"]) in self._foreign

    def _said(self, event: Json) -> None:
        if event["type"] in ("message.created", "message.patched"):
            self._message(event["data"])
        elif event["type"] in ("message.delta", "message.snapshot"):
            self._grow(event)

    def _message(self, message: Json) -> None:
        if self._what.task_id in (None, message["taskId"]):
            self.talk.message(message)
        else:
            self._foreign.add(message["id"])

    def _grow(self, event: Json) -> None:
        known = event["messageId"]
        if known in self._foreign:
            return
        if not self.talk.knows(known) or not self.talk.grow(known, event["offset"], event["text"]):
            # Its beginning is missing here: the server has it.
            self._message(self._here.client.get(path("messages", known)).value)
            if known not in self._foreign:
                self.talk.grow(known, event["offset"], event["text"])

    def _catch_up(self) -> int | None:
        """Reads what the stream has not told: the turn that runs, what is asked, how the task stands."""
        client, session_id = self._here.client, self._what.session_id
        tasks: list[Json] = client.get(path("sessions", session_id, "tasks"), limit=CATCH_UP).value["tasks"]
        running = {task["id"] for task in tasks if task["status"] not in (*TERMINAL, "queued")}
        wanted = {self._what.task_id} if self._what.task_id else running
        for message in client.get(path("sessions", session_id, "messages"), limit=CATCH_UP).value:
            if message["taskId"] in wanted or self.talk.knows(message["id"]):
                self._take({"type": "message.patched", "data": message})
        self._order.let_go()
        for approval in client.get("/api/approvals", status="pending", sessionId=session_id).value["approvals"]:
            self._approval(approval)
        return self._ended({"type": "task.patched", "data": self._task()}) if self._what.task_id else None

    def _task(self) -> Json:
        return self._here.client.get(path("tasks", self._what.task_id or "")).value

    def _ended(self, event: Json) -> int | None:
        """The exit code, if this is the end of the turn that is followed."""
        if event["type"] != "task.patched":
            return None
        task: Json = event["data"]
        if task["status"] not in TERMINAL or self._what.task_id is None or task["id"] != self._what.task_id:
            return None
        if self._here.json:
            return DONE if task["status"] == "completed" else FAILED
        self.leave()
        if task["status"] == "completed":
            if task["stopReason"] not in (None, "end_turn"):
                output.note(f"The turn ended early ({task['stopReason']}).")
            return DONE
        why = clean(str(part(task, "error").get("message") or ""))
        output.note(
            f"The turn {'failed' if task['status'] == 'failed' else 'was cancelled'}{f': {why}' if why else '.'}"
        )
        return FAILED

    # Questions

    def _approval(self, approval: Json) -> None:
        known = approval["id"]
        if approval["status"] == "pending":
            if known not in self._questions and known not in self._settled:
                self._questions[known] = approval
                if not self._asks:
                    self.talk.line(question(approval), "yellow")
                    self.talk.line(f"  Answer with: bough approval allow {short(known)}  (or deny)", "dim")
            return
        self._settled.add(known)
        if self._questions.pop(known, None) is not None and known == self._asked:
            self._asked = None
            self.talk.line(f"  Answered elsewhere: {approval['status']}.", "dim")
            self._resume()

    def _ask(self) -> None:
        """Puts the oldest open question, if a person can answer it."""
        if not self._asks or self._asked is not None or not self._questions:
            return
        self._asked, asked = next(iter(self._questions.items()))
        self.talk.line(question(asked), "bold yellow")
        call = part(asked, "toolCall")
        for place in parts(call, "locations"):
            self.talk.line(f"  {brief(str(place.get('path')), 500)}", "dim")
        command = part(call, "rawInput").get("command")
        if command and str(command) not in asked["title"]:
            self.talk.line(f"  {brief(str(command), 1000)}", "dim")
        # What was typed before the question was seen is no answer to it.
        termios.tcflush(sys.stdin, termios.TCIFLUSH)
        self._prompt()

    def _prompt(self) -> None:
        console = output.console()
        console.print("  Allow it? yes (y), always (a), no (n): ", end="", style="bold")
        console.file.flush()

    def _answered(self, text: str) -> None:
        assert self._asked is not None
        if not text:
            # End of input: this person will not answer, another may.
            self._asks = False
            asked, self._asked = self._asked, None
            output.note(f"\nNot answered. Answer with: bough approval allow {short(asked)}  (or deny)")
            self._resume()
            return
        decision = ANSWERS.get(text.strip().lower())
        if decision is None:
            self._prompt()
            return
        asked, self._asked = self._asked, None
        self._questions.pop(asked, None)
        self._settled.add(asked)
        try:
            decide(self._here, asked, decision)
        except Refused as error:
            output.note(f"  {told(error)} ({error.code})")
        self._resume()

    def _resume(self) -> None:
        """Shows what came while the question stood."""
        later, self._later = self._later, []
        for event in later:
            self._take(event)
