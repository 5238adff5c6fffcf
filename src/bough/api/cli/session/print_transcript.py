"""Prints a transcript, whole or as it grows: each message may be told again in any state, and only what is new is
written. Where the messages come from is left to `sessions` and `follow`."""

from __future__ import annotations

from typing import Literal

from rich.console import Console
from rich.text import Text

from bough.api.cli.framework.client import Json, part, parts
from bough.api.cli.framework.formats import brief, clean
from bough.model.message import QUEUED_BASE

Group = Literal["user", "text", "thought", "tool", "plan", "note"]

SPOKEN = ("text", "thought")
TOOL_MARKS = {"completed": ("✓", "green"), "failed": ("✗", "red")}
AT_WORK = ("…", "yellow")
STEP_MARKS = {"completed": "✓", "in_progress": "▸"}
# Of what a command printed, or of why a tool call failed, so many lines are shown: the end is what people look for.
LAST_LINES = 20
NOTE_STYLES = {"error": "red", "cancelled": "yellow"}


class Talk:
    """The printed side of a conversation."""

    def __init__(self, console: Console, *, prompts: bool) -> None:
        self._console = console
        self._prompts = prompts
        # How many characters of a growing message stand on the screen; what an entry of another kind looked like.
        self._lengths: dict[str, int] = {}
        self._kinds: dict[str, Group] = {}
        self._shown: dict[str, str] = {}
        self._times: dict[str, str] = {}
        self._group: Group | None = None
        # The message that the last line belongs to, if that line is not finished.
        self._open: str | None = None

    def knows(self, message_id: str) -> bool:
        return message_id in self._kinds

    def message(self, message: Json) -> None:
        """Takes a message as it stands; an older state than the one that is known changes nothing."""
        known = message["id"]
        if message["updatedAt"] < self._times.get(known, ""):
            return
        self._times[known] = message["updatedAt"]
        content: Json = message["content"]
        kind = content.get("type")
        if message["role"] == "user":
            if message["position"] < QUEUED_BASE:
                self._prompt(known, content)
        elif kind in SPOKEN:
            self._kinds.setdefault(known, kind)
            self.grow(known, 0, content["text"])
            if not content.get("partial"):
                self._finish(known)
        elif kind == "tool":
            self._tool(known, content)
        elif kind == "plan":
            self._plan(known, content)
        else:
            self._note(known, content)

    def grow(self, message_id: str, offset: int, text: str) -> bool:
        """Takes text at an offset in characters and writes what is new; false if something before it is missing."""
        have = self._lengths.get(message_id, 0)
        if offset > have:
            return False
        fresh = text[have - offset :]
        if fresh:
            group = self._kinds.setdefault(message_id, "text")
            if self._open != message_id:
                self._begin(group)
                self._open = message_id
            self._write(fresh, "dim italic" if group == "thought" else "")
            self._lengths[message_id] = have + len(fresh)
        return True

    def end(self) -> None:
        """Finishes the last line."""
        if self._open is not None:
            self._open = None
            self._console.print()

    def line(self, text: str, style: str = "") -> None:
        """A line that is not part of the conversation."""
        self._begin("note")
        self._console.print(Text(clean(text), style=style), soft_wrap=True)

    def _begin(self, group: Group) -> None:
        """Leaves an empty line between things of different kinds, and between paragraphs."""
        self.end()
        if self._group is not None and (group != self._group or group in ("user", "text", "thought")):
            self._console.print()
        self._group = group

    def _write(self, text: str, style: str) -> None:
        self._console.print(Text(clean(text), style=style), end="", soft_wrap=True)

    def _finish(self, message_id: str) -> None:
        if self._open == message_id:
            self.end()

    def _changed(self, message_id: str, group: Group, look: str) -> bool:
        self._kinds[message_id] = group
        if self._shown.get(message_id) == look:
            return False
        self._shown[message_id] = look
        return True

    def _prompt(self, message_id: str, content: Json) -> None:
        named = [f"[{one.get('name')}, {one.get('mimeType')}]" for one in parts(content, "files")]
        text = clean("\n".join([str(content.get("text", "")), *named]))
        if self._changed(message_id, "user", text) and self._prompts:
            self._begin("user")
            for row in text.splitlines() or [""]:
                self._console.print(Text(f"> {row}", style="bold cyan"), soft_wrap=True)

    def _tool(self, message_id: str, content: Json) -> None:
        status = str(part(content, "result").get("status") or "pending")
        mark, style = TOOL_MARKS.get(status, AT_WORK)
        live = self._console.is_terminal
        if status not in TOOL_MARKS and not live:
            # On paper one line is enough: the one that says how it ended.
            self._kinds[message_id] = "tool"
            return
        title = str(content.get("title") or content.get("tool") or "tool call")
        room = self._console.width - 4 if live else 500
        if not self._changed(message_id, "tool", f"{mark} {title}"):
            return
        if self._open == message_id:
            # Still the last line: it is written over.
            self._console.file.write("\r\x1b[K")
        else:
            self._begin("tool")
        text = Text.assemble((f"{mark} ", style), brief(title, max(room, 8)))
        if status in TOOL_MARKS:
            self._console.print(text, soft_wrap=True)
            self._open = None
            if status == "failed" or content.get("kind") == "execute":
                self._output(content)
        else:
            self._console.print(text, soft_wrap=True, end="")
            self._console.file.flush()
            self._open = message_id

    def _output(self, content: Json) -> None:
        blocks = [part(one, "content") for one in parts(part(content, "result"), "content")]
        lines = "\n".join(str(block["text"]) for block in blocks if "text" in block).strip("\n").splitlines()
        left = len(lines) - LAST_LINES
        for line in [*([f"… {left} more lines"] if left > 0 else []), *lines[-LAST_LINES:]]:
            self._console.print(Text(f"  {clean(line)}".rstrip(), style="dim"), soft_wrap=True)

    def _plan(self, message_id: str, content: Json) -> None:
        rows = [
            f"{STEP_MARKS.get(str(step.get('status')), '○')} {brief(str(step.get('content')), 200)}"
            for step in parts(content, "steps")
        ]
        if self._changed(message_id, "plan", "\n".join(rows)):
            self._begin("plan")
            for row in ["Plan", *rows]:
                self._console.print(Text(row, style="blue"), soft_wrap=True)

    def _note(self, message_id: str, content: Json) -> None:
        kind = str(content.get("type"))
        text = str(content.get("text") or f"({content.get('kind') or kind})")
        if self._changed(message_id, "note", text):
            self.line(clean(text), NOTE_STYLES.get(kind, "dim"))
