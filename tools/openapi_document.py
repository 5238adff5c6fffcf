"""`python -m tools.openapi_document FILE` writes the server's OpenAPI document without starting a server. It leaves a
file that is already current untouched, so that `make` does not rebuild what depends on it."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from bough.api.http.openapi import document
from bough.api.page.routes import BUILT
from bough.api.server.app import application
from bough.settings import Settings


def text() -> bytes:
    """Returns the document that a running server serves, indented."""
    app = application(Settings().max_body, BUILT)
    return msgspec.json.format(msgspec.json.encode(document(app)), indent=1)


def write(path: Path) -> None:
    """Writes the document unless the file already holds it."""
    new = text() + b"\n"
    if not path.exists() or path.read_bytes() != new:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(new)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
