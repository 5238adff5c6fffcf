"""Tests that both continuous integration setups agree and that CONTRIBUTING.md explains every target."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support import bubblewrap, debian

ROOT = Path(__file__).parents[2]


def read(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def test_both_setups_run_the_same_commands() -> None:
    """GitHub's workflow runs the commands of `.ci/run`, so a change that passes one passes the other."""
    local = set(re.findall(r"^(make .+)$", read(".ci/run"), re.MULTILINE))
    hosted = set(re.findall(r"- run: (make .+)$", read(".github/workflows/ci.yml"), re.MULTILINE))
    assert local == hosted
    assert "make check" in local


def test_what_takes_long_runs_every_night() -> None:
    """The nightly workflow runs the long forms that CONTRIBUTING.md names, with targets and variables of the
    Makefile."""
    nightly = re.findall(r"- run: make ([a-z-]+)(.*)$", read(".github/workflows/nightly.yml"), re.MULTILINE)
    makefile, explained = read("Makefile"), read("CONTRIBUTING.md")
    for target, arguments in nightly:
        recipe = makefile.partition(f"\n{target}:")[2].partition("\n\n")[0]
        assert [name for name in re.findall(r"([A-Z]+)=", arguments) if f"$({name})" not in recipe] == []
        row = next(line for line in explained.splitlines() if line.startswith(f"| `make {target}` |"))
        longest = re.findall(r"(?:MINUTES|ROUNDS|FULL)=\d+", row)
        assert longest and all(words in arguments for words in longest), (target, row)
    assert {target for target, _ in nightly} == {"fuzz", "test-kill", "test-agents"}


def test_every_target_is_explained() -> None:
    """CONTRIBUTING.md lists all targets of the Makefile and no others."""
    targets = set(re.findall(r"^([a-z-]+):.*## ", read("Makefile"), re.MULTILINE))
    explained = set(re.findall(r"^\| `make ([a-z-]+)` \|", read("CONTRIBUTING.md"), re.MULTILINE))
    assert explained == targets


def test_every_target_installs_what_it_uses() -> None:
    """A target that runs tests or their helpers installs the tools of development itself, so it works alone in a new
    clone."""
    rules = re.findall(r"^([a-z-]+):([^#\n]*)##[^\n]*\n((?:\t.*\n)+)", read("Makefile"), re.MULTILINE)
    users = {name: needs for name, needs, recipe in rules if "-m pytest" in recipe or "-m tests." in recipe}
    assert {"test", "test-web", "screenshots"} <= users.keys()
    assert [name for name, needs in users.items() if "$(READY)" not in needs] == []


def test_hooks_use_the_same_tools_as_the_checks() -> None:
    """Every Python tool that a hook runs is one that `make check` runs, from the same environment."""
    hooked = set(re.findall(r"entry: \.venv/bin/([a-z-]+)", read(".pre-commit-config.yaml")))
    checked = set(re.findall(r"@\$\(BIN\)/([a-z-]+)", read("Makefile").partition("\ncheck:")[2].partition("\n\n")[0]))
    assert hooked == checked


def plant_apt(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Puts an `apt-get` on a path without bubblewrap, and lets the tests use it."""
    program = folder / "apt-get"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{folder}:/none")
    monkeypatch.setattr(debian.os, "geteuid", lambda: 0)


def test_tests_install_the_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """S6: `make test` installs bubblewrap on a new machine, also where no list of packages was fetched yet."""
    log = tmp_path / "log"
    fetch = f'echo "$*" >> {log}; case "$*" in *update) echo > {tmp_path}/lists;; *) test -e {tmp_path}/lists;; esac'
    plant_apt(tmp_path, monkeypatch, fetch)
    bubblewrap.main()
    assert [line.rpartition(" ")[2] for line in log.read_text().splitlines()] == ["bubblewrap", "update", "bubblewrap"]
    assert capsys.readouterr().out.startswith("Installing bubblewrap")


def test_tests_go_on_without_a_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """S6: Where apt cannot install it, `make test` says what is left out, and why."""
    plant_apt(tmp_path, monkeypatch, "echo No archive. >&2; exit 100")
    bubblewrap.main()
    output = capsys.readouterr()
    assert "LEFT OUT: tests that need a sandbox. bubblewrap is not installed." in output.out
    assert output.err == "No archive.\n\n"
