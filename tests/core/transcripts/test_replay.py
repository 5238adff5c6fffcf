"""B1: The past as text is bounded: tool output is dropped first, oldest first, then entries; the text says what is
missing."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bough.core.transcripts.replay import HEADING, NO_OUTPUT, Replay, Telling
from bough.model.message import QUEUED_BASE, Message, Role, raw


def transcript(messages: list[Message], largest: int = 200_000) -> Replay:
    telling = Telling(largest)
    telling.add(reversed(messages))
    return telling.told()


def said(position: int, role: Role, **content: Any) -> Message:
    return Message(str(position), "s", "t", position, role, raw(content), "", "")


def text(position: int, words: str, role: Role = "user") -> Message:
    return said(position, role, type="text", text=words)


def tool(position: int, output: str) -> Message:
    return said(
        position, "system", type="tool", title=f"run {position}", result={"status": "completed", "output": output}
    )


def test_nothing_said_is_nothing_told() -> None:
    """B1: An empty past has no heading; queued prompts are not part of the past."""
    assert transcript([]).text == ""
    assert transcript([text(QUEUED_BASE + 1, "waits")]).text == ""


def test_everything_is_quoted() -> None:
    """B1: Indents each quoted line, so that none of it reads as Bough's own words."""
    told = transcript([text(1, "one\nAgent:\ntwo"), text(2, "yes", "agent"), tool(3, "out")])
    assert told.text == f'{HEADING}\n\nUser:\n    one\n    Agent:\n    two\n\nAgent:\n    yes\n\n{TOOL}: "out"'
    assert told.left_out == ""


TOOL = "Tool call run 3 (completed)"


def test_what_others_said_is_told_as_theirs() -> None:
    """B1, B4, Q3: Quotes side questions with their answers, and reports."""
    aside = said(1, "system", type="btw", question="what?\nreally?", text="this")
    report = said(2, "user", type="callback", text="Status: completed\nmore")
    text = transcript([aside, report]).text
    assert "[asked aside]\n    what?\n    really?\n[answer]\n    this" in text
    assert "[report of a child session]\n    Status: completed\n    more" in text


def test_the_oldest_output_goes_first() -> None:
    """B1: Drops only as much as necessary; messages stay while there is output to drop."""
    messages = [text(1, "first"), tool(2, "a" * 300), text(3, "second"), tool(4, "b" * 300)]
    told = transcript(messages, 500)
    assert "a" * 300 not in told.text and "b" * 300 in told.text
    assert "first" in told.text and "second" in told.text
    assert told.left_out == "the output of 1 tool calls is left out"


def test_then_the_oldest_entries() -> None:
    """B1: Says that entries are missing."""
    messages = [text(1, "f" * 200), tool(2, "a" * 300), text(3, "s" * 200), text(4, "last")]
    told = transcript(messages, 250)
    assert "f" * 200 not in told.text and "s" * 200 in told.text and "last" in told.text
    assert "[2 earlier entries are left out here]" in told.text
    assert told.left_out == "2 of the oldest entries are left out"


def test_outputs_and_entries_are_counted_apart() -> None:
    """B1: Messages stay while there is output to drop, and entries that were not even read are counted too."""
    telling = Telling(300)
    for messages in (
        [text(5, "s" * 200)],
        [tool(4, "a" * 300), text(3, "near")],
        [text(2, "f" * 200), text(1, "distant")],
    ):
        assert not telling.full
        telling.add(messages)
    assert telling.full
    telling.skip(7)
    told = telling.told()
    assert "near" in told.text and NO_OUTPUT in told.text and "distant" not in told.text
    assert "[9 earlier entries are left out here]" in told.text
    assert told.left_out == "the output of 1 tool calls is left out and 9 of the oldest entries are left out"


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 120)), min_size=1, max_size=20), st.integers(50, 1500))
def test_the_bound_is_kept_and_used(made: list[tuple[bool, int]], largest: int) -> None:
    """B1: Never exceeds the bound; drops outputs from the oldest on, and entries only if no older output is left."""
    messages = [
        tool(place, "o" * size) if is_tool else text(place, "w" * size) for place, (is_tool, size) in enumerate(made)
    ]
    told = transcript(messages, largest)
    whole = transcript(messages, 1_000_000)
    entries = told.text.removeprefix(HEADING).split("\n\n")[1:]
    dropped = "earlier entries" in entries[0]
    kept = entries[dropped:]
    assert sum(len(one.removesuffix(" [cut]")) for one in kept) <= largest
    every = whole.text.removeprefix(HEADING).split("\n\n")[1:]
    assert (len(kept) < len(every)) is dropped
    if not told.left_out:
        assert kept == every
    elif not dropped and "cut" not in told.left_out:
        last = max(place for place, one in enumerate(kept) if NO_OUTPUT in one)
        assert kept[last + 1 :] == every[last + 1 :]
        assert sum(map(len, kept)) - len(kept[last]) + len(every[last]) > largest
    assert any(NO_OUTPUT in one for one in kept) is ("output of" in told.left_out)


def test_one_huge_entry_is_cut() -> None:
    """B1: Never drops the newest entry completely."""
    told = transcript([text(1, "old"), text(2, "x" * 5000)], 1000)
    assert "x" * 900 in told.text and "x" * 1001 not in told.text and "[cut]" in told.text
    assert told.left_out == "the last entry is cut and 1 of the oldest entries are left out"


def test_a_long_output_is_cut() -> None:
    """B1: One tool does not fill the past."""
    assert len(transcript([tool(1, "x" * 50_000)]).text) < 5000
