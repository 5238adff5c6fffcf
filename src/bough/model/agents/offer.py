"""Defines what an agent offers in a new session: models, efforts, its own modes and slash commands."""

from __future__ import annotations

from typing import Literal

import msgspec

OfferSource = Literal["check", "session"]


class OfferedValue(msgspec.Struct, frozen=True):
    """A model or effort that can be chosen."""

    value: str
    name: str = ""


class OfferedOwnMode(msgspec.Struct, frozen=True):
    """A mode of the agent's own."""

    id: str
    name: str = ""


class OfferedCommand(msgspec.Struct, frozen=True):
    """A slash command of the agent's own."""

    name: str
    description: str = ""


class OfferError(msgspec.Struct, frozen=True):
    """Why an agent could not be asked, and what to do."""

    code: str
    message: str


class AgentOffer(msgspec.Struct, rename="camel"):
    """Lists what an agent offers, as far as Bough knows."""

    agent: str
    # The version that was asked, and the installed one; empty if unknown.
    version: str
    installed_version: str
    # Whether the installed version has been asked, successfully or not.
    current: bool
    # Whether it is being asked now.
    checking: bool
    models: list[OfferedValue]
    efforts: list[OfferedValue]
    # The values without a choice.
    default_model: str | None
    default_effort: str | None
    modes: list[OfferedOwnMode]
    commands: list[OfferedCommand]
    # Whether a check or a session of the agent reported this; null if nothing is known.
    source: OfferSource | None
    error: OfferError | None
    checked_at: str | None
