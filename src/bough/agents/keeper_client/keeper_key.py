"""Derives the key that proves to a keeper that its server calls.

Agents run as the same user as the server, so the user alone proves nothing. The keys of all keepers are derived from
one secret in the folder above theirs; a keeper knows only the hash of its own."""

import hashlib
import hmac
import os
import secrets
from pathlib import Path

SECRET = "server.key"
LENGTH = 32


def keeper_key(root: Path, keeper_id: str) -> str:
    """Returns the key of a keeper below `root`; creates the secret if there is none."""
    return hmac.new(_secret(root / SECRET), keeper_id.encode(), hashlib.sha256).hexdigest()


def hashed(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def _secret(path: Path) -> bytes:
    try:
        stored = path.read_bytes()
        if len(stored) == LENGTH:
            return stored
    except FileNotFoundError:
        pass
    new = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
        file.write(secrets.token_bytes(LENGTH))
    try:
        # The first of two agents that start at once decides; an incomplete file of a full disk is replaced.
        os.link(new, path)
    except FileExistsError:
        if path.stat().st_size != LENGTH:
            os.replace(new, path)
    new.unlink(missing_ok=True)
    return path.read_bytes()
