"""Tests that README.md tells a stranger on its first screen how to begin, and what the words mean."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
# Lines of a first screen.
SCREEN = 40


def _readme() -> str:
    return (ROOT / "README.md").read_text("utf-8")


def test_the_first_screen() -> None:
    """O1: The first screen shows the two commands to begin with, which the Makefile has, and one picture."""
    screen = "\n".join(_readme().splitlines()[:SCREEN])
    commands = re.findall(r"^\$ make ([a-z-]+)", screen, re.MULTILINE)
    assert commands == ["serve", "test"]
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert [command for command in commands if f"\n{command}:" not in makefile] == []
    assert screen.index("```console") < screen.index("\n## ")
    (picture,) = re.findall(r"!\[[^]]+\]\(([^)]+)\)", _readme())
    assert picture in screen and (ROOT / picture).stat().st_size > 10_000


def test_the_concepts() -> None:
    """O1: The concepts fit on the first screen, about ten, each in a line; the glossary explains their words."""
    text = _readme()
    concepts = [line for line in text.partition("\n## Concepts\n")[2].partition("\n## ")[0].splitlines() if line]
    lines = [line for line in concepts if line.startswith("- ")]
    assert 8 <= len(lines) <= 14 and len(concepts) <= len(lines) + 1
    assert text.splitlines().index(lines[-1]) < SCREEN
    glossary = (ROOT / "CONTEXT.md").read_text("utf-8").casefold()
    words = re.findall(r"\*\*([^*]+)\*\*", "\n".join(lines))
    assert len(words) >= 10
    assert [
        word for word in words if not re.search(rf"\b{word.casefold().removesuffix('s').removesuffix('ed')}", glossary)
    ] == []
