"""Recognizes that a limit ended a turn, from an agent's error or from the final text of a turn that failed: the
account's usage, the service's rate, or the model's context. The agent's catalog file has its words."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any, cast

from bough.agents.catalog import CatalogEntry
from bough.agents.errors import AgentLimited
from bough.agents.limit_times import limit_end
from bough.errors import AgentFailed
from bough.model.values.times import written

# Characters of an agent's words that are searched: agents choose how much they say, and some patterns take long.
MOST_WORDS = 4000


def reported_limit(
    entry: CatalogEntry, words: str, *, quotation: str, rpc_code: int | None = None, data: Any = None
) -> AgentFailed | None:
    """Returns the error for a limit that an agent reports in these words; None if they are about something else."""
    vocabulary, words = entry.limits, words[:MOST_WORDS]
    if _matches(vocabulary.context, words):
        shorter = f"Send {vocabulary.compact} to shorten it, fork" if vocabulary.compact else "Fork"
        sentence = (
            f"The conversation no longer fits the context of {entry.title}'s model. "
            f"{shorter} the session at an earlier task, or start a new one. {quotation}"
        )
        return AgentFailed("agent_context", sentence, agent=entry.name, compact=vocabulary.compact or None)
    is_limit = (
        rpc_code in vocabulary.codes
        or any(_holds(data, field) for field in vocabulary.data)
        or _matches(vocabulary.words, words)
    )
    if not is_limit:
        return None
    ends = limit_end(words, vocabulary.resets, datetime.now(UTC))
    is_usage = _matches(vocabulary.usage, words)
    return AgentLimited(
        "agent_limit",
        quotation,
        agent=entry.name,
        is_usage=is_usage,
        ends_at=written(ends) if ends is not None else None,
    )


def _matches(patterns: list[str], words: str) -> bool:
    return any(re.search(pattern, words) for pattern in patterns)


def _holds(data: Any, field: str) -> bool:
    """Tells whether an error's data has a field with a value, given as `path.to.field=value`."""
    path, _, expected = field.partition("=")
    for name in path.split("."):
        if not isinstance(data, dict) or name not in data:
            return False
        data = cast("dict[str, Any]", data)[name]
    return isinstance(data, str | int) and str(data) == expected
