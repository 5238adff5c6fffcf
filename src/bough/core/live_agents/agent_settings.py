"""Keeps the settings of an agent in one conversation as the session wants them: mode, pinned options, model and effort.
The catalog maps Bough's modes to the agent's settings."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from bough.agents.acp.answers import SessionOpened, read_config_options
from bough.agents.acp.client import AgentClient
from bough.agents.acp.wire import SessionUpdate
from bough.agents.catalog import CatalogEntry
from bough.agents.catalog.entry import ModeSettings
from bough.agents.errors import AgentRefused
from bough.core.store.sql import RULES
from bough.errors import AgentFailed
from bough.model.rule import Rule
from bough.model.session import Session
from bough.model.values.ids import new_id
from bough.storage.backend import Tx

# Updates in which an agent reports its settings.
CONFIGURED = frozenset({"current_mode_update", "config_option_update"})

# How many values of an option are stored; some agents offer every model of every provider.
MOST_OFFERED = 300

# Seconds for an agent to answer after an error. It has nothing else to do then.
PROBE_TIMEOUT = 5.0

Value = str | bool | None


class KnownSettings(msgspec.Struct):
    """The settings stored with the keeper: whether an agent has modes, and its options with their initial values."""

    has_modes: bool
    options: dict[str, Value]


class SettingChange(msgspec.Struct, frozen=True):
    """A change that an agent made to its own rights: to its mode, or to a pinned option."""

    value: Value
    option: str | None = None

    def __str__(self) -> str:
        return f"went into its mode {self.value!r}" if self.option is None else f"set {self.option} to {self.value!r}"


class AgentSettings:
    """The settings of one conversation, as far as the agent has reported them; unknown ones are set again."""

    def __init__(self, entry: CatalogEntry) -> None:
        self._entry = entry
        self._mode: str | None = None
        # Whether the agent reported its mode since it was last set.
        self._mode_reported = False
        self._model: str | None = None
        self._options: dict[str, Value] = {}
        self._initial: dict[str, Value] = {}
        # The values that can be chosen, as far as this process of the agent has reported them.
        self._choices: dict[str, list[str]] = {}

    def opened(self, opened: SessionOpened) -> KnownSettings:
        """Takes the settings that the agent reported when it opened the conversation."""
        self._mode = opened.modes.current_mode_id if opened.modes else None
        self._options = {option.id: option.current for option in opened.config_options}
        self._initial = dict(self._options)
        self._choices = {option.id: [choice.value for choice in option.choices] for option in opened.config_options}
        models: Any = msgspec.json.decode(opened.models) if len(bytes(opened.models)) else None
        if isinstance(models, dict):
            models = cast("dict[str, Any]", models)
            self._model = str(models.get("currentModelId") or "")
            self._initial["models"] = self._model
            self._choices["models"] = _model_ids(models.get("availableModels"))
        return KnownSettings(self._mode is not None, self._initial)

    def resume(self, known: KnownSettings) -> None:
        """Starts with a conversation that an earlier server opened, whose current settings are unknown."""
        self._mode = "" if known.has_modes else None
        self._initial = dict(known.options)
        self._model = "" if "models" in known.options else None
        self._options = dict.fromkeys(name for name in known.options if name != "models")

    def observe(self, update: SessionUpdate) -> list[SettingChange]:
        """Takes the settings that the agent reports. Returns the changes to its rights: a new mode, and pinned options
        that have lost their value."""
        body: dict[str, Any] = msgspec.json.decode(update.raw)
        before, loose = self.mode, self._loose()
        if update.kind == "current_mode_update":
            mode = body.get("currentModeId")
            if not isinstance(mode, str):
                return []
            self._mode, self._mode_reported = mode, True
            if self._entry.mode_option in self._options:
                self._options[str(self._entry.mode_option)] = mode
        else:
            self._options |= {option.id: option.current for option in read_config_options(body.get("configOptions"))}
        moves = [SettingChange(self.mode)] if self.mode != before else []
        return [
            *moves,
            *(SettingChange(now, option) for option, now in self._loose().items() if loose.get(option) != now),
        ]

    def _loose(self) -> dict[str, Value]:
        """Returns the pinned options that have another value, as reported by the agent."""
        reported = {option: self._options.get(option) for option in self._entry.pinned_options}
        return {
            option: now for option, now in reported.items() if now not in (None, self._entry.pinned_options[option])
        }

    @property
    def mode(self) -> str | None:
        """The agent's current mode; None if it has no modes, empty if it is unknown."""
        option = self._entry.mode_option
        if option in self._options:
            value = self._options[str(option)]
            return value if isinstance(value, str) else ""
        return self._mode

    async def set_mode(self, client: AgentClient, agent_session: str, mode: str) -> None:
        """Sets the agent's mode; raises `AgentFailed` if it then reports another, or has none (P2)."""
        if not mode or self.mode == mode:
            return
        option = self._entry.mode_option
        if option in self._options:
            await self._set(client, agent_session, str(option), mode)
        elif self._mode is not None:
            self._mode_reported = False
            await client.set_mode(agent_session, mode)
            # A report of the agent counts more than the absence of an error.
            if not self._mode_reported:
                self._mode = mode
        self._check_mode(mode)

    async def probe(self, client: AgentClient, agent_session: str, mode: str) -> None:
        """Sets the mode that the agent already has, which shows whether it still knows the conversation. An agent
        without modes is asked for its capabilities instead. Raises `AgentFailed` if it does not answer well."""
        option = self._entry.mode_option
        if mode and option in self._options:
            await client.set_config_option(agent_session, str(option), mode, timeout=PROBE_TIMEOUT)
        elif mode and self._mode is not None:
            await client.set_mode(agent_session, mode, timeout=PROBE_TIMEOUT)
        else:
            # Every known agent answers this a second time and keeps its conversations.
            await client.initialize(PROBE_TIMEOUT, key=f"session/probe:{new_id()}")

    async def pin(self, client: AgentClient, agent_session: str) -> None:
        """Sets the pinned options; raises `AgentFailed` if one does not exist or keeps another value (P2)."""
        for option, value in self._entry.pinned_options.items():
            if self._options.get(option) == value:
                continue
            # Also if it is unknown: not every agent reports its options when it loads a conversation.
            try:
                await self._set(client, agent_session, option, value)
            except AgentRefused as error:
                raise self._not_taken(option, f"refuses that: {error.message}") from error
            if option not in self._options:
                raise self._not_taken(option, "has no such option")
        self._check_pinned()

    def check(self, mode: str) -> None:
        """Raises `AgentFailed` if the agent reports other rights than it should have."""
        self._check_mode(mode)
        self._check_pinned()

    def _check_mode(self, expected: str) -> None:
        mode = self.mode
        if not expected or mode in (expected, ""):
            return
        state = "knows no modes" if mode is None else f"stays in {mode!r}"
        raise AgentFailed(
            "mode_not_taken",
            f"{self._entry.title} was told to work in its mode {expected!r} but {state}: it would have other rights "
            "than the session gives it.",
            wanted=expected,
            mode=mode,
        )

    def _check_pinned(self) -> None:
        for option, now in self._loose().items():
            raise self._not_taken(option, f"keeps it at {now!r}")

    def _not_taken(self, option: str, state: str) -> AgentFailed:
        value = self._entry.pinned_options[option]
        return AgentFailed(
            "mode_not_taken",
            f"{self._entry.title} was told to set its option {option} to {value!r} but {state}: it could have other "
            "rights than the session gives it.",
            wanted=value,
            option=option,
        )

    async def set_choices(self, client: AgentClient, agent_session: str, session: Session) -> list[str]:
        """Sets model and effort as the session says; without a choice, to their initial values. Returns notices about
        choices that the agent has no setting for."""
        missing: list[str] = []
        for setting, option, value in (
            ("model", self._entry.model_option, session.model),
            ("effort", self._entry.effort_option, session.effort),
        ):
            if option not in self._options:
                if value is not None and (setting == "effort" or option is not None or self._model is None):
                    missing.append(self._no_setting(setting, option))
                continue
            to_set = self._initial.get(option) if value is None else value
            if to_set is not None and self._options[option] != to_set:
                try:
                    await self._set(client, agent_session, option, to_set)
                except AgentRefused as error:
                    raise self._not_offered(setting, str(to_set), option) from error
        if self._entry.model_option is None and self._model is not None:
            await self._set_model(client, agent_session, session.model or str(self._initial.get("models") or ""))
        return missing

    async def _set_model(self, client: AgentClient, agent_session: str, model: str) -> None:
        """Sets the model in the older way, in which an agent accepts any name and fails later."""
        if not model or model == self._model:
            return
        offered = self._choices.get("models")
        if offered and model not in offered and model != self._initial.get("models"):
            raise self._not_offered("model", model, "models")
        await client.set_model(agent_session, model)
        self._model = model

    def _no_setting(self, setting: str, option: str | None) -> str:
        when = " with this model" if option is not None and setting == "effort" else ""
        return f"{self._entry.title} has no setting for {setting}{when}; the session's choice is ignored."

    def _not_offered(self, setting: str, value: str, option: str) -> AgentFailed:
        offered = ", ".join(self._choices.get(option, []))
        sentence = f"{self._entry.title} does not take {value!r} as its {setting}."
        if offered:
            sentence += f" It offers: {offered}."
        return AgentFailed("agent_choice", sentence, agent=self._entry.name, wanted=value)

    async def _set(self, client: AgentClient, agent_session: str, option_id: str, value: str | bool) -> None:
        current = await client.set_config_option(agent_session, option_id, value)
        self._options = {option.id: option.current for option in current}
        self._choices |= {option.id: [choice.value for choice in option.choices] for option in current}


