"""`python -m tools.openapi_document FILE` writes the server's OpenAPI document without starting a server. It leaves a
file that is already current untouched, so that `make` does not rebuild what depends on it."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import msgspec

from bough.api.http.auth import Gate
from bough.api.http.openapi import document
from bough.api.server.app import application
from bough.core.services import Services
from bough.settings import Settings


def text() -> bytes:
    """Returns the document that a running server serves, indented."""
    settings = Settings()
    # Routes use the services only when they are called, so their settings are enough here.
    services = cast("Services", SimpleNamespace(settings=settings))
    return msgspec.json.format(msgspec.json.encode(document(application(services, Gate("", settings)))), indent=1)


def write(path: Path) -> None:
    """Writes the document unless the file already holds it."""
    new = text() + b"\n"
    if not path.exists() or path.read_bytes() != new:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(new)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
