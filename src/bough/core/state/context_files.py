"""Reads a session's context files and turns them into links for its agent (R2)."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from bough.agents.acp.types import Block, ResourceLinkBlock
from bough.model.session import Session


def links(session: Session) -> list[Block]:
    """Returns one link per context file; the agent reads the files itself."""
    return [
        ResourceLinkBlock(name=os.path.relpath(file, session.cwd), uri=Path(file).as_uri())
        for file in context_files(session)
    ]


def context_files(session: Session) -> list[str]:
    """Returns the session's context files as absolute paths."""
    return msgspec.json.decode(session.context_files, type=list[str])
