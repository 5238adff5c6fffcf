"""The rows of `keepers`: which keeper owns a session's agent, and what the agent can do."""

from __future__ import annotations

import msgspec

from bough.core.live_agents.agent import Agent, OpenedConversation
from bough.core.live_agents.agent_settings import Value, with_offered
from bough.core.live_agents.offers import note_session
from bough.core.store import records
from bough.core.store.sql import KEEPERS, SESSIONS
from bough.core.store.transactions import Change
from bough.model.message import raw


class Keeper(msgspec.Struct):
    """A row of `keepers`: the keeper of a session's agent, how much of its output is stored, and its start settings."""

    id: str
    session_id: str
    ready: bool
    stored: int
    has_modes: bool
    options: msgspec.Raw
    needs_history: bool
    made_of: str
    created_at: str
    token_hash: str | None
    takes_images: bool
    takes_resources: bool
    # The secret values that the agent was started with, and the ends of messages that may become one of them.
    secrets: msgspec.Raw
    withheld: msgspec.Raw


def known_options(keeper: Keeper) -> dict[str, Value]:
    """Decodes an agent's options with their initial values; an older Bough stored only their names."""
    try:
        return msgspec.json.decode(keeper.options, type=dict[str, Value])
    except msgspec.ValidationError:
        return dict.fromkeys(msgspec.json.decode(keeper.options, type=list[str]))


async def store_ready(change: Change, agent: Agent, opened: OpenedConversation, *, usual: bool) -> None:
    """Stores that an agent has opened its conversation, with what it accepts and the options that it offers. With
    `usual`, the session has no variables of its own, so that every new session of the agent is offered the same."""
    await change.tx.run(
        KEEPERS.ready,
        id=agent.keeper_id,
        stored=agent.recorder.last,
        has_modes=opened.known.has_modes,
        options=raw(opened.known.options),
        needs_history=bool(agent.preface),
        takes_images=opened.takes.images,
        takes_resources=opened.takes.resources,
    )
    await change.tx.run(SESSIONS.set_agent_session, id=agent.session_id, agent_session_id=opened.agent_session_id)
    if opened.offer is None:
        return
    if usual:
        await note_session(change, agent.entry.name, opened.offer)
    if opened.offer.options:
        session = await records.session(change.tx, agent.session_id)
        fresh = with_offered(session.metadata.offered_options, opened.offer.options)
        if fresh is not None:
            await records.update_session(change, session.id, config_options=raw(fresh))
