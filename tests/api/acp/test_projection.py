"""Tests over random transcripts that a replay shows the same as the live stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from hypothesis import given, settings, strategies

from bough.api.acp.view.projection import Projection, ShownMessage
from tests.support.acp.acp_schema import AcpSchema
from tests.support.acp.acp_summary import summarize_updates

Json = dict[str, Any]
# A message's role, and its successive contents.
Said = tuple[str, list[Json]]
Strategy = strategies.SearchStrategy[Any]
# Untyped, because contents may have any type.
st: Any = strategies

words = st.text(max_size=12)
leaves = st.none() | st.booleans() | st.integers(-5, 2**33) | words


def nested(inner: Strategy) -> Strategy:
    return st.lists(inner, max_size=2) | st.dictionaries(words, inner, max_size=2)


anything = st.recursive(leaves, nested, max_leaves=4)


def made(**fields: Any) -> Strategy:
    """Builds objects with these fields, each a value or a strategy."""
    return st.fixed_dictionaries(
        {
            name: value if isinstance(value, strategies.SearchStrategy) else st.just(value)
            for name, value in fields.items()
        }
    )


def some(**fields: Strategy) -> Strategy:
    """Builds objects with some of these fields."""
    return st.fixed_dictionaries({}, optional=fields)


def several(*choices: Strategy) -> Strategy:
    """Builds a list of a few of these, or something else altogether."""
    return st.lists(st.one_of(*choices, anything), max_size=3) | anything


blocks = st.one_of(
    made(type="text", text=words),
    made(type="image", data=words, mimeType="image/png"),
    made(type="resource_link", name="n", uri=words, size=7),
    made(type="resource", resource=some(uri=words, text=words, blob=words)),
    anything,
)
parts = (
    made(type="content", content=blocks),
    made(type="diff", path=words, newText=words, oldText=st.none() | words),
    made(type="terminal", terminalId="t"),
)
statuses = st.sampled_from(["pending", "in_progress", "completed", "failed", "odd"]) | anything
results = some(status=statuses, content=several(*parts), output=anything)
kinds = st.sampled_from(["edit", "execute", "odd"]) | anything
places = several(some(path=words, line=anything))
told_of = some(title=words, kind=kinds, tool=words, args=anything, locations=places)


def called(fixed: Json, free: Json) -> Json:
    return fixed | free


tools = st.builds(called, made(type="tool", toolCallId=words, result=results), told_of)
plans = made(type="plan", steps=several(some(content=words, status=statuses, priority=anything)))
notes = made(type=st.sampled_from(["notice", "error", "btw", "callback", "odd"]), text=words)
contents = made(type="content", content=blocks)


def grown(kind: str, pieces: list[str]) -> Said:
    return "agent", [{"type": kind, "text": "".join(pieces[:end])} for end in range(1, len(pieces) + 1)]


def asked(text: str) -> Said:
    return "user", [{"type": "text", "text": text}]


def kept(*contents: Json) -> Said:
    return "system", list(contents)


texts = st.builds(grown, st.sampled_from(["text", "thought"]), st.lists(words, min_size=1, max_size=5))
others = (
    st.builds(asked, words),
    st.builds(kept, tools),
    st.builds(kept, tools, tools),
    st.builds(kept, tools, tools, tools),
    st.builds(kept, notes),
    st.builds(kept, contents),
    st.builds(kept, plans, plans),
)
transcripts = st.lists(st.one_of(texts, *others), max_size=8)


def shown(number: int, role: str, content: Json, moment: int) -> ShownMessage:
    return ShownMessage(
        f"m{number}", "t", number, role, msgspec.json.decode(msgspec.json.encode(content)), f"{moment:06}"
    )


def live(transcript: list[Said], draw: Callable[[Any], Any]) -> list[Json]:
    """Returns the updates of a client that watches a session, or joins in the middle and gets a row before its older
    events."""
    projection = Projection(lambda _task: False)
    updates: list[Json] = []
    moment = 0
    for number, (role, contents) in enumerate(transcript):
        joins: int = draw(st.integers(-1, len(contents) - 1))
        length = 0
        if joins >= 0:
            # The current row comes first; its older events follow.
            updates += projection.show(shown(number, role, contents[joins], moment + joins))
        for at, content in enumerate(contents):
            text: Any = content.get("text") if content["type"] in ("text", "thought") and role == "agent" else None
            if isinstance(text, str) and at and draw(st.booleans()):
                start = draw(st.integers(0, length))
                updates += projection.grow(f"m{number}", start, text[start:]) or []
                length = len(text)
                continue
            length = len(text) if isinstance(text, str) else 0
            new = projection.show(shown(number, role, content, moment + at))
            # Events that are older than the row add nothing to it.
            assert new == [] or at > joins
            updates += new
            if draw(st.booleans()):
                updates += projection.show(shown(number, role, content, moment + at))
        updates += projection.show(shown(number, role, contents[-1], moment + len(contents)))
        moment += len(contents) + 1
    return updates


@settings(max_examples=80)
@given(transcript=transcripts, data=st.data())
def test_a_replay_equals_the_live_stream(transcript: list[Said], data: strategies.DataObject) -> None:
    """C2: A loaded session looks the same as to a client that watched it, and every update is valid in the protocol."""
    projection = Projection(lambda _task: False)
    replayed: list[Json] = []
    for number, (role, contents) in enumerate(transcript):
        replayed += projection.show(shown(number, role, contents[-1], number))
    updates = live(transcript, data.draw)
    assert last_plan(summarize_updates(updates)) == last_plan(summarize_updates(replayed))
    if AcpSchema.at_hand():
        schema = AcpSchema.load()
        for update in (*updates, *replayed):
            params = {"sessionId": "s", "update": update}
            schema.check_agent_line(
                msgspec.json.encode({"jsonrpc": "2.0", "method": "session/update", "params": params}), {}
            )


def last_plan(items: list[Json]) -> list[Json]:
    """Moves plans to the end, because a plan's position depends on when it started, and only its last content is
    kept."""
    return sorted(items, key=lambda item: item["kind"] == "plan")


def test_a_gap_is_noticed() -> None:
    """C2: A delta that does not continue the shown text is ignored, and the row is read instead."""
    projection = Projection(lambda _task: False)
    assert projection.grow("m0", 0, "x") is None
    projection.show(shown(0, "agent", {"type": "text", "text": "ab"}, 1))
    assert projection.grow("m0", 3, "d") is None
    assert projection.grow("m0", 1, "bc") == [
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "c"}, "messageId": "m0"}
    ]
