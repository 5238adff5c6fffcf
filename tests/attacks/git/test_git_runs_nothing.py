"""Shows that none of the server's git calls runs a program that a repository names, wherever and however it does so."""

from __future__ import annotations

from pathlib import Path

import pytest

from bough.git import run
from bough.git.safe import forbid_programs
from bough.git.safe.configured_programs import Configured
from tests.attacks.git.git_operations import OPERATIONS, carry_out
from tests.attacks.git.hostile_repositories import ATTACKS, PLACES, Place


async def attack(place: Place, attack_name: str) -> None:
    """Prepares the place, lets the server do everything there, and fails if the attacker's program ran."""
    ATTACKS[attack_name](place)
    for operation in OPERATIONS:
        refused = await carry_out(operation, place.cwd)
        assert place.ran() is None, f"{operation.__name__} ran it; it said: {refused}"


@pytest.mark.parametrize("place_name", PLACES)
@pytest.mark.parametrize("attack_name", ATTACKS)
async def test_no_program_of_a_repository_runs(tmp_path: Path, attack_name: str, place_name: str) -> None:
    """W3: No attack runs its program in any place, whatever the server does there."""
    await attack(PLACES[place_name](tmp_path), attack_name)


@pytest.mark.parametrize("place_name", ["repository", "plain folder", "submodule", "partial clone"])
@pytest.mark.parametrize("attack_name", ATTACKS)
async def test_settings_alone_prevent_it_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attack_name: str, place_name: str
) -> None:
    """W3: The same on a machine whose kernel offers no forbid_programs."""
    monkeypatch.setattr(forbid_programs, "reason_missing", lambda: "a test without it")
    monkeypatch.setattr(run, "_guarded_threads", None)
    await attack(PLACES[place_name](tmp_path), attack_name)


@pytest.mark.parametrize("attack_name", ["filters", "required_filters", "filter_process", "merge_driver"])
async def test_the_guard_holds_while_the_configuration_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attack_name: str
) -> None:
    """W3: An agent that changes the configuration after Bough has read it, and before git does, gains nothing."""

    def outdated(*_: object) -> Configured:
        return Configured()

    monkeypatch.setattr(run, "remembered", outdated)
    await attack(PLACES["repository"](tmp_path), attack_name)
