"""Feeds every decoder of hostile text with its kept inputs and with new ones."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.fuzz import agent_targets, door_targets, git_targets, policy_targets
from tests.fuzz.target import CORPUS, EXAMPLES, Target, profile
from tests.fuzz.test_mcp_door import FRAMES

TARGETS = (*agent_targets.TARGETS, *git_targets.TARGETS, *policy_targets.TARGETS, *door_targets.TARGETS)


def name(target: Target) -> str:
    return target.name


@pytest.mark.parametrize("target", TARGETS, ids=name)
def test_kept_inputs(target: Target) -> None:
    """C1: Every input that once failed, and one of each form, is handled."""
    assert target.corpus(), f"Put at least one input into {target.folder}."
    for path in target.corpus():
        try:
            target.run(path.read_bytes())
        except BaseException as error:
            error.add_note(f"The input is {path}.")
            raise


@pytest.mark.parametrize("target", TARGETS, ids=name)
def test_new_inputs(target: Target) -> None:
    """C1: No input breaks a decoder, makes it wait or makes it say something that it must not say."""
    if not EXAMPLES:
        for data in target.fixed_inputs():
            target.attempt(data)
        return

    @profile()
    @given(target.inputs())
    def attempt(data: bytes) -> None:
        target.attempt(data)

    attempt()


def test_every_corpus_has_a_target() -> None:
    """The corpora are those of the targets, so that none is kept in vain."""
    assert {path.name for path in CORPUS.iterdir()} == {target.name for target in (*TARGETS, FRAMES)}
