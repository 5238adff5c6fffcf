"""docs/reference/web-page.md uses the labels that the page's buttons and views have."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/reference/web-page.md"
SOURCES = ROOT / "web/src"


def test_labels_exist() -> None:
    """Every label that the documentation prints in bold occurs in the sources of the page."""
    labels = set(re.findall(r"\*\*([^*]+)\*\*", PAGE.read_text("utf-8")))
    components = [path for path in SOURCES.rglob("*.tsx") if not path.name.endswith(".test.tsx")]
    sources = "\n".join(path.read_text("utf-8") for path in components)
    assert len(labels) > 8
    assert [label for label in sorted(labels) if not re.search(rf"[>\"\s]{re.escape(label)}[<\"\s]", sources)] == []
