"""Which settings of an agent a session wants now (P1, P2): those of its mode, or the most careful ones while people
have rules that restrict it, so that the agent asks and the rules are applied. The settings are the catalog's."""

from __future__ import annotations

from bough.agents.catalog import CatalogEntry
from bough.agents.catalog.entry import ModeSettings
from bough.core.store.sql import RULES
from bough.core.turns.agent_settings import Move
from bough.model.rule import Rule
from bough.model.session import Session
from bough.storage.backend import Tx


async def is_strict(tx: Tx, agent: str) -> bool:
    """Whether there are rules that an agent could break by not asking."""
    rules = await tx.all(RULES.all, Rule)
    return any(rule.effect != "allow" and rule.agent in (None, agent) for rule in rules)


async def wanted(tx: Tx, entry: CatalogEntry, session: Session) -> ModeSettings:
    """The settings that a session's agent is to have."""
    return entry.mode(session.permission_mode, await is_strict(tx, entry.name))


async def may_move(tx: Tx, entry: CatalogEntry, session: Session, move: Move) -> bool:
    """Whether an agent may keep what it has set by itself: a mode that grants no more, and never what is pinned."""
    if move.option is not None:
        return False
    return entry.may_be_in(str(move.value), session.permission_mode, await is_strict(tx, entry.name))
