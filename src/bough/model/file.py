"""Defines a file attached to a prompt: its name, its type and the types that are allowed."""

from __future__ import annotations

import base64
import functools
import mimetypes
import re
import unicodedata
from typing import Literal

import msgspec

# For more, the agent can read a folder.
MOST_FILES = 10
# The largest image that models accept.
LARGEST_FILE = 5 * 1024 * 1024
LONGEST_NAME = 200
TEXT = "text/plain"

# Image signatures. File names and clients are often wrong, and some agents never recover from an image that is none.
SIGNATURES: tuple[tuple[str, re.Pattern[bytes]], ...] = (
    ("image/png", re.compile(rb"\x89PNG\r\n\x1a\n")),
    ("image/jpeg", re.compile(rb"\xff\xd8\xff")),
    ("image/gif", re.compile(rb"GIF8[79]a")),
    ("image/webp", re.compile(rb"RIFF.{4}WEBP", re.DOTALL)),
)
IMAGES = tuple(kind for kind, _ in SIGNATURES)
# Browsers may display these; everything else is a download.
SHOWN = frozenset({*IMAGES, TEXT})
OPAQUE = "application/octet-stream"

MIME_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,63}/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}")
# Characters that change text direction and could make one name look like another.
_TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_UNSEEN = frozenset({"Cc", "Cs", "Zl", "Zp"})


class FileInfo(msgspec.Struct, rename="camel"):
    """An attached file as messages list it."""

    id: str
    name: str
    mime_type: str
    size: int

    @property
    def sort(self) -> Literal["image", "text"]:
        return "image" if self.mime_type in IMAGES else "text"

    @property
    def described(self) -> str:
        return described(self.name, self.mime_type, self.size)


class File(FileInfo):
    """An attached file with its content as base64."""

    data: str

    @property
    def bytes(self) -> bytes:
        return base64.b64decode(self.data)

    @property
    def text(self) -> str:
        return self.bytes.decode()


def described(name: str, mime_type: str, size: int) -> str:
    """Describes a file in a few words."""
    return f"{name} ({mime_type}, {size} {'byte' if size == 1 else 'bytes'})"


def is_plain_name(name: str) -> bool:
    """Tells whether this is a plain file name: no folders, nothing invisible."""
    return (
        0 < len(name) <= LONGEST_NAME
        and name.strip(" .") != ""
        and not any(
            character in "/\\" or character in _TURNING or unicodedata.category(character) in _UNSEEN
            for character in name
        )
    )


def image_type(data: bytes) -> str | None:
    """Returns the image type of the data if agents accept it."""
    return next((kind for kind, begins in SIGNATURES if begins.match(data)), None)


def is_image_type(kind: str | None) -> bool:
    """Tells whether this is an image type. SVG counts as text."""
    return kind is not None and kind.startswith("image/") and kind != "image/svg+xml"


def text_type(name: str, said: str | None) -> str:
    """Returns the type of a text: the declared one if it is useful, or else by the file's name."""
    known = None if said == "application/octet-stream" else said
    guessed = known or _types().guess_type(name)[0] or TEXT
    return TEXT if is_image_type(guessed) or guessed.startswith(("audio/", "video/")) else guessed


@functools.cache
def _types() -> mimetypes.MimeTypes:
    """Returns a type table without the machine's own lists, so that a name means the same everywhere."""
    return mimetypes.MimeTypes(filenames=())


def as_text(data: bytes) -> str | None:
    """Returns the data as text if it is UTF-8."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text
