"""The documentation says what the program does."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from bough import settings
from bough.api.cli import docs

DOCS = Path(__file__).parents[3] / "docs"


def test_generated_parts_are_fresh(tmp_path: Path) -> None:
    """L2, O5, P1: what the pages say of settings, commands and agents is what the program itself gives, in a process of
    its own: groups of commands grow in the order in which modules are imported."""
    copy = tmp_path / "docs"
    shutil.copytree(DOCS, copy)
    subprocess.run([sys.executable, "-m", "bough.api.cli.docs", str(copy)], check=True, capture_output=True, timeout=50)
    for file in docs.PARTS:
        new = (copy / file).read_text("utf-8")
        assert (DOCS / file).read_text("utf-8") == new, f"docs/{file} is old. Write it anew with: {docs.REGENERATE}"


def test_every_setting_is_documented() -> None:
    """L2: flag, variable and the older names of each setting stand in docs/settings.md."""
    text = (DOCS / "settings.md").read_text("utf-8")
    for name in settings.FIELDS:
        row = next(row for row in text.splitlines() if row.startswith(f"| `{name}` |"))
        assert f"`{settings.variable(name)}`" in row and f"`--{name.replace('_', '-')}" in row
        assert settings.ALIASES.get(name, "") in row


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
