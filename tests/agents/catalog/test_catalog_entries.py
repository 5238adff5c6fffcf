"""The catalog's files: the rights that they describe, and the user's own files."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bough.agents.catalog import Catalog, CatalogEntry, load_catalog
from bough.agents.catalog.entry import ModeSettings
from bough.agents.catalog.load import BUILT_IN
from bough.errors import Invalid
from bough.model.session import MODES, RANK

NAMES = sorted(path.stem for path in BUILT_IN.glob("*.toml"))
BY_RANK = sorted(MODES, key=RANK.__getitem__)
# The agents' own modes that grant more than their names say, or more than any of our modes, so we never use them.
NEVER = {
    "claude-code": {"auto", "dontAsk"},
    "codex": {"agent", "agent-full-access", "auto"},
    "gemini": {"autoEdit", "yolo"},
    "opencode": {"build", "plan"},
    "qwen": {"auto-edit", "auto", "yolo"},
    "copilot": {"https://agentclientprotocol.com/protocol/session-modes#autopilot"},
}


def described(tmp_path: Path, name: str) -> CatalogEntry:
    return load_catalog(tmp_path).get(name)


def own(tmp_path: Path, name: str, text: str) -> Catalog:
    """Returns the catalog with a file of the user's."""
    (tmp_path / "agents").mkdir(exist_ok=True)
    (tmp_path / "agents" / f"{name}.toml").write_text(text, "utf-8")
    return load_catalog(tmp_path)


@pytest.mark.parametrize("name", NAMES)
def test_every_mode_has_its_settings(tmp_path: Path, name: str) -> None:
    """P1: Every agent names all eight modes, and agents that are installed as packages list their unsafe modes here."""
    entry = described(tmp_path, name)
    assert set(entry.modes) == set(MODES)
    assert all(entry.mode(mode).mode for mode in MODES)
    assert (entry.package is not None) == (name in NEVER)


@pytest.mark.parametrize("name", sorted(NEVER))
def test_modes_of_one_rank_have_the_same_settings(tmp_path: Path, name: str) -> None:
    """P1: Modes of one rank have the same settings, and none of them uses an unsafe mode of the agent."""
    entry = described(tmp_path, name)
    for mode in MODES:
        settings = {_settings(entry.mode(other)) for other in MODES if RANK[other] == RANK[mode]}
        assert settings == {_settings(entry.mode(mode))}
    assert {mode.mode for mode in map(entry.mode, MODES)}.isdisjoint(NEVER[name])


@pytest.mark.parametrize("name", NAMES)
def test_rank_never_rises(tmp_path: Path, name: str) -> None:
    """P1: Rising modes never return to the settings of a lower one; an agent may be in its session's mode, but in none
    that only higher ones use; `plan` shares its own mode with no other."""
    entry = described(tmp_path, name)
    order = [_settings(entry.mode(mode)) for mode in BY_RANK]
    changes = [order[0], *(after for before, after in pairwise(order) if after != before)]
    assert entry.package is None or len(changes) == len(set(changes))
    for chosen in MODES:
        assert entry.may_be_in(entry.mode(chosen).mode, chosen)
        granted = {entry.mode(mode).mode for mode in MODES if RANK[mode] <= RANK[chosen]}
        for higher in {entry.mode(mode).mode for mode in MODES} - granted:
            assert not entry.may_be_in(higher, chosen)
    assert entry.mode("plan").mode not in {entry.mode(mode).mode for mode in MODES if mode != "plan"}


@pytest.mark.parametrize("name", NAMES)
def test_rules_make_an_agent_ask(tmp_path: Path, name: str) -> None:
    """P3: While rules exist, every mode above `ask` has the settings of `ask`; lower ones keep theirs."""
    entry = described(tmp_path, name)
    for mode in MODES:
        expected = entry.mode("ask") if RANK[mode] > RANK["ask"] else entry.mode(mode)
        assert entry.mode(mode, strict=True) == expected
    assert not entry.may_be_in(entry.mode("bypassPermissions").mode, "plan", strict=True)


def test_claude_asks_about_less_in_higher_modes(tmp_path: Path) -> None:
    """P1, P3: Claude Code reads no repository settings in any mode, and only higher modes ask about less."""
    entry = described(tmp_path, "claude-code")
    asked: list[set[str]] = []
    for mode in BY_RANK:
        options: dict[str, Any] = entry.start[entry.mode(mode).start].meta["claudeCode"]["options"]
        assert options["settingSources"] == ["user"]
        assert options["settings"]["useAutoModeDuringPlan"] is False
        assert options["settings"]["permissions"]["allow"] == ["mcp__bough"]
        asked.append(set(options["settings"]["permissions"].get("ask", [])))
    assert all(before >= after for before, after in pairwise(asked))
    assert {"Bash", "WebFetch", "WebSearch"} < asked[BY_RANK.index("acceptEdits")]


