"""The documents tell the truth: every event and error code is in them, and every link leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bough.api.errors import HTTP_CODES
from bough.model.event import EVENT_TYPES, LIVE_TYPES

ROOT = Path(__file__).parents[2]
RAISED = re.compile(
    r"\b(?:NotFound|Invalid|TooLarge|Conflict|Denied|Unauthenticated|Busy|AgentFailed|AgentGone|AgentTimeout|AgentRefused"
    r"|KeeperGone|GitFailed)\(\s*f?\"([a-z_]+)\""
)
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def test_every_event_is_documented() -> None:
    """A3: docs/reference/rest.md lists every type of event."""
    text = (ROOT / "docs/reference/rest.md").read_text("utf-8")
    assert [name for name in (*EVENT_TYPES, *LIVE_TYPES) if f"`{name}`" not in text] == []


def test_every_error_code_is_documented() -> None:
    """A4: docs/reference/errors.md lists every code that the source can raise, bugs aside, and no other."""
    raised = set(HTTP_CODES.values())
    for path in (ROOT / "src/bough").rglob("*.py"):
        raised |= set(RAISED.findall(path.read_text("utf-8")))
    text = (ROOT / "docs/reference/errors.md").read_text("utf-8")
    documented = set(re.findall(r"^\| `([a-z_]+)` \|", text, re.MULTILINE))
    assert documented == raised


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link in a page names a file that is there."""
    targets = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text("utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []
