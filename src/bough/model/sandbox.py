"""Defines whether an agent runs in the sandbox, and how it ran at its last start."""

from __future__ import annotations

from typing import Literal, get_args

# `auto` confines the agent where the machine can, and `required` starts no agent that cannot be confined.
Sandbox = Literal["off", "auto", "required"]
# The sandbox of an agent's last start.
Confinement = Literal["workspace", "read-only", "unconfined"]

SANDBOXES: tuple[Sandbox, ...] = get_args(Sandbox)
