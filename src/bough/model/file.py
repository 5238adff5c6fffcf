"""A file that goes with a prompt: what it is called, what sort it is, and which sorts there are. Rules without I/O;
keeping files is `core/files`, giving them to an agent `core/handing`."""

from __future__ import annotations

import base64
import functools
import mimetypes
import re
import unicodedata
from typing import Literal

import msgspec

# More is a folder, and agents can read folders.
MOST_FILES = 10
# What models take of one picture at most.
LARGEST_FILE = 5 * 1024 * 1024
LONGEST_NAME = 200
TEXT = "text/plain"

# What a picture begins with: names and clients are wrong about it often enough, and an agent that is sent something
# else as a picture may never get over it.
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
# Characters that turn the direction of what follows, and could make a name look like another.
_TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_UNSEEN = frozenset({"Cc", "Cs", "Zl", "Zp"})


class FileInfo(msgspec.Struct, rename="camel"):
    """A file of a prompt as messages name it."""

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
    """The same with what is in it, as base64."""

    data: str

    @property
    def bytes(self) -> bytes:
        return base64.b64decode(self.data)

    @property
    def text(self) -> str:
        return self.bytes.decode()


def described(name: str, mime_type: str, size: int) -> str:
    """A file in a few words."""
    return f"{name} ({mime_type}, {size} {'byte' if size == 1 else 'bytes'})"


def is_plain_name(name: str) -> bool:
    """Whether this is the name of a file and nothing more: no way to another folder, nothing that cannot be seen."""
    return (
        0 < len(name) <= LONGEST_NAME
        and name.strip(" .") != ""
        and not any(one in "/\\" or one in _TURNING or unicodedata.category(one) in _UNSEEN for one in name)
    )


def image_type(data: bytes) -> str | None:
    """The sort of picture that this is, if it is one that agents take."""
    return next((kind for kind, begins in SIGNATURES if begins.match(data)), None)


def is_image_type(kind: str | None) -> bool:
    """Whether this names a sort of picture; SVG is a text."""
    return kind is not None and kind.startswith("image/") and kind != "image/svg+xml"


def text_type(name: str, said: str | None) -> str:
    """What a text is called: as it was said if that says anything, else by its name."""
    known = None if said == "application/octet-stream" else said
    guessed = known or _types().guess_type(name)[0] or TEXT
    return TEXT if is_image_type(guessed) or guessed.startswith(("audio/", "video/")) else guessed


@functools.cache
def _types() -> mimetypes.MimeTypes:
    """Without the lists of the machine, so that a name means the same everywhere."""
    return mimetypes.MimeTypes(filenames=())


def as_text(data: bytes) -> str | None:
    """The text that this is, if it is one."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text