async def is_strict(tx: Tx, agent: str) -> bool:
    """Tells whether there are rules that an agent could break by not asking."""
    rules = await tx.all(RULES.all, Rule)
    return any(rule.effect != "allow" and rule.agent in (None, agent) for rule in rules)


async def wanted_mode(tx: Tx, entry: CatalogEntry, session: Session) -> ModeSettings:
    """Returns the settings for a session's mode; the most careful ones while rules restrict the agent, so that it asks
    and the rules are applied (P1, P2)."""
    return entry.mode(session.permission_mode, await is_strict(tx, entry.name))


def _model_ids(offered: Any) -> list[str]:
    items = cast("list[Any]", offered) if isinstance(offered, list) else []
    return [str(cast("dict[str, Any]", item).get("modelId")) for item in items if isinstance(item, dict)]


def offered(entry: CatalogEntry, opened: SessionOpened) -> list[dict[str, Any]]:
    """Returns the models and efforts that an agent offers, in the form of the protocol."""
    options = [
        _option(
            option.id, option.name, category, option.current, [(value.value, value.name) for value in option.choices]
        )
        for option in opened.config_options
        for category, name in (("model", entry.model_option), ("thought_level", entry.effort_option))
        if option.id == name and option.choices
    ]
    models: Any = msgspec.json.decode(opened.models) if len(bytes(opened.models)) else None
    if isinstance(models, dict) and not any(option["category"] == "model" for option in options):
        ids = _model_ids(cast("dict[str, Any]", models).get("availableModels"))
        if ids:
            options.append(_option("models", "Model", "model", None, [(model_id, model_id) for model_id in ids]))
    return options


def with_offered(stored: Any, offers: list[dict[str, Any]]) -> list[Any] | None:
    """Returns the stored options of a session, updated with those that its agent offers; None if nothing changed."""
    known = {option.id: option.choices for option in read_config_options(stored)}
    fresh = {option.id: option.choices for option in read_config_options(offers)}
    if all(known.get(name) == choices for name, choices in fresh.items()):
        return None
    before = cast("list[Any]", stored) if isinstance(stored, list) else []
    objects = [cast("dict[str, Any]", option) for option in before if isinstance(option, dict)]
    return [*(option for option in objects if option.get("id") not in fresh), *offers]


def _option(id: str, name: str, category: str, current: Value, values: list[tuple[str, str]]) -> dict[str, Any]:
    options = [{"value": value, "name": title or value} for value, title in values[:MOST_OFFERED]]
    return {
        "id": id,
        "name": name,
        "category": category,
        "type": "select",
        "currentValue": current,
        "options": options,
    }
