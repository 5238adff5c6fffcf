"""Which server a command talks to (L4): the one that runs on a data folder, or one named by its address. Talking to it
is `client`."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import typer

from bough.errors import NotFound
from bough.settings import default_data

DATA, URL, TOKEN = "BOUGH_DATA", "BOUGH_URL", "BOUGH_TOKEN"


@dataclass(frozen=True)
class Place:
    """What the caller said about the server; looked up again for every connection, as servers restart."""

    data: str | None = None
    url: str | None = None
    token: str | None = None

    @property
    def folder(self) -> Path:
        return Path(self.data or os.environ.get(DATA) or default_data()).expanduser().absolute()

    @property
    def address(self) -> str | None:
        """The address that was named, if any; a folder on the command line counts more than a variable."""
        return self.url or (None if self.data else os.environ.get(URL)) or None

    def find(self) -> tuple[str, str]:
        """Address and token of the server."""
        if self.address is not None:
            token = self.token or os.environ.get(TOKEN)
            if not token:
                raise typer.BadParameter(f"A server named by its address needs its token too: set {TOKEN} or --token.")
            return self.address.rstrip("/"), token
        try:
            about = json.loads((self.folder / "server.json").read_text("utf-8"))
            return about["url"], self.token or about["token"]
        except (OSError, ValueError, KeyError) as error:
            raise self.nobody() from error

    def nobody(self) -> NotFound:
        """What is said when no server answers."""
        if self.address is not None:
            return NotFound("no_server", f"No server answers at {self.address}.")
        chosen = "" if str(self.folder) == default_data() else f" --data {self.folder}"
        return NotFound("no_server", f"No server runs on {self.folder}. Start one with: bough serve{chosen}")
