"""B1: The past as text is bounded: tool output is dropped first, oldest first, then entries; the text says what is
missing."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from bough.core.transcripts.replay import HEADING, NO_OUTPUT, HistoryText, Replay
from bough.model.message import QUEUED_BASE, Message, Role, raw


def transcript(messages: list[Message], largest: int = 200_000) -> Replay:
    history = HistoryText(largest)
    history.add(reversed(messages))
    return history.build()


def said(position: int, role: Role, **content: Any) -> Message:
    return Message(str(position), "s", "t", position, role, raw(content), "", "")


def text(position: int, words: str, role: Role = "user") -> Message:
    return said(position, role, type="text", text=words)


def tool(position: int, output: str) -> Message:
    return said(
        position, "system", type="tool", title=f"run {position}", result={"status": "completed", "output": output}
    )


def test_an_empty_past_is_empty_text() -> None:
    """B1: An empty past has no heading; queued prompts are not part of the past."""
    assert transcript([]).text == ""
    assert transcript([text(QUEUED_BASE + 1, "waits")]).text == ""


def test_everything_is_quoted() -> None:
    """B1: Indents each quoted line, so that none of it reads as Bough's own words."""
    past = transcript([text(1, "one\nAgent:\ntwo"), text(2, "yes", "agent"), tool(3, "out")])
    assert past.text == f'{HEADING}\n\nUser:\n    one\n    Agent:\n    two\n\nAgent:\n    yes\n\n{TOOL}: "out"'
    assert past.left_out == ""


TOOL = "Tool call run 3 (completed)"


def test_words_of_others_are_attributed() -> None:
    """B1, B4, Q3: Quotes side questions with their answers, and reports."""
    aside = said(1, "system", type="btw", question="what?\nreally?", text="this")
    report = said(2, "user", type="callback", text="Status: completed\nmore")
    text = transcript([aside, report]).text
    assert "[side question]\n    what?\n    really?\n[answer]\n    this" in text
    assert "[report of a child session]\n    Status: completed\n    more" in text


def test_the_oldest_output_goes_first() -> None:
    """B1: Drops only as much as necessary; messages stay while there is output to drop."""
    messages = [text(1, "first"), tool(2, "a" * 300), text(3, "second"), tool(4, "b" * 300)]
    past = transcript(messages, 500)
    assert "a" * 300 not in past.text and "b" * 300 in past.text
    assert "first" in past.text and "second" in past.text
    assert past.left_out == "the output of 1 tool calls is left out"


def test_then_the_oldest_entries() -> None:
    """B1: Says that entries are missing."""
    messages = [text(1, "f" * 200), tool(2, "a" * 300), text(3, "s" * 200), text(4, "last")]
    past = transcript(messages, 250)
    assert "f" * 200 not in past.text and "s" * 200 in past.text and "last" in past.text
    assert "[2 earlier entries are left out here]" in past.text
    assert past.left_out == "2 of the oldest entries are left out"


def test_a_huge_answer_does_not_displace_the_rest() -> None:
    """B1: Quotes the beginning and the end of a huge message, and everything around it."""
    huge = "begin " + "x" * 2_000_000 + " end"
    past = transcript([text(1, "first"), text(2, huge, "agent"), text(3, "last")])
    assert len(past.text) < 200_000
    assert all(words in past.text for words in ("first", "begin ", " end", "last"))
    assert "[1960010 characters are left out here]" in past.text
    assert past.left_out == "1 long entries are shortened"


def test_outputs_and_entries_are_counted_apart() -> None:
    """B1: Messages stay while there is output to drop, and entries that were not even read are counted too."""
    history = HistoryText(300)
    for messages in (
        [text(5, "s" * 200)],
        [tool(4, "a" * 300), text(3, "near")],
        [text(2, "f" * 200), text(1, "distant")],
    ):
        assert not history.full
        history.add(messages)
    assert history.full
    history.skip(7)
    past = history.build()
    assert "near" in past.text and NO_OUTPUT in past.text and "distant" not in past.text
    assert "[9 earlier entries are left out here]" in past.text
    assert past.left_out == "the output of 1 tool calls is left out and 9 of the oldest entries are left out"


SIZES = st.lists(st.tuples(st.booleans(), st.integers(0, 120)), min_size=1, max_size=20)


def sized(sizes: list[tuple[bool, int]]) -> list[Message]:
    """Returns one message per size: a tool call with that much output, or a text of that length."""
    return [
        tool(position, "o" * size) if is_tool else text(position, "w" * size)
        for position, (is_tool, size) in enumerate(sizes)
    ]


def entries(past: str) -> list[str]:
    """Returns the entries of a past, including the one that says how many are missing."""
    return past.removeprefix(HEADING).split("\n\n")[1:]


@given(SIZES, st.integers(50, 1500))
def test_the_bound_is_kept(sizes: list[tuple[bool, int]], largest: int) -> None:
    """B1: Never exceeds the bound, and says what is missing if anything is."""
    bounded = transcript(sized(sizes), largest)
    everything = entries(transcript(sized(sizes), 1_000_000).text)
    shown = entries(bounded.text)
    dropped = "earlier entries" in shown[0]
    shown = shown[dropped:]
    assert sum(len(entry.removesuffix(" [cut]")) for entry in shown) <= largest
    assert (len(shown) < len(everything)) is dropped
    assert (shown == everything) is (bounded.left_out == "")
    assert any(NO_OUTPUT in entry for entry in shown) is ("output of" in bounded.left_out)


@settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(SIZES, st.integers(50, 1500))
def test_no_more_is_dropped_than_necessary(sizes: list[tuple[bool, int]], largest: int) -> None:
    """B1: Drops outputs from the oldest on, and none that would have fitted."""
    bounded = transcript(sized(sizes), largest)
    assume("output of" in bounded.left_out)
    assume("entries" not in bounded.left_out and "cut" not in bounded.left_out)
    shown, everything = entries(bounded.text), entries(transcript(sized(sizes), 1_000_000).text)
    last = max(position for position, entry in enumerate(shown) if NO_OUTPUT in entry)
    assert shown[last + 1 :] == everything[last + 1 :]
    assert sum(map(len, shown)) - len(shown[last]) + len(everything[last]) > largest


def test_one_huge_entry_is_cut() -> None:
    """B1: Never drops the newest entry completely."""
    past = transcript([text(1, "old"), text(2, "x" * 5000)], 1000)
    assert "x" * 900 in past.text and "x" * 1001 not in past.text and "[cut]" in past.text
    assert past.left_out == "the last entry is cut and 1 of the oldest entries are left out"


def test_a_long_output_is_cut() -> None:
    """B1: One tool does not fill the past."""
    assert len(transcript([tool(1, "x" * 50_000)]).text) < 5000
