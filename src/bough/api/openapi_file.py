"""`python -m bough.api.openapi_file FILE` writes the OpenAPI document without a server, for what is generated from it.
What is in the document is `openapi`'s part; a file that says the same already is left as it is."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import msgspec

from bough.api.auth import Gate
from bough.api.http import application
from bough.api.openapi import document
from bough.core.services import Services
from bough.settings import Settings


def text() -> bytes:
    """The document as the running server has it, in lines."""
    settings = Settings()
    # Routes ask the services only when they are called, and here nobody calls them.
    services = cast("Services", SimpleNamespace(settings=settings))
    return msgspec.json.format(msgspec.json.encode(document(application(services, Gate("", settings)))), indent=1)


def write(path: Path) -> None:
    new = text() + b"\n"
    if not path.exists() or path.read_bytes() != new:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(new)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
