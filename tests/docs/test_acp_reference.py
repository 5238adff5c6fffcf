"""docs/reference/acp.md lists what editors can ask for, and the examples for editors are well-formed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec

from bough.api.acp.protocol import wire
from bough.api.acp.protocol.editor import MOST_REQUESTS
from bough.api.acp.sessions.methods import PAGE

DOCS = Path(__file__).parents[2] / "docs"
GUIDE = (DOCS / "how-to/connect-an-editor.md").read_text("utf-8")
REFERENCE = (DOCS / "reference/acp.md").read_text("utf-8")


def test_every_field_is_documented() -> None:
    """C2: The page lists every field of `_meta.bough`, and no other."""
    section = REFERENCE.partition("<!-- fields -->")[2].partition("<!-- end of fields -->")[0]
    documented = re.findall(r"^\| `([^`]+)` \| .+ \|$", section, re.MULTILINE)
    assert documented == [field.encode_name for field in msgspec.structs.fields(wire.SessionSettings)]


def test_numbers_match_the_source() -> None:
    """C2: The page states the limits that the source has."""
    assert f"At most {MOST_REQUESTS} requests" in REFERENCE and f"{PAGE} at a time" in REFERENCE


def test_examples_are_well_formed() -> None:
    """C2: The examples that readers copy from the pages can be parsed."""
    examples = re.findall(r"^```(json|python)\n(.*?)^```", GUIDE + REFERENCE, re.MULTILINE | re.DOTALL)
    assert [kind for kind, _ in examples] == ["json", "json", "json", "python", "json"]
    for kind, example in examples:
        if kind == "json":
            json.loads(example)
        else:
            compile(example, "docs/how-to/connect-an-editor.md", "exec")
