"""Tests which names a prompt's file may have, and how its type is recognized."""

from __future__ import annotations

import pytest

from bough.model.file import LONGEST_NAME, is_plain_name
from bough.model.values.file_type import as_text, image_type, text_type


@pytest.mark.parametrize(
    "name",
    [
        "a",
        "shot.png",
        ".env",
        "Screenshot 2026-01-01 at 1.23.45\u202fPM.png",
        "日本語.txt",
        "a b.txt",
        "x" * LONGEST_NAME,
    ],
)
def test_plain_names(name: str) -> None:
    """C1: Accepts the names that programs give to files, including unusual spaces."""
    assert is_plain_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        " ",
        "a/b",
        "/etc/passwd",
        "a\\b",
        "a\nb",
        "a\x00",
        "a\x1b[2J",
        "a\u2028b",
        "gnp\u202eexe",
        "\ud800",
        "x" * (LONGEST_NAME + 1),
    ],
)
def test_names_with_folders_or_invisible_characters(name: str) -> None:
    """C1: Refuses names with folders or invisible characters."""
    assert not is_plain_name(name)


def test_kinds_of_files() -> None:
    """C1: Recognizes pictures by their first bytes, and text by being valid UTF-8."""
    assert image_type(b"\x89PNG\r\n\x1a\n...") == "image/png"
    assert image_type(b"\xff\xd8\xff\xe0...") == "image/jpeg"
    assert image_type(b"GIF89a...") == "image/gif"
    assert image_type(b"RIFF\n\n\n\nWEBPVP8 ") == "image/webp"
    assert image_type(b"RIFF....WAVE") is None
    assert image_type(b"x\x89PNG\r\n\x1a\n") is None
    assert as_text("é\n".encode()) == "é\n"
    assert as_text(b"") == ""
    assert as_text(b"\xff") is None
    assert as_text(b"a\0b") is None


@pytest.mark.parametrize(
    ("name", "declared", "kind"),
    [
        ("a.txt", None, "text/plain"),
        ("a.json", None, "application/json"),
        ("a.unknown", None, "text/plain"),
        ("a.json", "application/octet-stream", "application/json"),
        ("a.ts", "video/mp2t", "text/plain"),
        ("a.ts", None, "text/plain"),
        ("a.svg", None, "image/svg+xml"),
        ("a", "text/x-rust", "text/x-rust"),
    ],
)
def test_texts_have_a_type(name: str, declared: str | None, kind: str) -> None:
    """C1: Uses the declared type of a text, or else the type that its name suggests."""
    assert text_type(name, declared) == kind
