"""Finds the server that a command calls: the one that runs on a data folder, or the one at a given address."""

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
class ServerTarget:
    """The data folder or address that the user gave. Every connection looks the server up again, as it may restart."""

    data: str | None = None
    url: str | None = None
    token: str | None = None

    @property
    def folder(self) -> Path:
        return Path(self.data or os.environ.get(DATA) or default_data()).expanduser().absolute()

    @property
    def address(self) -> str | None:
        """The given address, if any; a data folder on the command line overrides the variable."""
        return self.url or (None if self.data else os.environ.get(URL)) or None

    def find(self) -> tuple[str, str]:
        """Returns the server's address and token."""
        if self.address is not None:
            token = self.token or os.environ.get(TOKEN)
            if not token:
                raise typer.BadParameter(f"A server address needs a token too: set {TOKEN} or pass --token.")
            return self.address.rstrip("/"), token
        try:
            about = json.loads((self.folder / "server.json").read_text("utf-8"))
            return about["url"], self.token or about["token"]
        except (OSError, ValueError, KeyError) as error:
            raise self.not_running() from error

    def not_running(self) -> NotFound:
        """Returns the error for a server that does not answer."""
        if self.address is not None:
            return NotFound("no_server", f"No server answers at {self.address}. Check that it is running.")
        option = "" if str(self.folder) == default_data() else f" --data {self.folder}"
        return NotFound("no_server", f"No server is running on {self.folder}. Start one: bough serve{option}")
