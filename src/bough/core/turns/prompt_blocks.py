"""Builds what an agent is sent for a task: notes, files, then the prompt. A server that continues an attempt builds the
same."""

from __future__ import annotations

from bough.agents.acp.types import Block, TextBlock
from bough.core.approvals import ask
from bough.core.live_agents.agent import Agent
from bough.core.live_agents.prompt_files import PromptFiles, prompt_files
from bough.core.state import steering
from bough.core.state.reports import callbacks, quote_sessions
from bough.core.store.sql import LIMITS
from bough.core.transcripts import agent_notes
from bough.core.turns.continuation_prompt import continuation
from bough.model.task import Task
from bough.storage.backend import Tx


async def files_for(tx: Tx, agent: Agent, task: Task) -> PromptFiles:
    """Returns the files of a prompt in the form that the agent accepts."""
    return await prompt_files(tx, task.id, agent.takes, agent.entry.title)


async def prompt_blocks(tx: Tx, task: Task, attached: PromptFiles) -> list[Block]:
    """Builds the blocks of a task that is recorded as sent."""
    notes = [
        await ask.denial_notes(tx, task),
        *await agent_notes.delivered_with(tx, task),
        await callbacks.report_form(tx, task),
    ]
    notes_and_files: list[Block] = [*(TextBlock(text=note) for note in notes if note), *attached.blocks]
    if task.sent_before or task.steers_task_id is not None:
        met_limit = await tx.value(LIMITS.met_limit, task_id=task.id, attempt=task.sent_before)
        steered = await steering.taken_in(tx, task)
        return [*notes_and_files, *continuation(task, steered, after_limit=bool(met_limit))]
    if task.source == "callback":
        return [
            *notes_and_files,
            TextBlock(text=task.prompt),
            TextBlock(text=callbacks.GO_ON if task.source_session_id else callbacks.DECIDED),
        ]
    if task.source_session_id is not None:
        notes_and_files.append(TextBlock(text=quote_sessions.from_session(task.source_session_id)))
    return [*notes_and_files, TextBlock(text=task.prompt)]


def steering_blocks(task: Task, attached: PromptFiles) -> list[Block]:
    """Builds the blocks of a prompt that is put into a running turn."""
    blocks: list[Block] = [*attached.blocks]
    if task.source_session_id is not None:
        blocks.append(TextBlock(text=quote_sessions.from_session(task.source_session_id)))
    return [*blocks, TextBlock(text=task.prompt)]
