"""Secret values in tool calls that grow."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from bough.core.transcripts.agent_state import shown_state
from bough.core.transcripts.fold import MOST_CALLS, TOO_MANY, Fold
from bough.core.transcripts.growing_message import LONGEST_OUTPUT, GrowingMessage
from bough.model.message import Message
from bough.model.values.redaction import Redactor

SECRET = "heron-4711-grey-wing"


def printed(data: str, **fields: Any) -> dict[str, Any]:
    meta = {"terminal_output_delta": {"data": data}}
    return {"sessionUpdate": "tool_call_update", "toolCallId": "c1", "_meta": meta, **fields}


def shown(entry: GrowingMessage) -> dict[str, Any]:
    return msgspec.json.decode(entry.content())


@pytest.mark.parametrize("status", [None, "pending", "in_progress", "odd"])
def test_output_in_pieces(status: str | None) -> None:
    """R1: Output is shown without the beginning of a value, whatever the agent says about the call, and ends whole."""
    fold = Fold(redactor=Redactor([SECRET]))
    state = {"status": status} if status else {}
    entry = fold.tool(printed("key ", **state))
    for character in SECRET:
        fold.tool(printed(character))
        assert shown(entry)["result"]["output"] in ("key ", "key ***")
    fold.tool(printed(f" and {SECRET[:5]}"))
    assert shown(entry)["result"]["output"] == "key *** and "
    assert fold.withheld == {entry.id: SECRET[:5]}
    fold.close()
    assert shown(entry)["result"]["output"] == f"key *** and {SECRET[:5]}" and not fold.withheld
    assert entry in fold.dirty


def test_the_end_of_a_turn_ends_few_calls() -> None:
    """R4: However many calls a turn makes, its end writes a limited number. Earlier ones that are open end when
    there are more, with a note that says so."""
    fold = Fold()
    calls = [fold.tool({"toolCallId": str(number), "status": "pending"}) for number in range(MOST_CALLS + 100)]
    assert set(calls) <= set(fold.dirty)
    assert shown(calls[99])["result"] == {"status": "failed", "note": TOO_MANY}
    assert shown(calls[100])["result"] == {"status": "pending"}
    fold.dirty.clear()
    fold.close()
    assert len(fold.dirty) == MOST_CALLS and calls[99] not in fold.dirty


@pytest.mark.parametrize("status", [None, "pending", "odd", "completed"])
def test_calls_are_closed_once(status: str | None) -> None:
    """R4: The end of an agent after the end of its turn writes no call again, unless the agent has added to it."""
    fold = Fold(redactor=Redactor([SECRET]))
    entry = fold.tool(printed("key ", **({"status": status} if status else {})))
    fold.close()
    fold.dirty.clear()
    fold.close()
    assert fold.dirty == {}
    fold.tool(printed(SECRET[:5]))
    fold.dirty.clear()
    fold.close()
    assert shown(entry)["result"]["output"] == f"key {SECRET[:5]}"
    assert (entry in fold.dirty) == (status not in ("completed", "pending"))


def test_output_that_comes_whole() -> None:
    """R1: Output that an agent sends whole each time, and pieces after it, are masked in the same way."""
    fold = Fold(redactor=Redactor([SECRET]))
    update: dict[str, Any] = {"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "in_progress"}
    entry = fold.tool({**update, "rawOutput": f"a {SECRET[:9]}"})
    assert shown(entry)["result"]["output"] == "a "
    fold.tool(printed(SECRET[9:]))
    assert shown(entry)["result"]["output"] == "a ***"
    fold.tool({**update, "rawOutput": {"stdout": f"b {SECRET[:9]}"}})
    assert shown(entry)["result"]["output"] == {"stdout": "b "} and not fold.withheld
    fold.tool({**update, "rawOutput": f"c {SECRET} {SECRET[:4]}", "status": "completed"})
    assert shown(entry)["result"]["output"] == f"c *** {SECRET[:4]}"


def test_long_output_is_not_cut_inside_a_value() -> None:
    """R1: The rest of a value does not show when older output is dropped."""
    fold = Fold(redactor=Redactor([SECRET]))
    entry = fold.tool(printed(SECRET, status="in_progress"))
    fold.tool(printed("." * (LONGEST_OUTPUT - 1)))
    assert shown(entry)["result"]["output"] == "*" + "." * (LONGEST_OUTPUT - 1)


def test_identifiers_stay() -> None:
    """R1: Of what an agent reports about its options and commands, only the descriptions are masked: the rest is sent
    back to it. Figures stay numbers."""
    redactor = Redactor(["gemini-2.5-pro", "2000000000"])
    option = {"id": "model", "currentValue": "gemini-2.5-pro", "description": "Uses gemini-2.5-pro."}
    state: dict[str, dict[str, Any]] = {
        "config_option_update": {"configOptions": [option]},
        "usage_update": {"size": 2000000000},
        "session_info_update": {"title": "On gemini-2.5-pro"},
    }
    shown = shown_state(state, redactor)
    assert shown["config_option_update"]["configOptions"] == [{**option, "description": "Uses ***."}]
    assert shown["usage_update"] == {"size": 2000000000}
    assert shown["session_info_update"] == {"title": "On ***"}


def test_a_call_goes_on_after_a_restart() -> None:
    """R1, O2: What was withheld is joined with what follows."""
    redactor = Redactor([SECRET])
    first = Fold(redactor=redactor)
    entry = first.tool(printed(f"key {SECRET[:6]}", status="in_progress"))
    row = Message(entry.id, "s", "t", 0, "system", entry.content(), "", "")
    second = Fold(redactor=redactor)
    second.restore([row], first.withheld)
    again = second.tool(printed(SECRET[6:], status="completed"))
    assert shown(again)["result"]["output"] == "key ***"
