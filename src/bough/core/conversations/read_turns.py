"""Reads the turns of a conversation with their tokens: as its agent replays them or, for agents that cannot, from its
file."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import msgspec

from bough.agents.catalog import CatalogEntry
from bough.core.conversations import history_files
from bough.core.conversations.ask_agent import AgentReader
from bough.core.conversations.history_files import FileMark
from bough.core.conversations.line_fields import Tokens
from bough.core.conversations.turns_from_file import file_turns
from bough.core.conversations.turns_from_replay import FoldedTurn, fold_turn
from bough.core.state.task_ended import MOST_COST
from bough.model.session import Session
from bough.model.values.redaction import Redactor
from bough.settings import Settings


class ReadTurns(msgspec.Struct):
    """The turns of a conversation without secret values, what people should know about them, what the agent says about
    the conversation, how far its file is read, and what it has cost."""

    turns: list[FoldedTurn]
    notices: list[str]
    state: dict[str, dict[str, Any]]
    mark: FileMark | None
    spent: float = 0.0


async def read_turns(
    reader: AgentReader,
    entry: CatalogEntry,
    place: Session,
    conversation_id: str,
    env: dict[str, str],
    settings: Settings,
    redactor: Redactor,
) -> ReadTurns:
    """Reads a conversation. What exceeds the largest transcript is left out, the oldest turns first."""
    data, limit = settings.data_path, settings.max_transcript
    path = await asyncio.to_thread(history_files.find_file, entry, env, data, conversation_id, user=False)
    # Before the conversation is read: what is added meanwhile is noticed later.
    mark = history_files.mark_of(path) if path is not None else None
    if entry.conversations.text is not None:
        turns, left_out, is_cut = await asyncio.to_thread(file_turns, entry, path, limit, redactor)
        state: dict[str, dict[str, Any]] = {}
    else:
        collector = await reader.load(entry, place, conversation_id, env, limit)
        replayed = list(collector.turns)
        turns = await asyncio.to_thread(lambda: [fold_turn(entry, turn, redactor) for turn in replayed])
        left_out, is_cut, state = collector.left_out, collector.is_cut, collector.state
    counted = await asyncio.to_thread(history_files.count_tokens, entry, path) if path is not None else []
    _add_tokens(turns, counted)
    notices: list[str] = []
    if left_out:
        notices.append(f"The conversation is larger than a transcript may be; its first {left_out} turns are left out.")
    if is_cut:
        notices.append("A turn of the conversation is larger than a transcript may be; its end is left out.")
    state = {kind: update for kind, update in state.items() if kind in ("usage_update", "session_info_update")}
    return ReadTurns(turns, notices, state, mark, stated_cost(state))


def _add_tokens(turns: list[FoldedTurn], counted: list[Tokens]) -> None:
    """Gives each turn its tokens. If the file counts other turns than the agent replays, the last one gets all."""
    if not turns or not any(counted):
        return
    if len(counted) >= len(turns):
        counted = counted[-len(turns) :] if len(counted) == len(turns) else [*_merged(counted, len(turns))]
        for turn, tokens in zip(turns, counted, strict=True):
            turn.usage = tokens
    else:
        turns[-1].usage = _merged(counted, 1)[0]


def _merged(counted: list[Tokens], number: int) -> list[Tokens]:
    """Returns the last so many counts; the last one also holds those of all others."""
    last = counted[len(counted) - number :]
    total = dict(last[-1])
    for tokens in counted[: len(counted) - number]:
        for name, value in tokens.items():
            total[name] = total.get(name, 0) + value
    return [*last[:-1], total]


def stated_cost(state: dict[str, dict[str, Any]]) -> float:
    """Returns what a conversation has cost by its agent's own words, as far as costs are counted."""
    cost: Any = state.get("usage_update", {}).get("cost")
    amount: Any = cast("dict[str, Any]", cost).get("amount") if isinstance(cost, dict) else None
    # An agent may state any number, also one that no float can hold.
    return float(min(max(amount, 0), MOST_COST)) if isinstance(amount, int | float) else 0.0
