"""Tests as tables what a report says and which sessions receive none (Q3)."""

from __future__ import annotations

from typing import Any, cast

import pytest

from bough.core.state.reports import callbacks
from bough.core.store.sql import TREES
from bough.core.store.transactions import Change
from bough.model.message import Message, raw
from bough.model.session import CallbackConfig
from tests.core.state.fake_rows import FakeTx, session, task

CHILD = session(id="child", title="Look", agent="demo", kind="subsession")


def agent_messages(*texts: str) -> list[Message]:
    return [Message("m", "child", "t", 1, "agent", raw({"type": "text", "text": text}), "", "") for text in texts]


async def text_of(config: CallbackConfig, messages: list[Message], **fields: Any) -> str:
    tx = FakeTx({TREES.open_children.name: 2, TREES.last_words.name: messages})
    ended = task(**fields)
    last = await callbacks.last_words(tx, ended)
    return await callbacks._text(tx, CHILD, ended, config, last)  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize(
    ("config", "fields", "present", "absent"),
    [
        ({}, {"prompt": "Do it"}, ["Summary: Done.", "> Done.\n> All of it.", "still at work: 2"], ["Do it"]),
        ({"include_original_prompt": True}, {"prompt": "Do it"}, ["It was asked:\n> Do it"], []),
        ({"include_last_message": False}, {"prompt": ""}, ["Summary: Done."], ["Its last message"]),
        ({"extra_instructions": "Merge it."}, {"prompt": ""}, ["\n\nMerge it."], []),
        ({}, {"status": "failed", "error": raw({"message": "It broke."})}, ["Status: failed", "Error: It broke."], []),
        ({}, {"status": "cancelled", "stop_reason": "stopped"}, ["Status: cancelled (stopped)"], []),
    ],
)
async def test_the_text_of_a_report(
    config: dict[str, Any], fields: dict[str, Any], present: list[str], absent: list[str]
) -> None:
    """Q3: A report contains what the child's settings ask for, and quotes what others wrote."""
    text = await text_of(CallbackConfig(**config), agent_messages("Done.\nAll of it."), **fields)
    assert text.startswith("Callback from session 'Look' (child, demo).")
    assert [part for part in present if part not in text] == []
    assert [part for part in absent if part in text] == []


async def test_a_task_without_a_word() -> None:
    """Q3: The report of a task without any text has a summary too."""
    assert "Summary: The task completed without a word." in await text_of(CallbackConfig(), [])


def test_summaries() -> None:
    """Q3: A summary is the whole last message on one line; of a long one, its beginning and its end."""
    assert callbacks.summary("Done.\n\nFixed\u2028it.", task()) == "Done. Fixed it."
    assert callbacks.summary(" \n", task()) == "The task completed without a word."
    long = callbacks.summary(f"Begin. {'word ' * 1000} The end.", task())
    assert long.startswith("Begin. word") and long.endswith("The end.") and " … " in long and len(long) < 510


@pytest.mark.parametrize(
    ("parent", "refusal"),
    [
        ({}, None),
        ({"archived": True}, "archived"),
        ({"status": "completed"}, "ended (completed)"),
        ({"status": "cancelled"}, "ended (cancelled)"),
    ],
)
async def test_parents_that_receive_no_report(parent: dict[str, Any], refusal: str | None) -> None:
    """Q3: A session that a person has archived or ended is not sent a report."""
    change = Change(cast("Any", FakeTx({})))
    refused = await callbacks.refuses(change, session(**parent))
    assert (refused is None) == (refusal is None)
    assert (refusal or "") in (refused or "")
