"""The generated sections of the documentation match the program."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from bough import load_settings
from tools import cli_reference
from tools.reference_pages import PAGES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def test_generated_sections_are_current(tmp_path: Path) -> None:
    """L2, O5, P1: The committed pages hold what `make docs` generates. A separate process generates them, because the
    groups of commands grow in the order in which modules are imported."""
    copy = tmp_path / "docs"
    shutil.copytree(DOCS, copy)
    command = [sys.executable, "-m", "tools.reference_pages", str(copy)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=50)
    stale = [page for page in PAGES if (DOCS / page).read_text("utf-8") != (copy / page).read_text("utf-8")]
    assert stale == [], "Regenerate these pages with `make docs`."


def test_every_setting_is_documented() -> None:
    """L2: docs/reference/settings.md lists the flag, the variable and the older name of each setting."""
    text = (DOCS / "reference/settings.md").read_text("utf-8")
    for name in load_settings.FIELDS:
        row = next(row for row in text.splitlines() if row.startswith(f"| `{name}` |"))
        assert f"`{load_settings.variable(name)}`" in row and f"`--{name.replace('_', '-')}" in row
        assert load_settings.ALIASES.get(name, "") in row


def test_every_command_is_documented() -> None:
    """O5: docs/reference/cli.md describes every command with each of its options."""
    entries = (DOCS / "reference/cli.md").read_text("utf-8").split("\n**`")
    documented = dict(cli_reference.commands())
    assert len(documented) > 30
    for name, command in documented.items():
        entry = next((entry for entry in entries if re.match(rf"{name}[` ]", entry)), None)
        assert entry is not None, f"docs/reference/cli.md lacks {name}"
        assert command.help, f"{name} has no help text"
        for param in command.params:
            assert param.help, f"{name} has no help text for {param.name}"
        # The flags of `bough serve` are the settings, which are documented on their own page.
        params = [] if name == "bough serve" else cli_reference.options(command)
        spellings = {spelling for param in params for spelling in (*param.opts, *param.secondary_opts)}
        assert all(re.search(rf"`{spelling}[` ]", entry) for spelling in spellings), name
