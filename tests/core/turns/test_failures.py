"""Tests how errors of agents become failures of one kind, in the agent's words or with the next step."""

from __future__ import annotations

import pytest

from bough.agents.acp.wire import Update
from bough.agents.catalog.entry import CatalogEntry, Login, Quirks
from bough.agents.errors import AgentRefused
from bough.core.turns.failures import FailureDetector
from bough.errors import AgentFailed

ENTRY = CatalogEntry(
    name="bird",
    title="Bird",
    command=["bird"],
    login=Login(how="Run `bird login`."),
    quirks=Quirks(unauthenticated=["^No key"], unauthorized=["(?i)bad key"], noise=[r"\[MODE\] \w+"]),
)


@pytest.mark.parametrize(
    ("rpc_code", "words"),
    [(-32000, "Authentication required"), (401, "no"), (-32603, "Internal error: Bad key sk-1")],
)
def test_a_refused_key_names_the_next_step(rpc_code: int, words: str) -> None:
    """R1: However an agent reports a missing or wrong key, our sentence says what to do."""
    with pytest.raises(AgentFailed) as raised, FailureDetector(ENTRY).explained():
        raise _refused(rpc_code, words)
    assert raised.value.code == "agent_login"
    assert raised.value.message == "Bird is not logged in, or its key was refused. Run `bird login`."


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("Internal error: too long", "too long"),
        ('{"error":{"message":"too long","code":400}}', "too long"),
        ("[1, 2]", "[1, 2]"),
        ("{half", "{half"),
    ],
)
def test_other_errors_keep_the_agents_words(words: str, sentence: str) -> None:
    """T3: Reports other errors in the agent's words, without the protocol around them, and keeps their details."""
    with pytest.raises(AgentRefused) as raised, FailureDetector(ENTRY).explained():
        raise _refused(400, words)
    error = raised.value
    assert (error.code, error.message, error.rpc_code) == ("agent_refused", f"Bird says: {sentence}", 400)
    assert error.details["stderr"] == "last words"


def test_last_words_about_a_missing_key_fail_the_turn() -> None:
    """R1, T3: A turn that ends normally fails if its last words mean a missing key; in a stopped turn they mean
    nothing."""
    complaints = FailureDetector(ENTRY)
    complaints.check("end_turn", "There is No key in this story.")
    complaints.check("cancelled", "No key")
    with pytest.raises(AgentFailed, match="not logged in"):
        complaints.check("end_turn", "No key was found.\n")


@pytest.mark.parametrize(
    ("kind", "text", "noise"),
    [
        ("agent_message_chunk", "[MODE] plan", True),
        ("agent_message_chunk", "[MODE] plan is what it says", False),
        ("agent_thought_chunk", "[MODE] plan", False),
    ],
)
def test_noise(kind: str, text: str, noise: bool) -> None:
    """R4: Leaves out only a whole chunk that is not meant for people."""
    assert FailureDetector(ENTRY).is_noise(Update("session", kind, text, None, b"{}")) is noise


def _refused(rpc_code: int, words: str) -> AgentRefused:
    message = f"bird --acp refused session/prompt: {words} ({rpc_code})"
    return AgentRefused("agent_refused", message, agent_message=words, rpc_code=rpc_code, stderr="last words")
