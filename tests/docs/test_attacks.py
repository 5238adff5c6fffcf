"""The list of attacks in docs/explanation/security.md names existing tests, and every test module of attacks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanation" / "security.md"
NAMED = sorted(set(re.findall(r"\[`(test_\w+)`\]\(([^)]+)\)", PAGE.read_text("utf-8"))))


@pytest.mark.parametrize(("name", "link"), NAMED, ids=[name for name, _ in NAMED])
def test_a_named_test_exists(name: str, link: str) -> None:
    """S10: Whoever reads about an attack can read and run its test."""
    source = (PAGE.parent / link).resolve().read_text("utf-8")
    assert re.search(rf"^(async )?def {name}\(", source, re.MULTILINE), f"{link} has no {name}"


def test_every_module_of_attacks_is_named() -> None:
    """S10: The list is complete, as far as it goes by modules."""
    modules = set((ROOT / "tests" / "attacks").rglob("test_*.py"))
    named = {(PAGE.parent / link).resolve() for _, link in NAMED}
    assert sorted(str(path.relative_to(ROOT)) for path in modules - named) == []
