"""Reads the files of the built page into memory, with their compressed variants."""

from __future__ import annotations

import fcntl
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

IDENTITY = "identity"
# Smallest first; `npm run build` writes each compressed variant next to its file, with one of these endings.
ENCODINGS = {"br": ".br", "gzip": ".gz"}
# Explicit, because Python's mimetypes depend on the machine.
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
# The files of `web/public`, whose names contain no hash; their routes must be known before the page is built.
PUBLIC = ("/icon.svg", "/manifest.webmanifest", "/theme.js")
HASHED = "/assets/"
LARGEST_NOTE = 4000


@dataclass(frozen=True)
class PageFile:
    """A file of the page in all of its encodings."""

    kind: str
    tag: str
    forms: dict[str, bytes]

    def best(self, accepted: str) -> str:
        """Returns the smallest encoding that an `Accept-Encoding` header allows."""
        allowed = _accepted(accepted)
        return next((encoding for encoding in ENCODINGS if encoding in self.forms and encoding in allowed), IDENTITY)


class BuiltPage:
    """The most recently built page. Paths are only looked up in a table, so none can leave the folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._built: int | None = None
        self._files: dict[str, PageFile] = {}
        self._refresh()

    def find(self, path: str) -> PageFile | None:
        """Returns the file for a URL path, if there is one."""
        self._refresh()
        return self._files.get(path)

    def unbuilt(self) -> str | None:
        """Returns why there is no page: an empty text while it is being built, and None if nothing builds it."""
        try:
            note = os.open(build_note(self._folder), os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            # Whoever builds the page holds an exclusive lock meanwhile, and writes why it failed.
            fcntl.flock(note, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return os.read(note, LARGEST_NOTE).decode("utf-8", "replace") or None
        except BlockingIOError:
            return ""
        finally:
            os.close(note)

    def unhashed_paths(self) -> list[str]:
        """Returns the paths of the files next to the index, such as icons, whose names contain no hash."""
        return sorted({*PUBLIC, *(path for path in self._files if path.count("/") == 1 and path != INDEX)})

    def _refresh(self) -> None:
        """Reads all files again after a new build. During a build there is no index, and the old files stay in use."""
        try:
            built = (self._folder / INDEX[1:]).stat().st_mtime_ns
            if built != self._built:
                self._files = _read(self._folder)
                self._built = built
        except FileNotFoundError:
            pass


def build_note(folder: Path) -> Path:
    """Returns the file that is locked while the page is being built, and that says why the last build failed."""
    return folder.with_name(f"{folder.name}.building")


def _read(folder: Path) -> dict[str, PageFile]:
    paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    files: dict[str, PageFile] = {}
    for name, path in paths.items():
        if path.suffix in ENCODINGS.values() and name.removesuffix(path.suffix) in paths:
            continue
        forms = {IDENTITY: path.read_bytes()}
        forms |= {
            encoding: paths[name + suffix].read_bytes()
            for encoding, suffix in ENCODINGS.items()
            if name + suffix in paths
        }
        tag = hashlib.sha256(forms[IDENTITY]).hexdigest()[:16]
        files[f"/{name}"] = PageFile(KINDS.get(path.suffix, "application/octet-stream"), tag, forms)
    return files


def _accepted(header: str) -> set[str]:
    """Returns the encodings that a header names without `q=0`."""
    names: set[str] = set()
    for part in header.lower().split(","):
        name, *more = (part_text.strip() for part_text in part.split(";"))
        weight = next((part_text.removeprefix("q=") for part_text in more if part_text.startswith("q=")), "1")
        if weight.strip("0.") != "":
            names.add(name)
    return names
