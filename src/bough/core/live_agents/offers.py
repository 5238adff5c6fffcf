"""Stores what agents offer in a new session (`agent_offers`): models, efforts, their own modes and slash commands.
A check of the agent reports all of it, a session everything but commands, which can be those of its repository."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from bough.agents.acp.answers import OptionValue, SessionOpened, read_config_options
from bough.agents.catalog import CatalogEntry
from bough.core.live_agents.agent_settings import MOST_OFFERED, offered
from bough.core.store.sql import AGENT_OFFERS
from bough.core.store.transactions import Change
from bough.model.agents.offer import OfferedCommand, OfferedOwnMode, OfferedValue, OfferSource
from bough.model.message import raw
from bough.model.values.visible import visible
from bough.storage.backend import Tx

LONGEST_NAME = 200
"""Characters of a name that an agent offers. A longer identifier is left out, because it could not be chosen."""
LONGEST_DESCRIPTION = 500


class Offer(msgspec.Struct, frozen=True):
    """Holds what an agent offers: options in the form of the protocol, modes and commands."""

    version: str
    options: list[dict[str, Any]]
    modes: list[OfferedOwnMode]
    commands: list[OfferedCommand]


class OfferRow(msgspec.Struct):
    """A row of `agent_offers`."""

    agent: str
    version: str
    options: msgspec.Raw
    modes: msgspec.Raw
    commands: msgspec.Raw
    source: OfferSource
    error_code: str | None
    error: str | None
    checked_at: str

    def values(self, category: str) -> tuple[list[OfferedValue], str | None]:
        """Returns the values of an option, and the one without a choice."""
        for option in read_config_options(msgspec.json.decode(self.options)):
            if option.category == category:
                values = [OfferedValue(choice.value, choice.name) for choice in option.choices]
                return values, option.current if isinstance(option.current, str) else None
        return [], None

    @property
    def known(self) -> bool:
        """Whether the agent has ever said what it offers."""
        return self.error_code is None or bytes(self.modes) != b"[]" or bytes(self.options) != b"[]"


def read_offer(entry: CatalogEntry, version: str, opened: SessionOpened, commands: Any = None) -> Offer:
    """Reads what an agent offers from the answer to the opening of a session, and from its list of commands."""
    return Offer(version, _plain_options(offered(entry, opened)), own_modes(entry, opened), _commands(commands))


def own_modes(entry: CatalogEntry, opened: SessionOpened) -> list[OfferedOwnMode]:
    """Returns the modes that the agent offers, as a configuration option or as modes."""
    for option in opened.config_options:
        if option.id == entry.mode_option:
            return [OfferedOwnMode(choice.value, _text(choice.name)) for choice in _usable(option.choices)]
    modes = opened.modes.available_modes if opened.modes else []
    usable = [mode for mode in modes[:MOST_OFFERED] if _is_name(mode.id)]
    return [OfferedOwnMode(mode.id, _text(mode.name)) for mode in usable]


def _plain_options(options: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the options without values that could not be chosen, and with names that people can read."""
    for option in options:
        listed = [value for value in option["options"] if _is_name(value["value"])]
        option["options"] = [{"value": value["value"], "name": _text(value["name"])} for value in listed]
        if not isinstance(option["currentValue"], str) or not _is_name(option["currentValue"]):
            option["currentValue"] = None
        option["name"] = _text(option["name"])
    return [option for option in options if option["options"] and _is_name(option["id"])]


def _usable(choices: list[OptionValue]) -> list[OptionValue]:
    return [choice for choice in choices[:MOST_OFFERED] if _is_name(choice.value)]


def _commands(value: Any) -> list[OfferedCommand]:
    items = cast("list[Any]", value) if isinstance(value, list) else []
    commands: list[OfferedCommand] = []
    for item in items[:MOST_OFFERED]:
        fields = cast("dict[str, Any]", item) if isinstance(item, dict) else {}
        name, description = fields.get("name"), fields.get("description")
        if isinstance(name, str) and _is_name(name):
            described = _text(description, LONGEST_DESCRIPTION) if isinstance(description, str) else ""
            commands.append(OfferedCommand(name, described))
    return commands


def _is_name(text: str) -> bool:
    return 0 < len(text) <= LONGEST_NAME and text == visible(text) and text.isprintable()


def _text(text: str, longest: int = LONGEST_NAME) -> str:
    return " ".join(visible(text).split())[:longest]


async def store_offer(change: Change, agent: str, offer: Offer) -> None:
    """Stores what a check of an agent found."""
    await change.tx.run(
        AGENT_OFFERS.put,
        agent=agent,
        version=offer.version,
        options=raw(offer.options),
        modes=raw(offer.modes),
        commands=raw(offer.commands),
        source="check",
        now=change.now,
    )


async def store_failure(change: Change, agent: str, version: str, code: str, message: str) -> None:
    """Stores why an agent could not be asked."""
    await change.tx.run(
        AGENT_OFFERS.fail,
        agent=agent,
        version=version,
        options=raw([]),
        modes=raw([]),
        commands=raw([]),
        source="check",
        error_code=code,
        error=message,
        now=change.now,
    )


async def note_session(change: Change, agent: str, offer: Offer) -> None:
    """Stores what the agent of a session has offered, if that differs from what is known. Commands stay as they are."""
    if not offer.options and not offer.modes:
        return
    row = await read_row(change.tx, agent)
    commands: Any = msgspec.json.decode(row.commands) if row is not None else []
    if row is not None and row.error_code is None and row.version == offer.version:
        same_modes = msgspec.json.decode(row.modes, type=list[OfferedOwnMode]) == offer.modes
        if same_modes and _choices(msgspec.json.decode(row.options)) == _choices(offer.options):
            return
    await change.tx.run(
        AGENT_OFFERS.put,
        agent=agent,
        version=offer.version,
        options=raw(offer.options),
        modes=raw(offer.modes),
        commands=raw(commands),
        source="session",
        now=change.now,
    )


def _choices(options: Any) -> list[tuple[str, list[OptionValue]]]:
    return [(option.id, option.choices) for option in read_config_options(options)]


async def read_row(tx: Tx, agent: str) -> OfferRow | None:
    return await tx.one(AGENT_OFFERS.get, OfferRow, agent=agent)


async def known_options(tx: Tx, agent: str) -> msgspec.Raw | None:
    """Returns the options that a new session of an agent starts with; None if nothing is known about it."""
    row = await read_row(tx, agent)
    return row.options if row is not None and bytes(row.options) != b"[]" else None
