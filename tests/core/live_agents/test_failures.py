"""Tests how errors of agents become failures of one kind, in the agent's words or with the next step."""

from __future__ import annotations

from pathlib import Path

import pytest

from bough.agents.acp.wire import SessionUpdate
from bough.agents.catalog import load_catalog
from bough.agents.catalog.entry import CatalogEntry, Login, Quirks
from bough.agents.errors import AgentGone, AgentRefused
from bough.core.live_agents.failures import FailureDetector
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


def test_a_missing_variable_is_named(tmp_path: Path) -> None:
    """R1: If a custom provider's key is in a variable that is not set, the error names the variable."""
    failures = FailureDetector(load_catalog(tmp_path).get("codex"))
    with pytest.raises(AgentFailed) as raised:
        failures.check("end_turn", "Missing environment variable: `ACME_KEY`.")
    assert raised.value.code == "agent_login"
    assert "needs the environment variable ACME_KEY," in raised.value.message
    assert "--env ACME_KEY=VALUE" in raised.value.message
    with pytest.raises(AgentFailed) as raised:
        failures.check("end_turn", "Missing environment variable")
    assert "bough agents login codex" in raised.value.message


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


@pytest.mark.parametrize(
    ("message", "data", "sentence"),
    [
        (
            "Internal error",
            {"message": "You have hit your usage limit.", "codexErrorInfo": "x"},
            "You have hit your usage",
        ),
        ("Internal error", {"details": '{"error":{"message":"Quota exceeded"}}'}, "Quota exceeded"),
        ("Internal error", {"errorKind": "overloaded"}, "Internal error (overloaded)"),
        ("Internal error: Overloaded", {"errorKind": "overloaded"}, "Overloaded (overloaded)"),
        ("Cannot open it", {"error": {"message": "No such model"}}, "Cannot open it: No such model"),
        ("Cannot open it: No such model", {"details": "No such model"}, "Cannot open it: No such model"),
        ("Cannot open it", {"details": {"deep": 1}}, "Cannot open it"),
        ("Internal error", "The disk is full", "The disk is full"),
        ("", None, ""),
    ],
)
def test_errors_name_their_cause(message: str, data: object, sentence: str) -> None:
    """R1, T3: The cause that an error carries in its data is part of the sentence."""
    with pytest.raises(AgentRefused) as raised, FailureDetector(ENTRY).explained():
        raise _refused(-32603, message, data)
    assert raised.value.message.startswith(f"Bird says: {sentence}")


@pytest.mark.parametrize(
    ("agent", "message"),
    [
        ("claude-code", "Internal error: The Claude Agent process exited unexpectedly. Please start a new session."),
        ("claude-code", "Internal error: The Claude Agent session has ended. Please start a new session."),
        ("claude-code", "Internal error: Claude Code process exited with code 1"),
        ("claude-code", "Claude Code process terminated by signal SIGKILL"),
        ("claude-code", "ProcessTransport is not ready for writing"),
        ("codex", "The Codex app-server was killed by SIGKILL. The agent starts it again on the next request.\nnoise"),
        ("codex", "The Codex app-server exited with code 7. The agent is shutting down."),
        ("codex", "The Codex app-server crashed 3 times in the last 60 s, so the agent stopped restarting it."),
        (
            "codex",
            "Session x had no messages yet and was lost when the Codex app-server restarted.",
        ),
    ],
)
def test_a_dead_inner_process(tmp_path: Path, agent: str, message: str) -> None:
    """O2: The catalog knows the errors of adapters whose inner process has died."""
    detector = FailureDetector(load_catalog(tmp_path).get(agent))
    with pytest.raises(AgentGone), detector.unbroken(), detector.explained():
        raise _refused(1001, message)


def test_a_lost_conversation_is_not_a_missing_file() -> None:
    """O2: An agent that does not know its conversation is broken; one that misses a file of the prompt is not."""
    detector = FailureDetector(ENTRY)
    with pytest.raises(AgentGone), detector.unbroken():
        raise _refused(-32002, "Resource not found", {"sessionId": "x"})
    with pytest.raises(AgentGone), detector.unbroken():
        raise _refused(-32002, "Resource not found: 0b1f", {"uri": "0b1f"})
    with pytest.raises(AgentRefused), detector.unbroken():
        raise _refused(-32002, "Resource not found: file:///x", {"uri": "file:///x"})


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
    assert FailureDetector(ENTRY).is_noise(SessionUpdate("session", kind, text, None, b"{}")) is noise


def _refused(rpc_code: int, words: str, data: object = None) -> AgentRefused:
    message = f"bird --acp refused session/prompt: {words} ({rpc_code})"
    return AgentRefused(
        "agent_refused", message, agent_message=words, rpc_code=rpc_code, data=data, stderr="last words"
    )


@pytest.mark.parametrize(
    ("message", "data", "sentence"),
    [
        (
            'API Error: 400 {"type":"error","error":{"type":"bad","message":"prompt is too long"},"request_id":"r"}',
            None,
            "API Error: 400 prompt is too long",
        ),
        (
            '{"error":{"message":"{\\n \\"error\\": {\\"code\\": 4, \\"message\\": \\"No such model.\\"}}","code":4}}',
            None,
            "No such model.",
        ),
        ('[{"error":{"code":429,"message":"Quota exceeded"}}]', None, "Quota exceeded"),
        (
            "Internal error",
            {"message": "Not Found", "error": {"responseBody": '{"error":{"message":"No model x"}}'}},
            "Not Found: No model x",
        ),
        ("An unexpected error occurred", {"cause": {"errors": [{"message": "Disk full"}]}}, "Disk full"),
        ("Unexpected error", {"stack": "Error: boom\n    at run (index.js:1:2)\n    at x"}, "Error: boom"),
        (
            "Internal error",
            {"details": "Claude Code process exited with code 1: cannot be used with root/sudo privileges"},
            "Claude Code process exited with code 1: cannot be used with root/sudo privileges",
        ),
    ],
)
def test_a_cause_is_found_wherever_it_is(message: str, data: object, sentence: str) -> None:
    """R1, T3: The sentence has the cause, also if it is JSON inside the message or deep in the error's data."""
    with pytest.raises(AgentRefused) as raised, FailureDetector(ENTRY).explained():
        raise _refused(-32603, message, data)
    assert raised.value.message == f"Bird says: {sentence}"


def test_stderr_names_the_cause_that_an_error_lacks() -> None:
    """T3: An error that says nothing is told with the last line about an error that the agent wrote to stderr."""
    with pytest.raises(AgentRefused) as raised, FailureDetector(ENTRY).explained():
        raise AgentRefused(
            "agent_refused",
            "x",
            agent_message="Internal error",
            rpc_code=-32603,
            stderr="ready\nError: cannot open /nowhere\n    at run (index.js:1:2)\n",
        )
    assert raised.value.message == "Bird says: Internal error: Error: cannot open /nowhere"
    with pytest.raises(AgentRefused) as raised, FailureDetector(ENTRY).explained():
        raise _refused(-32603, "Internal error")
    assert raised.value.message == "Bird says: Internal error"


def test_deep_data_has_an_end() -> None:
    """T3: Data that an agent nests without end costs neither time nor memory."""
    data: object = "the cause"
    for _ in range(2000):
        data = {"error": data}
    with pytest.raises(AgentRefused) as raised, FailureDetector(ENTRY).explained():
        raise _refused(-32603, "Internal error" + "[" * 5000, data)
    assert raised.value.message.startswith("Bird says: ")
