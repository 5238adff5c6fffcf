"""Saved prompts, the requests about them, and their checks."""

from __future__ import annotations

import re

import msgspec

from bough.errors import Invalid

# What can be typed after a slash.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}")
LONGEST_TEXT = 64 * 1024


class SavedPrompt(msgspec.Struct, rename="camel"):
    """A row of `saved_prompts`: a named text of one person."""

    id: str
    name: str
    text: str
    created_at: str
    updated_at: str


class NewSavedPrompt(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A prompt to save for oneself."""

    name: str
    text: str
    idempotency_key: str | None = None


class SavedPromptPatch(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Changes to a saved prompt; omitted fields stay."""

    name: str | msgspec.UnsetType = msgspec.UNSET
    text: str | msgspec.UnsetType = msgspec.UNSET


def is_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


def check_prompt(name: str, text: str) -> None:
    """Raises `Invalid` for a name or a text that no saved prompt can have."""
    if not is_name(name):
        raise Invalid("bad_name", "The name of a saved prompt is 1 to 60 letters, digits, `_` or `-`.")
    if not text.strip() or len(text.encode("utf-8", "surrogatepass")) > LONGEST_TEXT:
        raise Invalid("bad_saved_prompt", f"A saved prompt must have between 1 and {LONGEST_TEXT} bytes.")
    if "\0" in text:
        raise Invalid("bad_saved_prompt", "A saved prompt cannot contain a NUL character.")
