"""Tests printed transcripts and the formats of ids, times and texts."""

from __future__ import annotations

import io
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from bough.api.cli.framework import formats, terminal_safety
from bough.api.cli.session.follow.print_transcript import TranscriptPrinter
from bough.model.values.ids import new_id


def _talk(*, terminal: bool = False, prompts: bool = True) -> tuple[TranscriptPrinter, io.StringIO]:
    file = io.StringIO()
    return TranscriptPrinter(
        Console(file=file, width=60, force_terminal=terminal, color_system=None), prompts=prompts
    ), file


def _message(content: dict[str, Any], known: str = "m", at: str = "1", role: str = "agent") -> dict[str, Any]:
    return {"id": known, "role": role, "position": 1, "updatedAt": at, "content": content}


def _text(text: str, *, partial: bool = True) -> dict[str, Any]:
    return {"type": "text", "text": text, "partial": partial}


TELLINGS = st.lists(st.tuples(st.booleans(), st.integers(0, 12), st.integers(0, 12)), max_size=12)


@given(text=st.text(alphabet="aé🙂\n", min_size=1, max_size=12), tellings=TELLINGS)
def test_each_character_is_printed_once(text: str, tellings: list[tuple[bool, int, int]]) -> None:
    """A3: Deltas, snapshots and whole messages, repeated in any order, print each character once."""
    talk, file = _talk()
    talk.message(_message(_text("")))
    have = 0
    fitting: list[bool] = []
    expected: list[bool] = []
    for is_delta, start, end in tellings:
        reached = end
        if is_delta:
            fitting.append(talk.grow("m", start, text[start:end]))
            expected.append(start <= have)
            reached = end if start <= min(have, end) else 0
        else:
            talk.message(_message(_text(text[:end])))
        have = max(have, min(reached, len(text)))
    assert fitting == expected
    talk.message(_message(_text(text, partial=False)))
    assert file.getvalue() == text + "\n"


def test_a_missing_beginning_is_noticed() -> None:
    """A3: Does not print text after a gap; the caller learns that it must fetch what is missing."""
    talk, file = _talk()
    assert talk.grow("m", 0, "abc") and not talk.grow("m", 5, "fg")
    assert talk.grow("m", 0, "abcdefg")
    assert file.getvalue() == "abcdefg"


def test_an_older_state_changes_nothing() -> None:
    """A3: Ignores an event that is older than what was read from the server."""
    talk, file = _talk()
    talk.message(_message({"type": "tool", "title": "make", "result": {"status": "completed"}}, at="2"))
    talk.message(_message({"type": "tool", "title": "make", "result": {"status": "failed"}}, at="1"))
    assert file.getvalue() == "✓ make\n"


def test_a_tool_call_is_one_line() -> None:
    """O5: On a terminal, the last line of a tool call is rewritten; elsewhere only its end is printed."""
    states = [{"type": "tool", "title": "make", "result": {"status": item}} for item in ("pending", "completed")]
    for terminal, expected in ((True, "… make\r\x1b[K✓ make\n"), (False, "✓ make\n")):
        talk, file = _talk(terminal=terminal)
        for at, state in enumerate(states):
            talk.message(_message(state, at=str(at)))
        assert file.getvalue() == expected


def test_the_output_of_commands_is_shown() -> None:
    """O5, T4: Prints the end of a command's output below its line; for other calls only why they failed."""
    lines = "\n".join(f"{number}\x1b[2J" for number in range(22))
    result = {"status": "completed", "content": [{"type": "content", "content": {"type": "text", "text": lines}}]}
    for kind, status, shown in (("execute", "completed", 21), ("read", "completed", 0), ("read", "failed", 21)):
        talk, file = _talk()
        talk.message(_message({"type": "tool", "title": "t", "kind": kind, "result": {**result, "status": status}}))
        _, *printed = file.getvalue().splitlines()
        assert len(printed) == shown and "\x1b" not in "".join(printed)
        assert not shown or (printed[0], printed[-1][:4]) == ("  … 2 more lines", "  21")


def test_control_characters_do_not_reach_the_terminal() -> None:
    """O5: Removes control characters from an agent's text, and prints markup as text."""
    talk, file = _talk(terminal=True)
    talk.message(_message(_text("a\x1b]0;title\x07[red]b\x9b2Jc", partial=False)))
    talk.message(_message({"type": "tool", "title": "x\x1b[2J", "result": {"status": "failed"}}, "t"))
    assert file.getvalue() == "a]0;title[red]b2Jc\n\n✗ x[2J\n"
    assert terminal_safety.clean("\ud800") == "?"
    assert terminal_safety.clean("rm \u202e\u2066x\u2069") == "rm x"


def test_ids_in_sentences_are_short() -> None:
    """R5: Shortens complete ids in a sentence so that they still differ; ids in paths stay."""
    first, other = new_id(), new_id()
    shortened = formats.shorten(f"{first} and {other}; session {first}.")
    assert shortened == f"{first[-8:]} and {other[-8:]}; session {first[-8:]}."
    assert formats.shorten(f"/tmp/{first}/x") == f"/tmp/{first}/x"


def test_short_ids_are_unique() -> None:
    """R5: People see 8 or more characters that identify an id."""
    ids = [new_id() for _ in range(50)]
    for id, form in formats.short_forms(ids).items():
        assert len(form) >= 8
        assert [other for other in ids if other.startswith(form) or other.endswith(form)] == [id]
