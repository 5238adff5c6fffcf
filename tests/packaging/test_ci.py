"""Tests that both continuous integration setups agree and that CONTRIBUTING.md explains every target."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def read(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def test_both_setups_run_the_same_commands() -> None:
    """GitHub's workflow runs the commands of `.ci/run`, so a change that passes one passes the other."""
    local = set(re.findall(r"^(make .+)$", read(".ci/run"), re.MULTILINE))
    hosted = set(re.findall(r"- run: (make .+)$", read(".github/workflows/ci.yml"), re.MULTILINE))
    assert local == hosted
    assert "make check" in local


def test_every_target_is_explained() -> None:
    """CONTRIBUTING.md lists all targets of the Makefile and no others."""
    targets = set(re.findall(r"^([a-z-]+):.*## ", read("Makefile"), re.MULTILINE))
    explained = set(re.findall(r"^\| `make ([a-z-]+)` \|", read("CONTRIBUTING.md"), re.MULTILINE))
    assert explained == targets


def test_hooks_use_the_same_tools_as_the_checks() -> None:
    """Every Python tool that a hook runs is one that `make check` runs, from the same environment."""
    hooked = set(re.findall(r"entry: \.venv/bin/([a-z-]+)", read(".pre-commit-config.yaml")))
    checked = set(re.findall(r"@\$\(BIN\)/([a-z-]+)", read("Makefile").partition("\ncheck:")[2].partition("\n\n")[0]))
    assert hooked == checked
