"""Agents that misbehave, each a program, which `module` finds by its name. They use only the standard library; the
tests that use them say how a client must handle them."""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).parent


def module(name: str) -> str:
    """Returns the module of the agent with this name, for `python -m`."""
    [path] = HERE.rglob(f"{name}.py")
    return ".".join((__name__, *path.relative_to(HERE).with_suffix("").parts))
