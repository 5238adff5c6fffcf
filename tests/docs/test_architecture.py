"""Tests that ARCHITECTURE.md describes the actual source tree."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
# Files in backticks, and rooms at the start of a line of the diagram.
FILES = sorted(set(re.findall(r"`((?:api|core|agents|git|storage|model)/[\w/]+\.py)`", TEXT)))
ROOMS = sorted({word.rstrip("/") for line in TEXT.splitlines() for word in re.findall(r"^ {4}([a-z_]+/)", line)})


@pytest.mark.parametrize("path", FILES)
def test_every_file_in_the_flows_exists(path: str) -> None:
    """O1: Every file that the page names exists."""
    assert (ROOT / "src/bough" / path).is_file()


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_in_the_diagram_exists(room: str) -> None:
    """O1: Every room that the diagram names is a package of api or core."""
    assert any((ROOT / "src/bough" / parent / room / "__init__.py").is_file() for parent in ("api", "core"))


def test_every_room_of_core_is_in_the_diagram() -> None:
    """O1: No room of core is missing from the diagram."""
    rooms = {path.parent.name for path in (ROOT / "src/bough/core").glob("*/__init__.py")}
    drawing = TEXT.split("```")[1]
    assert {room for room in rooms if f" {room}/" not in drawing} == set()
