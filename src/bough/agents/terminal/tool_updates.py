"""Reports a command to the client: as one tool call while it runs, and as a short message at its end."""

from __future__ import annotations

from bough.agents.acp_server.updates import SessionUpdates, ToolCall, new_id, text_content
from bough.agents.json_rpc import Json
from bough.agents.terminal.command import CommandExit
from bough.agents.terminal.state import TerminalState


class TerminalUpdates(SessionUpdates[TerminalState]):
    """The updates of one session."""

    def say(self, text: str) -> None:
        """Sends one whole message."""
        content = {"type": "text", "text": text}
        self.update({"sessionUpdate": "agent_message_chunk", "messageId": new_id("msg"), "content": content})


class CommandCall(ToolCall):
    """A command as the client sees it, from its announcement to its end."""

    def __init__(self, updates: TerminalUpdates, command: str, cwd: str) -> None:
        super().__init__(updates, title=command, name="run", kind="execute", rawInput={"command": command, "cwd": cwd})

    def show(self, output: str) -> None:
        """Sends the output so far, without recording it."""
        self._updates.send({"sessionUpdate": "tool_call_update", "toolCallId": self.id, "content": _content(output)})

    def end(self, exit: CommandExit, output: str, *, cancelled: bool = False) -> None:
        """Reports how the command ended, with its output."""
        self.update(
            status="completed" if exit.code == 0 and not cancelled else "failed",
            content=_content(output),
            rawOutput={"exitCode": exit.code, "signal": exit.signal, "output": output},
        )

    def fail(self, reason: str) -> None:
        """Reports why the command did not run."""
        self.update(**_failure(reason))


def ended_early(call_id: str) -> Json:
    """Returns the end of a call whose agent process was killed together with its command."""
    reason = "The terminal's process ended while this command ran."
    return {"sessionUpdate": "tool_call_update", "toolCallId": call_id, **_failure(reason)}


def summary(exit: CommandExit, output: str) -> str:
    """Returns a short message about the end of a command."""
    if exit.signal is not None:
        return f"killed by {exit.signal}"
    return f"exit {exit.code}" if exit.code or output else "done"


def _failure(reason: str) -> Json:
    output = {"exitCode": None, "signal": None, "output": "", "error": reason}
    return {"status": "failed", "content": _content(reason), "rawOutput": output}


def _content(text: str) -> list[Json]:
    return [text_content(text)] if text else []
