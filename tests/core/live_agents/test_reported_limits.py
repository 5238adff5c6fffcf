"""Tests how the limits that real agents report are recognized: each sentence was measured with the agent's pinned
version."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bough.agents.acp.wire import SessionUpdate
from bough.agents.catalog import load_catalog
from bough.agents.errors import AgentLimited, AgentRefused
from bough.agents.limit_times import limit_end
from bough.core.live_agents.failures import FailureDetector
from bough.errors import AgentFailed

NOW = datetime(2026, 11, 18, 13, 50, tzinfo=UTC)


def _failure(tmp_path: Path, agent: str, words: str, rpc_code: int, data: Any) -> AgentFailed:
    failures = FailureDetector(load_catalog(tmp_path).get(agent))
    with pytest.raises(AgentFailed) as raised, failures.explained():
        raise AgentRefused("agent_refused", f"{agent} says: {words}", agent_message=words, rpc_code=rpc_code, data=data)
    return raised.value


@pytest.mark.parametrize(
    ("agent", "words", "rpc_code", "data", "is_usage"),
    [
        (
            "claude-code",
            "Internal error: You've hit your 5-hour limit · resets 2:55pm (UTC)",
            -32603,
            {"errorKind": "rate_limit"},
            True,
        ),
        (
            "claude-code",
            "Internal error: API Error: Request rejected (429) · This request would exceed your account rate limit.",
            -32603,
            {"errorKind": "rate_limit"},
            False,
        ),
        (
            "codex",
            "Internal error",
            -32603,
            {
                "message": "You’ve hit your usage limit. Upgrade to Pro, or try again at 2:54 PM.",
                "codexErrorInfo": "usageLimitExceeded",
            },
            True,
        ),
        ("gemini", "You have exhausted your daily quota on this model.", 429, None, True),
        ("gemini", "You exceeded your current quota. Please retry in 1200.5s.", 429, None, True),
        ("gemini", "Too many requests.", 429, None, False),
        ("opencode", "Internal error: Rate limit reached for requests. Try again in 20s.", -32603, None, False),
        ("demo", "You have hit your usage limit. Try again in 30s.", -32603, None, True),
    ],
)
def test_a_limit_is_recognized(
    tmp_path: Path, agent: str, words: str, rpc_code: int, data: Any, is_usage: bool
) -> None:
    """Q6: Whichever way an agent reports a usage or rate limit, it becomes one kind of error, in the agent's words."""
    error = _failure(tmp_path, agent, words, rpc_code, data)
    assert isinstance(error, AgentLimited) and error.code == "agent_limit"
    assert error.is_usage is is_usage
    title = load_catalog(tmp_path).get(agent).title
    assert error.message.startswith(f"{title} says: ")


@pytest.mark.parametrize(
    ("agent", "words", "compact"),
    [
        ("claude-code", "Internal error: Prompt is too long", "/compact"),
        ("gemini", "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", None),
    ],
)
def test_a_full_context_says_what_to_do(tmp_path: Path, agent: str, words: str, compact: str | None) -> None:
    """Q6: A conversation that no longer fits the model's context is told to be shortened, or forked."""
    error = _failure(tmp_path, agent, words, -32603, None)
    assert (error.code, error.details["compact"]) == ("agent_context", compact)
    assert ("Send /compact to shorten it, fork the session" in error.message) is (compact is not None)


def test_a_failed_turn_that_ends_normally(tmp_path: Path) -> None:
    """Q6: Codex ends a turn normally and reports the limit in its text; the same words in an answer mean nothing."""
    words = "exceeded retry limit, last status: 429 Too Many Requests"
    failures = FailureDetector(load_catalog(tmp_path).get("codex"))
    failures.check("end_turn", words)
    update = b'{"sessionUpdate":"session_info_update","_meta":{"codex":{"threadStatus":{"type":"systemError"}}}}'
    line = b'{"method":"session/update","params":{"sessionId":"a","update":' + update + b"}}"
    failures.observe(SessionUpdate("a", "session_info_update", None, None, line))
    with pytest.raises(AgentLimited):
        failures.check("end_turn", words)


@pytest.mark.parametrize(
    ("agent", "words", "ends"),
    [
        ("claude-code", "You've hit your 5-hour limit · resets 2:55pm (UTC)", datetime(2026, 11, 18, 14, 55)),
        ("claude-code", "You've hit your limit · resets 3am (Europe/Berlin)", datetime(2026, 11, 19, 2, 0)),
        ("claude-code", "You've hit your 5-hour limit · resets Nov 22, 1:18am (UTC)", datetime(2026, 11, 22, 1, 18)),
        # Rounded to a minute that has just passed.
        ("claude-code", "You've hit your 5-hour limit · resets 1:49pm (UTC)", datetime(2026, 11, 18, 13, 50)),
        ("gemini", "Please retry in 1200.5s.", datetime(2026, 11, 18, 14, 10, 0, 500000)),
        ("gemini", "Your quota will reset after 1h0m5s.", datetime(2026, 11, 18, 14, 50, 5)),
        ("codex", "Please try again in 5 days 2 hours 3 minutes.", datetime(2026, 11, 23, 15, 53)),
        # Too far away, or nonsense.
        ("codex", "Please try again in 900 days.", None),
        ("claude-code", "resets Feb 31, 1am (UTC)", None),
        ("claude-code", "resets 99:99pm (Nowhere/Land)", None),
        ("gemini", "You have exhausted your daily quota on this model.", None),
    ],
)
def test_the_end_of_a_limit(tmp_path: Path, agent: str, words: str, ends: datetime | None) -> None:
    """Q6: The vendor's time at which a limit ends is read from the agent's words."""
    patterns = load_catalog(tmp_path).get(agent).limits.resets
    assert limit_end(words, patterns, NOW) == (ends.replace(tzinfo=UTC) if ends is not None else None)


def test_a_time_without_a_zone_is_the_servers(tmp_path: Path) -> None:
    """Q6: Codex says a time of day in the zone of the machine that it runs on, which is the server's."""
    local = NOW.astimezone() + timedelta(hours=1, minutes=5)
    words = f"try again at {local.strftime('%b %d, %Y %I:%M %p')}."
    patterns = load_catalog(tmp_path).get("codex").limits.resets
    assert limit_end(words, patterns, NOW) == NOW + timedelta(hours=1, minutes=5)


def test_long_words_do_not_stop_the_server(tmp_path: Path) -> None:
    """Q6: An agent that fails with a very long text cannot keep the server busy with searching it."""
    began = time.process_time()
    error = _failure(tmp_path, "gemini", "input token count " * 20_000, -32603, None)
    assert error.code == "agent_refused"
    assert time.process_time() - began < 10
