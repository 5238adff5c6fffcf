"""Reads, creates and replaces the server's token, which is stored in a file that only its owner can read."""

from __future__ import annotations

import os
import secrets
from datetime import UTC, datetime
from pathlib import Path

from bough.model.values import own_tokens, times


def token_path(data: Path) -> Path:
    return data / "token"


def load_token(data: Path) -> str:
    """Returns the server's token; creates it if there is none."""
    try:
        # The file is empty if a server died, or the disk was full, while writing it; an empty token admits everybody.
        if stored := token_path(data).read_text("ascii").strip():
            return stored
    except FileNotFoundError:
        pass
    return new_token(data)


def token_created_at(data: Path) -> str | None:
    """Returns when the token was stored; None if there is no file."""
    try:
        return times.written(datetime.fromtimestamp(token_path(data).stat().st_mtime, UTC))
    except FileNotFoundError:
        return None


def new_token(data: Path) -> str:
    """Creates a token, which replaces the stored one."""
    token = own_tokens.SERVER + secrets.token_urlsafe(32)
    write_private(token_path(data), token)
    return token


def write_private(path: Path, text: str) -> None:
    """Atomically writes a file that only its owner can read."""
    temporary = path.with_name(f"{path.name}.tmp")
    temporary.unlink(missing_ok=True)
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text + "\n")
    temporary.replace(path)
