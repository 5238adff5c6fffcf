"""The tables of modes cover every agent with every mode that the catalog gives it."""

from __future__ import annotations

from bough.model.session import MODES, RANK
from tools.agent_reference import entries
from tools.mode_reference import ACTS, GROUPS, MEASURED, SANDBOX, outcome


def test_every_own_mode_was_measured() -> None:
    """P1: Whatever the catalog maps a mode to is in the table, and nothing else is."""
    used = {entry.name: {entry.mode(mode).mode.rpartition("#")[2] for mode in MODES} for entry in entries()}
    assert {agent: set(modes) for agent, modes in MEASURED.items()} == used
    lengths = {len(acts) for modes in MEASURED.values() for acts in modes.values()}
    assert lengths == {len(ACTS)} == {len(SANDBOX)}


def test_the_groups_hold_all_modes() -> None:
    """P1: Modes in one column grant the same."""
    assert sorted(RANK[mode] for _, mode in GROUPS) == sorted(set(RANK.values()))
    named = " ".join(title for title, _ in GROUPS)
    assert all(f"`{mode}`" in named for mode in MODES)


def test_nothing_runs_in_plan_that_could_change_anything() -> None:
    """P1: The tables say of no agent that it edits in plan, or runs a command that writes or uses the network. The
    tests of real agents check that the agents keep to this."""
    changing = [number for number, act in enumerate(ACTS) if "edit" in act or "writes" in act or "network" in act]
    for entry in entries():
        assert all(outcome(entry, "plan", number) in ("denied", "refused") for number in changing), entry.name
