"""The files of the built page: read into memory, each in the smallest form that a browser takes. Who is given them, and
what a browser may do with them, is `web`'s part."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

IDENTITY = "identity"
# Smallest first; what `npm run build` puts beside a file is its name with one of these endings.
ENCODINGS = {"br": ".br", "gzip": ".gz"}
# Not the machine's own list, which differs between machines.
KINDS = {
    ".css": "text/css",
    ".html": "text/html",
    ".ico": "image/x-icon",
    ".js": "text/javascript",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
    ".wasm": "application/wasm",
    ".webmanifest": "application/manifest+json",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
}
INDEX = "/index.html"
HASHED = "/assets/"


@dataclass(frozen=True)
class File:
    """One file of the page in every form there is of it."""

    kind: str
    tag: str
    forms: dict[str, bytes]

    def best(self, accepted: str) -> str:
        """The encoding in which a browser that sends this `Accept-Encoding` is given it."""
        taken = _accepted(accepted)
        return next((one for one in ENCODINGS if one in self.forms and one in taken), IDENTITY)


class Built:
    """The page as it was built last. Paths are only ever looked up in a table, so none leads out of the folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._built: int | None = None
        self._files: dict[str, File] = {}
        self._look()

    def find(self, path: str) -> File | None:
        """The file under this path of the address, if there is one."""
        self._look()
        return self._files.get(path)

    def beside(self) -> list[str]:
        """Paths of the files beside the index: icons and the like, whose names do not change with what is in them."""
        return sorted(path for path in self._files if path.count("/") == 1 and path != INDEX)

    def _look(self) -> None:
        """Reads everything again if it was built again. While that is under way there is no index: the page that was
        read before is good until then."""
        try:
            built = (self._folder / INDEX[1:]).stat().st_mtime_ns
            if built != self._built:
                self._files = _read(self._folder)
                self._built = built
        except FileNotFoundError:
            pass


def _read(folder: Path) -> dict[str, File]:
    found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    files: dict[str, File] = {}
    for name, path in found.items():
        if path.suffix in ENCODINGS.values() and name.removesuffix(path.suffix) in found:
            continue
        forms = {IDENTITY: path.read_bytes()}
        forms |= {one: found[name + end].read_bytes() for one, end in ENCODINGS.items() if name + end in found}
        tag = hashlib.sha256(forms[IDENTITY]).hexdigest()[:16]
        files[f"/{name}"] = File(KINDS.get(path.suffix, "application/octet-stream"), tag, forms)
    return files


def _accepted(header: str) -> set[str]:
    """The encodings that a header names and does not rule out with `q=0`."""
    taken: set[str] = set()
    for part in header.lower().split(","):
        name, *more = (one.strip() for one in part.split(";"))
        weight = next((one.removeprefix("q=") for one in more if one.startswith("q=")), "1")
        if weight.strip("0.") != "":
            taken.add(name)
    return taken
