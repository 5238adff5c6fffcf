"""Compares random lives of sessions with a model."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.fuzz.session_machine import SessionLife
from tests.fuzz.session_model import AFTER

FIRST = int(os.environ.get("FUZZ_SEED") or 1)
LIVES = int(os.environ.get("FUZZ_LIVES") or 2)
STEPS = 14
HEALTH_CHECKS = [check for check in HealthCheck if isinstance(check, HealthCheck)]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("number", range(FIRST, FIRST + LIVES))
def test_lives_of_sessions(number: int) -> None:
    """Q1, Q4, P4, B5, T1: Whatever happens in whatever order, every acknowledged prompt ends exactly once and in its
    turn, no approval is lost or outlives its turn, sessions have the status that they were given, and usage is counted
    once."""

    class Life(SessionLife):
        """A class of its own, because the number becomes a part of it."""

    # The first life repeats the simplest step; the second one is random. A life is not made shorter when it fails: it
    # runs real processes, and would take hours to play again and again.
    run_state_machine_as_test(  # pyright: ignore[reportUnknownMemberType]
        seed(number)(Life),
        settings=settings(
            max_examples=2,
            stateful_step_count=STEPS,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            report_multiple_bugs=False,
            suppress_health_check=HEALTH_CHECKS,
        ),
    )


def test_what_a_task_can_become() -> None:
    """R3: A task that has ended stays as it ended; every other can still end."""
    assert AFTER["completed"] == {"completed"}
    assert "completed" in AFTER["queued"] and "queued" not in AFTER["dispatching"]
