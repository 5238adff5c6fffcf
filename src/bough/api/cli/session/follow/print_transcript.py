"""Prints a transcript, complete or as it grows. A message may be given again in any state; only what is new is
printed."""

from __future__ import annotations

from typing import Literal

from rich.console import Console
from rich.text import Text

from bough.api.cli.framework.client import Json, part, parts
from bough.api.cli.framework.formats import brief, short
from bough.api.cli.framework.terminal_safety import clean
from bough.model.message import QUEUED_BASE

Group = Literal["user", "text", "thought", "tool", "plan", "note"]

SPOKEN = ("text", "thought")
TOOL_MARKS = {"completed": ("✓", "green"), "failed": ("✗", "red")}
AT_WORK = ("…", "yellow")
STEP_MARKS = {"completed": "✓", "in_progress": "▸"}
# Lines shown of a command's output or of a tool call's error; the end is the interesting part.
LAST_LINES = 20
NOTE_STYLES = {"error": "red", "cancelled": "yellow"}


class TranscriptPrinter:
    """Prints messages and remembers what is on the screen."""

    def __init__(self, console: Console, *, prompts: bool) -> None:
        self._console = console
        self._prompts = prompts
        # Characters printed of each growing message, and the last printed form of every other message.
        self._lengths: dict[str, int] = {}
        self._kinds: dict[str, Group] = {}
        self._shown: dict[str, str] = {}
        self._times: dict[str, str] = {}
        self._group: Group | None = None
        # The message of the last line, if that line is unfinished.
        self._open: str | None = None

    def knows(self, message_id: str) -> bool:
        return message_id in self._kinds

    def message(self, message: Json) -> None:
        """Prints what is new in a message; ignores a state older than the known one."""
        message_id = message["id"]
        if message["updatedAt"] < self._times.get(message_id, ""):
            return
        self._times[message_id] = message["updatedAt"]
        content: Json = message["content"]
        kind = content.get("type")
        if message["role"] == "user":
            if message["position"] < QUEUED_BASE:
                self._prompt(message_id, content)
        elif kind in SPOKEN:
            self._kinds.setdefault(message_id, kind)
            self.grow(message_id, 0, content["text"])
            if not content.get("partial"):
                self._finish(message_id)
        elif kind == "tool":
            self._tool(message_id, content)
        elif kind == "plan":
            self._plan(message_id, content)
        else:
            self._note(message_id, content)

    def grow(self, message_id: str, offset: int, text: str) -> bool:
        """Prints the new part of text at a character offset; returns False if text before it is missing."""
        printed = self._lengths.get(message_id, 0)
        if offset > printed:
            return False
        fresh = text[printed - offset :]
        if fresh:
            group = self._kinds.setdefault(message_id, "text")
            if self._open != message_id:
                self._begin(group)
                self._open = message_id
            self._write(fresh, "dim italic" if group == "thought" else "")
            self._lengths[message_id] = printed + len(fresh)
        return True

    def end(self) -> None:
        """Finishes the last line."""
        if self._open is not None:
            self._open = None
            self._console.print()

    def line(self, text: str, style: str = "") -> None:
        """Prints a line that is not part of the conversation."""
        self._begin("note")
        self._console.print(Text(clean(text), style=style), soft_wrap=True)

    def _begin(self, group: Group) -> None:
        """Prints an empty line between messages of different kinds and between paragraphs."""
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
        labels = [f"[{file.get('name')}, {file.get('mimeType')}]" for file in parts(content, "files")]
        text = clean("\n".join([str(content.get("text", "")), *labels]))
        if self._changed(message_id, "user", text) and self._prompts:
            self._begin("user")
            for row in text.splitlines() or [""]:
                self._console.print(Text(f"> {row}", style="bold cyan"), soft_wrap=True)

    def _tool(self, message_id: str, content: Json) -> None:
        status = str(part(content, "result").get("status") or "pending")
        mark, style = TOOL_MARKS.get(status, AT_WORK)
        live = self._console.is_terminal
        if status not in TOOL_MARKS and not live:
            # Not on a terminal, only the line with the outcome is printed.
            self._kinds[message_id] = "tool"
            return
        title = str(content.get("title") or content.get("tool") or "tool call")
        available = self._console.width - 4 if live else 500
        if not self._changed(message_id, "tool", f"{mark} {title}"):
            return
        if self._open == message_id:
            # It is still the last line, so overwrite it.
            self._console.file.write("\r\x1b[K")
        else:
            self._begin("tool")
        text = Text.assemble((f"{mark} ", style), brief(title, max(available, 8)))
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
        blocks = [part(item, "content") for item in parts(part(content, "result"), "content")]
        lines = "\n".join(str(block["text"]) for block in blocks if "text" in block).strip("\n").splitlines()
        hidden = len(lines) - LAST_LINES
        for line in [*([f"… {hidden} more lines"] if hidden > 0 else []), *lines[-LAST_LINES:]]:
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
        if part(content, "race"):
            # The notice that a race began has the race's id.
            text = f"{text}\nSee its progress: bough race show {short(message_id)}"
        elif winner := part(content, "kept"):
            text = f"{text}\nSee the race: bough race show {short(str(winner.get('raceId')))}"
        if self._changed(message_id, "note", text):
            self.line(clean(text), "yellow" if "stopReason" in content else NOTE_STYLES.get(kind, "dim"))
