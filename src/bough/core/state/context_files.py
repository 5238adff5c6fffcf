"""Reads a session's context files and turns them into blocks for its agent (R2, R4c)."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

import msgspec

from bough.agents.acp.types import Block, ResourceBlock, ResourceLinkBlock, TextResource
from bough.model.session import Session

# In bytes: larger files, and those beyond the sum, are linked instead.
LARGEST_EMBEDDED = 100_000
LARGEST_TOGETHER = 400_000


def context_blocks(session: Session, files: Iterable[str], *, embed: bool) -> list[Block]:
    """Returns one block per file: with its text where the agent accepts that, or else a link, which the agent follows
    itself. A confined agent gets links only: Bough would read for it what its box hides. Reads the disk, so it runs in
    a thread."""
    blocks: list[Block] = []
    left = LARGEST_TOGETHER if embed and session.confinement == "unconfined" else 0
    for file in files:
        uri = Path(file).as_uri()
        text = _text(file, min(left, LARGEST_EMBEDDED))
        if text is None:
            blocks.append(ResourceLinkBlock(name=os.path.relpath(file, session.cwd), uri=uri))
        else:
            left -= len(text.encode())
            blocks.append(ResourceBlock(resource=TextResource(uri=uri, text=text)))
    return blocks


def _text(file: str, most: int) -> str | None:
    """Returns the text of a file; None if it is too large, not a text, or not where it was when it was checked: an
    agent may have put a link there that leads to a file which it cannot read itself."""
    if most <= 0:
        return None
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode) or os.readlink(f"/proc/self/fd/{handle}") != file:
                return None
            with os.fdopen(handle, "rb", closefd=False) as opened:
                content = opened.read(most + 1)
        finally:
            os.close(handle)
        text = content.decode() if len(content) <= most else None
    except (OSError, UnicodeDecodeError):
        return None
    return None if text is None or "\0" in text else text


def context_files(session: Session) -> list[str]:
    """Returns the session's context files as absolute paths."""
    return msgspec.json.decode(session.context_files, type=list[str])
