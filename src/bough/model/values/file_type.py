"""Recognizes the type of an attached file: images by their first bytes, texts by being UTF-8."""

from __future__ import annotations

import functools
import mimetypes
import re

TEXT = "text/plain"
OPAQUE = "application/octet-stream"
MIME_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,63}/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}")

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


def image_type(data: bytes) -> str | None:
    """Returns the image type of the data if agents accept it."""
    return next((kind for kind, begins in SIGNATURES if begins.match(data)), None)


def is_image_type(kind: str | None) -> bool:
    """Tells whether this is an image type. SVG counts as text."""
    return kind is not None and kind.startswith("image/") and kind != "image/svg+xml"


def text_type(name: str, declared: str | None) -> str:
    """Returns the type of a text: the declared one if it is useful, or else by the file's name."""
    known = None if declared == OPAQUE else declared
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
