"""The documentation describes every field of an agent's file and every mode of every agent."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from bough.agents.catalog import load_catalog
from bough.agents.catalog.entry import (
    CatalogEntry,
    Corrections,
    ExamplePrompt,
    Login,
    ModeSettings,
    Package,
    Quirks,
    RegistryOrigin,
    RepositoryFiles,
    SandboxNeeds,
    SettingsFolder,
    StartSettings,
    TourPrompts,
)
from bough.agents.catalog.limit_vocabulary import LimitVocabulary
from bough.agents.catalog.tool_vocabulary import McpVocabulary, ToolVocabulary
from bough.model.session import MODES

DOCS = Path(__file__).parents[3] / "docs"
FIELDS = (DOCS / "reference/agent-files.md").read_text("utf-8")
AGENTS = (DOCS / "reference/agents.md").read_text("utf-8")
MEASURED = (DOCS / "reference/agent-measurements.md").read_text("utf-8")
GUIDE = (DOCS / "how-to/add-an-agent.md").read_text("utf-8")
SECTIONS = {
    "The agent": CatalogEntry,
    "package": Package,
    "login": Login,
    "modes": ModeSettings,
    "start": StartSettings,
    "home": SettingsFolder,
    "repository": RepositoryFiles,
    "sandbox": SandboxNeeds,
    "corrections": Corrections,
    "quirks": Quirks,
    "limits": LimitVocabulary,
    "tools": ToolVocabulary,
    "tools.mcp": McpVocabulary,
    "examples": ExamplePrompt,
    "tour": TourPrompts,
    "registry": RegistryOrigin,
}


def section(title: str) -> str:
    return FIELDS.partition(f"\n### {title}\n")[2].partition("\n#")[0]


@pytest.mark.parametrize("title", SECTIONS)
def test_every_field_is_explained(title: str) -> None:
    """P1: Every table of an agent's file has a section that names exactly its fields."""
    explained = re.findall(r"^\| `([a-z-]+)` \| \S", section(title), re.MULTILINE)
    assert sorted(explained) == sorted(field.encode_name for field in msgspec.structs.fields(SECTIONS[title]))


def test_the_examples_can_be_loaded(tmp_path: Path) -> None:
    """P1: The catalog accepts the example files on the page."""
    examples = re.findall(r"```toml\n# [^\n]*/agents/([a-z-]+)\.toml\n(.*?)```", GUIDE, re.DOTALL)
    assert [name for name, _ in examples] == ["mine", "claude-code"]
    (tmp_path / "agents").mkdir()
    for name, text in examples:
        (tmp_path / "agents" / f"{name}.toml").write_text(text, "utf-8")
    catalog = load_catalog(tmp_path)
    assert catalog.broken == []
    mine = catalog.get("mine")
    assert (mine.title, mine.command, mine.resume) == ("My agent", ["my-agent", "--acp"], True)
    assert mine.env == {"MY_AGENT_HOME": f"{tmp_path}/my-agent"} and set(mine.modes) <= set(MODES)
    assert mine.start[mine.mode("bypassPermissions").start].env == {"MY_AGENT_SANDBOX": "off"}
    assert catalog.get("claude-code").command == ["/opt/claude/claude-agent-acp"]


def test_every_mode_of_every_agent_is_in_the_table() -> None:
    """P1: The published table has a row for each mode, with each agent's own mode."""
    table = AGENTS.partition("<!-- modes -->")[2].partition("<!-- end of modes -->")[0]
    known = [entry for entry in load_catalog(Path("/nowhere")).entries() if entry.package is not None]
    for mode in MODES:
        (row,) = [line for line in table.splitlines() if line.startswith(f"| **`{mode}`** |")]
        cells = row.strip("| ").split(" | ")[1:]
        for entry, cell in zip(known, cells, strict=True):
            assert f"`{entry.mode(mode).mode.rpartition('#')[2]}`" in cell
            assert (entry.mode(mode).start or "start") in cell or not entry.mode(mode).start
    for entry in known:
        assert all(item.note in table for item in map(entry.mode, MODES))


def test_there_is_a_section_for_measured_results() -> None:
    """P1: The page has the section into which the suite with real agents writes its table."""
    assert MEASURED.count("<!-- measured -->\n") == MEASURED.count("<!-- /measured -->\n") == 1
