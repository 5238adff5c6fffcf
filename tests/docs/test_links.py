"""Every relative link in the Markdown files of the repository leads to an existing file and, if named, heading."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)


def pages() -> list[Path]:
    """Returns the Markdown files under version control, and new ones that git does not ignore."""
    listed = ("git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md")
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    return [ROOT / name for name in names if (ROOT / name).exists()]


def text(page: Path) -> str:
    """Returns a page without its code blocks, whose brackets are not links."""
    return FENCE.sub("", page.read_text("utf-8"))


@cache
def anchors(page: Path) -> set[str]:
    """Returns the anchors that GitHub gives to the headings of a page."""
    seen: Counter[str] = Counter()
    names: set[str] = set()
    for heading in HEADING.findall(text(page)):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        name = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        names.add(f"{name}-{seen[name]}" if seen[name] else name)
        seen[name] += 1
    return names


def is_broken(page: Path, target: str) -> bool:
    if re.match(r"[a-z]+:", target):
        return False
    name, _, anchor = target.partition("#")
    linked = (page.parent / name).resolve() if name else page
    if not linked.exists():
        return True
    return bool(anchor) and anchor not in anchors(linked)


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_resolve(page: Path) -> None:
    assert [target for target in LINK.findall(text(page)) if is_broken(page, target)] == []
