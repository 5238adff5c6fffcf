"""Makes sure that the process may open enough files: every agent, connection and database file takes a descriptor."""

from __future__ import annotations

import os
import resource

from bough.errors import Invalid

BASE = 32
"""Descriptors that a server with nothing to do has open, with room to spare."""
PER_AGENT = 3
"""Descriptors for a running agent: its keeper, and its own connections to Bough's tools."""
CONNECTIONS = 32
"""Connections of people, scripts and editors that must be possible."""
RESERVED = 64
"""Descriptors that connections may not take, because turns, git and the database need them."""
FOR_A_TURN = 24
"""Free descriptors without which no turn starts: a turn starts processes with pipes, and reads files."""


def ensure_enough(max_agents: int) -> None:
    """Raises the soft limit on open files if it is too low; raises `Invalid` if the hard limit is."""
    needed = BASE + PER_AGENT * max_agents + CONNECTIONS + RESERVED
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise Invalid(
            "too_few_descriptors",
            f"Bough needs {needed} file descriptors for {max_agents} agents, but may open only {hard}. Raise the limit "
            f"(`ulimit -n {max(needed, 1024)}`, or LimitNOFILE= in a systemd unit), or lower --max-agents.",
            needed=needed,
            limit=hard,
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def nearly_out(descriptor: int, keep: int = RESERVED) -> bool:
    """Tells whether a new descriptor is one of the last; the system always assigns the lowest number that is free."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return limit != resource.RLIM_INFINITY and descriptor >= limit - keep


def enough_for_a_turn() -> bool:
    """Tells whether a turn can start without running out of descriptors."""
    try:
        lowest = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    os.close(lowest)
    return not nearly_out(lowest, FOR_A_TURN)
