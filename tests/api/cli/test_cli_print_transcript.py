"""Tests printed transcripts and the formats of ids, times and texts."""

from __future__ import annotations

import io
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from bough.api.cli.framework import formats, terminal_safety
from bough.api.cli.session.print_transcript import TranscriptPrinter
from bough.model.ids import new_id


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
def test_any_telling_prints_each_character_once(text: str, tellings: list[tuple[bool, int, int]]) -> None:
    """A3: deltas at offsets in characters, snapshots and whole messages, repeated in any order: printed once."""
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
    """A3: text that begins after what is known is not printed; the caller is told to fetch what is missing."""
    talk, file = _talk()
    assert talk.grow("m", 0, "abc") and not talk.grow("m", 5, "fg")
    assert talk.grow("m", 0, "abcdefg")
    assert file.getvalue() == "abcdefg"


def test_an_older_state_changes_nothing() -> None:
    """A3: what was read from the server may be newer than an event that is still on its way."""
    talk, file = _talk()
    talk.message(_message({"type": "tool", "title": "make", "result": {"status": "completed"}}, at="2"))
    talk.message(_message({"type": "tool", "title": "make", "result": {"status": "failed"}}, at="1"))
    assert file.getvalue() == "✓ make\n"


def test_a_tool_call_is_one_line() -> None:
    """O5: on a terminal a tool call's line is written over while it is the last; on paper only its end is written."""
    states = [{"type": "tool", "title": "make", "result": {"status": item}} for item in ("pending", "completed")]
    for terminal, wanted in ((True, "… make\r\x1b[K✓ make\n"), (False, "✓ make\n")):
        talk, file = _talk(terminal=terminal)
        for at, state in enumerate(states):
            talk.message(_message(state, at=str(at)))
        assert file.getvalue() == wanted


def test_what_a_command_printed_is_shown() -> None:
    """O5, T4: the end of it, below its line; of other calls only why they failed."""
    lines = "\n".join(f"{number}\x1b[2J" for number in range(22))
    result = {"status": "completed", "content": [{"type": "content", "content": {"type": "text", "text": lines}}]}
    for kind, status, shown in (("execute", "completed", 21), ("read", "completed", 0), ("read", "failed", 21)):
        talk, file = _talk()
        talk.message(_message({"type": "tool", "title": "t", "kind": kind, "result": {**result, "status": status}}))
        _, *printed = file.getvalue().splitlines()
        assert len(printed) == shown and "\x1b" not in "".join(printed)
        assert not shown or (printed[0], printed[-1][:4]) == ("  … 2 more lines", "  21")


def test_nothing_steers_the_terminal() -> None:
    """O5: control characters in what an agent writes do not reach the terminal, and markup is only text."""
    talk, file = _talk(terminal=True)
    talk.message(_message(_text("a\x1b]0;title\x07[red]b\x9b2Jc", partial=False)))
    talk.message(_message({"type": "tool", "title": "x\x1b[2J", "result": {"status": "failed"}}, "t"))
    assert file.getvalue() == "a]0;title[red]b2Jc\n\n✗ x[2J\n"
    assert terminal_safety.clean("\ud800") == "?"
    assert terminal_safety.clean("rm \u202e\u2066x\u2069") == "rm x"


def test_a_sentence_names_ids_shortly() -> None:
    """R5: whole ids in a sentence become short ones that differ; in paths they stay."""
    one, other = new_id(), new_id()
    said = formats.shorten(f"{one} and {other}; session {one}.")
    assert said == f"{one[-8:]} and {other[-8:]}; session {one[-8:]}."
    assert formats.shorten(f"/tmp/{one}/x") == f"/tmp/{one}/x"


def test_short_ids_are_unique() -> None:
    """R5: people are shown 8 characters or more that tell an id from the others."""
    ids = [new_id() for _ in range(50)]
    for complete in (True, False):
        forms = formats.short_forms(ids, complete=complete)
        for one, form in forms.items():
            assert len(form) >= 8
            assert [other for other in ids if other.startswith(form) or other.endswith(form)] == [one]
