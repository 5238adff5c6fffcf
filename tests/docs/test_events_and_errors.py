"""The documentation lists every event and every error code."""

from __future__ import annotations

import re
from pathlib import Path

from bough.api.errors import HTTP_CODES
from bough.model.event import EVENT_TYPES, LIVE_TYPES

ROOT = Path(__file__).parents[2]
RAISED = re.compile(
    r"\b(?:NotFound|Invalid|TooLarge|Conflict|Denied|Unauthenticated|Busy|Unavailable|AgentFailed|AgentGone|AgentTimeout|AgentRefused"
    r"|AgentLimited|KeeperGone|GitFailed)\(\s*f?\"([a-z_]+)\""
)


def test_every_event_is_documented() -> None:
    """A3: docs/reference/events.md lists every type of event."""
    text = (ROOT / "docs/reference/events.md").read_text("utf-8")
    assert [name for name in (*EVENT_TYPES, *LIVE_TYPES) if f"`{name}`" not in text] == []


def test_every_error_code_is_documented() -> None:
    """A4: docs/reference/errors.md lists every code that the source can raise, except for bugs, and no other."""
    raised = set(HTTP_CODES.values())
    for path in (ROOT / "src/bough").rglob("*.py"):
        raised |= set(RAISED.findall(path.read_text("utf-8")))
    text = (ROOT / "docs/reference/errors.md").read_text("utf-8")
    documented = set(re.findall(r"^\| `([a-z_]+)` \|", text, re.MULTILINE))
    assert documented == raised
