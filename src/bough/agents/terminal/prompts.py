"""Owns which command a prompt asks for, also where it asks to go on with one that was cut off.
It leaves running it, and whether it may run, to the turn.
"""

from __future__ import annotations

from dataclasses import dataclass

from bough.agents.acp_server.params import texts
from bough.agents.acp_server.rpc import Json

# How Bough tells an agent whose process died that it shall go on with what it quotes in the block before.
CUT_OFF = "You were cut off while you worked on the task quoted above"
QUOTE = "> "


@dataclass(frozen=True)
class Asked:
    """A command, and whether the terminal may have been asked for it before."""

    text: str
    again: bool = False


def asked(content: list[Json]) -> Asked:
    """Returns what the last text block of a prompt asks for; nothing else in it is obeyed."""
    *before, last = ["", "", *texts(content)]
    if not last.startswith(CUT_OFF):
        return Asked(last)
    quoted = before[-1].split("\n")
    return Asked("\n".join(line.removeprefix(QUOTE) for line in quoted if line.startswith(QUOTE)), again=True)
