"""The documentation says what the program does."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from bough import settings
from bough.agents.catalog import Entry, load_catalog
from bough.api.cli import docs
from bough.model.session import MODES

DOCS = Path(__file__).parents[3] / "docs"


def test_generated_parts_are_fresh() -> None:
    """L2, O5: the tables of settings and commands are those that the program itself gives."""
    for file, (mark, make) in docs.PARTS.items():
        text = (DOCS / file).read_text("utf-8")
        assert text == docs.renewed(text, mark, make()), f"docs/{file} is old. Write it anew with: {docs.REGENERATE}"
        assert make() in text


def test_every_setting_is_documented() -> None:
    """L2: flag, variable and the older names of each setting stand in docs/settings.md."""
    text = (DOCS / "settings.md").read_text("utf-8")
    for name in settings.FIELDS:
        row = next(row for row in text.splitlines() if row.startswith(f"| `{name}` |"))
        assert f"`{settings.variable(name)}`" in row and f"`--{name.replace('_', '-')}" in row
        assert settings.ALIASES.get(name, "") in row


def test_the_example_of_an_agent_can_be_loaded(tmp_path: Path) -> None:
    """P1: the file in docs/agents.md is one that the catalog takes, and every field is explained there."""
    text = (DOCS / "agents.md").read_text("utf-8")
    example = text.partition("```toml\n")[2].partition("```")[0]
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "mine.toml").write_text(example, "utf-8")
    found = load_catalog(tmp_path).get("mine")
    assert (found.title, found.command, found.resume) == ("My agent", ["my-agent", "--acp"], True)
    assert found.env == {"MY_AGENT_HOME": f"{tmp_path}/my-agent"} and set(found.modes) <= set(MODES)
    explained = set(re.findall(r"^\| `([a-z-]+)` \|", text, re.MULTILINE))
    assert explained == {field.encode_name for field in msgspec.structs.fields(Entry)}


def test_every_command_is_documented() -> None:
    """O5: every command of the program, with each of its options, stands in docs/cli.md and explains itself."""
    entries = (DOCS / "cli.md").read_text("utf-8").split("\n**`")
    found = dict(docs.commands())
    assert len(found) > 30
    for name, command in found.items():
        entry = next((entry for entry in entries if re.match(rf"{name}[` ]", entry)), None)
        assert entry is not None, f"docs/cli.md lacks {name}"
        assert command.help, f"{name} does not explain itself"
        for param in command.params:
            assert param.help, f"{name} does not explain {param.name}"
        if name != "bough serve":
            spelled = {one for param in docs.options(command) for one in (*param.opts, *param.secondary_opts)}
            assert all(re.search(rf"`{one}[` ]", entry) for one in spelled), name
