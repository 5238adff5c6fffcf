"""Defines a file attached to a prompt, and the names that it may have. `file_type` recognizes its type."""

from __future__ import annotations

import base64
import unicodedata
from typing import Literal

import msgspec

from bough.model.values.file_type import IMAGES

# For more, the agent can read a folder.
MOST_FILES = 10
# The largest image that models accept.
LARGEST_FILE = 5 * 1024 * 1024
LONGEST_NAME = 200

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
