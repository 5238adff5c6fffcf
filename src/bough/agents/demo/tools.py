"""Owns the agent's own two tools, writing a file and running a command, and how a tool call is reported.
It leaves asking for permission to the turn.
"""

import asyncio
import contextlib
import os
import signal
from typing import Any

import msgspec

from bough.agents.acp_server.rpc import Json
from bough.agents.demo.updates import Voice, new_id

# More than anybody reads in a tool call, and well below what a line may hold.
OUTPUT_LIMIT = 100_000
# What a command that is cut off gets for tidying up before it is killed.
TERM_GRACE = 0.5


class ToolCall:
    """A tool call as the client sees it, from its announcement to its end."""

    def __init__(self, voice: Voice, **fields: Any) -> None:
        self._voice = voice
        self.open = True
        self.fields: Json = {"toolCallId": new_id("call"), "status": "pending", **fields}
        voice.update({"sessionUpdate": "tool_call", **self.fields})

    @property
    def id(self) -> str:
        return self.fields["toolCallId"]

    def update(self, **fields: Any) -> None:
        self.fields.update(fields)
        self.open = self.fields["status"] in ("pending", "in_progress")
        self._voice.update({"sessionUpdate": "tool_call_update", "toolCallId": self.id, **fields})

    def complete(self, **fields: Any) -> None:
        self.update(status="completed", **fields)

    def fail(self, text: str) -> None:
        self.update(status="failed", content=[text_content(text)], rawOutput={"error": text})


def text_content(text: str) -> Json:
    return {"type": "content", "content": {"type": "text", "text": text}}


class FileChange(msgspec.Struct):
    """A write that has not happened yet."""

    path: str
    inside: bool
    old_text: str | None
    new_text: str

    def diff(self) -> Json:
        return {"type": "diff", "path": self.path, "oldText": self.old_text, "newText": self.new_text}

    def write(self) -> None:
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        with open(self.path, "w", encoding="utf-8", newline="") as file:
            file.write(self.new_text)


def plan_change(cwd: str, path: str, text: str) -> FileChange:
    """Looks at what is there now, and whether it lies in the working directory once links are followed."""
    path = os.path.normpath(os.path.join(cwd, path))
    root = os.path.realpath(cwd)
    inside = os.path.commonpath([root, os.path.realpath(path)]) == root
    old_text = None
    with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace", newline="") as file:
        old_text = file.read()
    return FileChange(path, inside, old_text, text)


class CommandResult(msgspec.Struct, rename="camel"):
    output: str
    exit_code: int


async def run_command(command: str, cwd: str) -> CommandResult:
    """Runs the user's shell line in a session of its own; when cancelled, nothing of it is left running."""
    import tempfile  # Only here, since it takes longer to import than most of this package.

    # A file, not a pipe: what the command leaves running in the background would hold a pipe open.
    with tempfile.TemporaryFile() as file:
        process = await asyncio.create_subprocess_exec(
            "/bin/sh",
            "-c",
            command,
            cwd=cwd,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
        try:
            code = await process.wait()
        except asyncio.CancelledError:
            await _end(process)
            raise
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - OUTPUT_LIMIT))
        output = file.read().decode(errors="replace")
    if size > OUTPUT_LIMIT:
        output = f"[the first {size - OUTPUT_LIMIT} bytes are left out]\n{output}"
    return CommandResult(output, code if code >= 0 else 128 - code)


async def _end(process: asyncio.subprocess.Process) -> None:
    """Asks the process group to end, then kills what is left of it."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), TERM_GRACE)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
