"""Reads the command from a prompt, including a prompt to continue a command that was cut off."""

from __future__ import annotations

from dataclasses import dataclass

from bough.agents.acp_server.params import texts
from bough.agents.json_rpc import Json

# The beginnings of the text by which Bough tells an agent whose process died to continue the task quoted in the block
# before. The second one stands in older session files.
CUT_OFF = (
    "You were interrupted while working on the task quoted above",
    "You were cut off while you worked on the task quoted above",
)
QUOTE = "> "


@dataclass(frozen=True)
class RequestedCommand:
    """A command, and whether the terminal may have received it before."""

    text: str
    repeated: bool = False


def read_command(content: list[Json]) -> RequestedCommand:
    """Returns the command in the last text block of a prompt. Other blocks are ignored."""
    *before, last = ["", "", *texts(content)]
    if not last.startswith(CUT_OFF):
        return RequestedCommand(last)
    quoted = before[-1].split("\n")
    command = "\n".join(line.removeprefix(QUOTE) for line in quoted if line.startswith(QUOTE))
    return RequestedCommand(command, repeated=True)
