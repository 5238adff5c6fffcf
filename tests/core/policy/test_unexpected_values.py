"""Tests unexpected values from agents: they are kept or left out, and break nothing (R4, C1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bough.agents.acp import wire
from bough.agents.acp.answers import read_session
from bough.agents.catalog import Catalog, CatalogEntry
from bough.core.live_agents.agent_settings import CONFIGURED, AgentSettings
from bough.core.policy.tool_use import read as tool_use
from bough.core.transcripts.fold import STATE, Fold
from bough.model.message import Message, raw

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
FIELDS = ("toolCallId", "title", "kind", "name", "status", "content", "locations", "rawInput", "rawOutput", "_meta")
KINDS = ("tool_call", "tool_call_update", "plan", "agent_message_chunk", "nobody_knows", *sorted(STATE))
ENTRY = CatalogEntry(name="odd", title="Odd", command=["odd"])


@pytest.mark.parametrize(
    "odd",
    [
        {"_meta": [1]},
        {"_meta": {"claudeCode": "x"}},
        {"rawInput": {"path": "~\0"}},
        {"status": []},
        {"title": {}, "kind": [], "name": 5},
    ],
)
def test_odd_values_in_a_call(odd: dict[str, Any]) -> None:
    """R4: Such a call is folded, read, denied and closed like any other."""
    fold = Fold()
    entry = fold.tool({"toolCallId": "1", **odd})
    tool_use.read(Catalog(Path("/"), [ENTRY]), "odd", "/", entry.body)
    fold.deny("1")
    fold.close()
    assert entry.body["result"].get("status") in (None, "failed")


@given(st.lists(st.tuples(st.sampled_from(KINDS), st.dictionaries(st.sampled_from(FIELDS), JSON)), max_size=4))
def test_whatever_an_agent_says_is_folded(updates: list[tuple[str, dict[str, Any]]]) -> None:
    """R4, C1: No update from an agent breaks the transcript or the stored settings."""
    fold, tuning = Fold(), AgentSettings(ENTRY)
    for kind, body in updates:
        update = {"sessionUpdate": kind, **body, "currentModeId": body.get("title"), "entries": body.get("content")}
        decoded = wire.decode(
            msgspec.json.encode({"method": "session/update", "params": {"sessionId": "s", "update": update}})
        )
        assert isinstance(decoded, wire.SessionUpdate)
        fold.add([decoded])
        if kind in CONFIGURED:
            tuning.observe(decoded)
    fold.close()
    for entry in fold.dirty:
        msgspec.json.decode(entry.content())


@given(JSON, JSON, JSON)
def test_whatever_an_agent_opens_with_is_read(models: Any, modes: Any, options: Any) -> None:
    """P2: Ignores odd values for models, modes and options."""
    answer = msgspec.Raw(msgspec.json.encode({"models": models, "modes": modes, "configOptions": options}))
    AgentSettings(ENTRY).opened(read_session(answer, "s"))
    odd_models = msgspec.Raw(b'{"models": {"availableModels": [5, {"modelId": "m"}]}}')
    AgentSettings(ENTRY).opened(read_session(odd_models, "s"))


def test_an_odd_transcript_can_be_closed() -> None:
    """O2: A server starts even if an older one stored an odd call."""
    fold = Fold()
    body: dict[str, Any] = {"type": "tool", "tool": "x", "args": {}, "result": {"status": []}, "toolCallId": "1"}
    fold.restore([Message("m", "s", "t", 1, "system", raw(body), "", "")])
    fold.close()


def test_an_id_that_is_used_again_is_another_call() -> None:
    """5d: Nothing about an ended call counts for the next one with its id; updates still belong to that one."""
    fold = Fold()
    own = {"claudeCode": {"mcpServer": {"name": "bough"}}}
    first = fold.tool({"toolCallId": "1", "title": "a", "_meta": own, "status": "completed"})
    same = fold.tool({"sessionUpdate": "tool_call_update", "toolCallId": "1", "rawOutput": "x"})
    second = fold.tool({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "b", "kind": "execute"})
    assert first is same is not second
    assert (first.body["meta"], second.body.get("meta"), fold.tool_count) == (own, None, 2)
    assert tool_use.read(Catalog(Path("/"), []), "mine", "/", second.body).server is None