def test_opencode_allows_more_in_higher_modes(tmp_path: Path) -> None:
    """P1: Bough defines OpenCode's agents; each allows at least what the lower one does, and only the last one allows
    everything."""
    entry = described(tmp_path, "opencode")
    start = entry.start["default"]
    agents: dict[str, Any] = start.json_env["OPENCODE_CONFIG_CONTENT"]["agent"]
    assert set(agents) == {entry.mode(mode).mode for mode in MODES}
    rules: list[dict[str, str]] = [agents[entry.mode(mode).mode]["permission"] for mode in BY_RANK]
    allowed = [{name for name, effect in rule.items() if effect == "allow"} for rule in rules]
    assert all(before <= after for before, after in pairwise(allowed[:-2]))
    assert [rule["*"] for rule in rules] == ["deny", *["ask"] * 5, "allow", "allow"]
    assert start.env["OPENCODE_DISABLE_PROJECT_CONFIG"] == "1"


def test_codex_can_ask_in_every_mode_above_plan(tmp_path: Path) -> None:
    """P1: Codex refuses in its profiles what it cannot ask for, so that only `plan` has one. The highest modes have the
    sandbox of `auto`, and grant no less."""
    entry = described(tmp_path, "codex")
    profiles = {mode for mode in MODES if entry.mode(mode).mode.startswith("permission-profile:")}
    assert profiles == {"plan"}
    assert entry.mode("bypassPermissions").mode == entry.mode("auto").mode == "workspace-write"
    assert "agent-full-access" not in {entry.mode(mode).mode for mode in MODES}


def _settings(mode: ModeSettings) -> tuple[str, str]:
    return mode.mode, mode.start


# Files of the user's


def test_single_fields_of_an_agent_are_changed(tmp_path: Path) -> None:
    """O1: A file that extends an agent changes the fields it names, however deeply nested, and keeps the rest."""
    text = 'extends = "claude-code"\ncommand = ["~/claude"]\nenv.X = "1"\nmodes.auto = "default"\nquirks.usage = "call"'
    entry = own(tmp_path, "claude-code", text).get("claude-code")
    plain = load_catalog(tmp_path / "nowhere").get("claude-code")
    assert entry.command == [str(Path.home() / "claude")]
    assert entry.env == plain.env | {"X": "1"}
    assert (entry.mode("auto").mode, entry.mode("plan")) == ("default", plain.mode("plan"))
    assert (entry.quirks.usage, entry.quirks.mode_tools) == ("call", plain.quirks.mode_tools)
    assert (entry.title, entry.start, entry.package) == (plain.title, plain.start, plain.package)
    assert entry.origin == str(tmp_path / "agents" / "claude-code.toml")


def test_rights_are_extended_too(tmp_path: Path) -> None:
    """P1: An agent that extends another one has the same pinned options and the same sandbox."""
    catalog = own(tmp_path, "second", 'extends = "codex"\n')
    catalog = own(tmp_path, "third", 'extends = "copilot"\n[pinned-options]\nother = true\n')
    assert catalog.get("second").quirks.sandboxed
    assert catalog.get("third").pinned_options == {"allow_all": "off", "other": True}


def test_an_extended_agent_can_have_another_name(tmp_path: Path) -> None:
    """O1: An agent that extends another one under a new name exists beside it."""
    catalog = own(tmp_path, "second", 'extends = "demo"\ntitle = "Second"')
    assert (catalog.get("second").title, catalog.get("demo").title) == ("Second", "Demo agent")
    assert catalog.get("second").command == catalog.get("demo").command


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("command = [", "does not describe an agent"),
        ('title = "Mine"', "missing required field `command`"),
        ('title = "Mine"\ncommand = []', "names no command"),
        ('title = "Mine"\ncommand = ["x"]\ncolour = 3', "unknown field `colour`"),
        ('title = "Mine"\ncommand = ["x"]\n[modes]\nfoo = "bar"', "foo"),
        ('title = "Mine"\ncommand = ["x"]\n[modes]\nplan = {mode = "p", start = "s"}', "has no [start.s]"),
        ('extends = "nobody"', "extends 'nobody'"),
        ('extends = ["demo"]', "extends ['demo']"),
        ('title = "\\u0000"\ncommand = "x"', "Expected `array`"),
    ],
)
def test_a_broken_file_is_reported(tmp_path: Path, text: str, reason: str) -> None:
    """O1: A file that does not describe an agent is left out, and asking for the agent raises the reason."""
    catalog = own(tmp_path, "mine", text)
    (broken,) = catalog.broken
    assert (broken.name, broken.origin) == ("mine", str(tmp_path / "agents" / "mine.toml"))
    assert reason in broken.error
    with pytest.raises(Invalid) as caught:
        catalog.get("mine")
    assert (caught.value.code, caught.value.message) == ("bad_agent_file", broken.error)
    assert catalog.names() == NAMES


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    """O1: A file that is not UTF-8 affects only its own agent."""
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "mine.toml").write_bytes(b"\xff\xfe")
    assert [item.name for item in load_catalog(tmp_path).broken] == ["mine"]


def test_every_field_can_be_written(tmp_path: Path) -> None:
    """O1: Everything in the catalog survives being written to TOML and read again."""
    for name in NAMES:
        entry = described(tmp_path, name)
        assert msgspec.convert(msgspec.to_builtins(entry), CatalogEntry) == entry
