"""Implements the demo agent's two tools: writing a file and running a command."""

import asyncio
import contextlib
import os
import signal

import msgspec

from bough.agents.json_rpc import Json

# Bytes of output that are reported: more than anyone reads in a tool call, and far below the longest line.
OUTPUT_LIMIT = 100_000
# Seconds that a cancelled command gets to clean up before it is killed.
TERM_GRACE = 0.5


class FileChange(msgspec.Struct):
    """A planned write to a file."""

    path: str
    inside: bool
    old_text: str | None
    new_text: str

    def diff(self) -> Json:
        """Returns the change as the content of a tool call."""
        return {"type": "diff", "path": self.path, "oldText": self.old_text, "newText": self.new_text}

    def write(self) -> None:
        """Writes the file, with the folders that it needs."""
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        with open(self.path, "w", encoding="utf-8", newline="") as file:
            file.write(self.new_text)


def plan_change(cwd: str, path: str, text: str) -> FileChange:
    """Reads the current content, and checks whether the file is in the working directory once links are followed."""
    path = os.path.normpath(os.path.join(cwd, path))
    root = os.path.realpath(cwd)
    inside = os.path.commonpath([root, os.path.realpath(path)]) == root
    old_text = None
    with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace", newline="") as file:
        old_text = file.read()
    return FileChange(path, inside, old_text, text)


class CommandResult(msgspec.Struct, rename="camel"):
    """The outcome of a command."""

    output: str
    exit_code: int


async def run_command(command: str, cwd: str) -> CommandResult:
    """Runs a shell command in its own process session. When cancelled, ends the whole process group."""
    import tempfile  # Imported late, because it takes longer than most of this package.

    # A file instead of a pipe: background processes that the command leaves would hold a pipe open.
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
    """Sends SIGTERM to the process group, then SIGKILL."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), TERM_GRACE)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
