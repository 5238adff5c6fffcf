"""`bough.__version__` is the only place that states the version; everything else reads it or is checked against it."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from bough import __version__

ROOT = Path(__file__).parents[2]
# Copies that a registry or a changelog needs; each is compared with the version by a test or by `make release`.
COPIES = {"__init__.py", "agent.json", "CHANGELOG.md"}


def test_the_build_reads_the_version() -> None:
    """L1: A wheel has the version that the program reports."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert "version" not in project["project"] and "version" in project["project"]["dynamic"]
    assert project["tool"]["hatch"]["version"] == {"path": "src/bough/__init__.py"}
    assert re.fullmatch(r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?", __version__)


def test_the_page_has_no_version() -> None:
    """The page is built into the package and never published alone, so npm's version says nothing."""
    for name in ("package.json", "package-lock.json"):
        assert json.loads((ROOT / "web" / name).read_text("utf-8"))["version"] == "0.0.0"
    assert json.loads((ROOT / "web/package.json").read_text("utf-8"))["private"] is True


def test_no_other_file_states_the_version() -> None:
    """A release changes one line of code, so no other source or page may repeat the version as Bough's own."""
    listing = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    names = listing.stdout.splitlines()
    if not names:
        pytest.skip("this is not a clone")
    repeated = re.compile(rf"(?i)bough\S*[ \"'=:v]+(?:version[ \"'=:]+)?{re.escape(__version__)}\b")
    sources = (ROOT / name for name in names if name.endswith((".py", ".toml", ".md", ".json", ".yml", ".ts", ".tsx")))
    stating = {path.name for path in sources if path.exists() and repeated.search(path.read_text())}
    assert stating <= COPIES
