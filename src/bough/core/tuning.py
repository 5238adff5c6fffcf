"""How an agent is set in one conversation: its mode, its model, its effort; brought to what the session wants and held
there. Which mode of the agent's stands for which of ours says the catalog."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from bough.agents.acp.answers import SessionOpened, read_config_options
from bough.agents.acp.client import AgentClient
from bough.agents.acp.wire import Update
from bough.agents.catalog import Entry
from bough.agents.errors import AgentRefused
from bough.errors import AgentFailed
from bough.model.session import Session

# Updates in which an agent says how it is set.
CONFIGURED = frozenset({"current_mode_update", "config_option_update"})

Value = str | bool | None


class Known(msgspec.Struct):
    """What outlives the server: whether an agent has modes, and its options with the values that they began with."""

    has_modes: bool
    options: dict[str, Value]


class Tuning:
    """The settings of one conversation, as far as the agent has told them; what it has not told is set again."""

    def __init__(self, entry: Entry) -> None:
        self._entry = entry
        self._mode: str | None = None
        # Whether it said so itself since it was last told to be in one.
        self._has_told = False
        self._model: str | None = None
        self._options: dict[str, Value] = {}
        self._initial: dict[str, Value] = {}
        # What can be chosen, as far as the agent of this process has told it.
        self._choices: dict[str, list[str]] = {}

    def opened(self, opened: SessionOpened) -> Known:
        """The agent has opened the conversation, and said how it is set."""
        self._mode = opened.modes.current_mode_id if opened.modes else None
        self._options = {option.id: option.current for option in opened.config_options}
        self._initial = dict(self._options)
        self._choices = {option.id: [one.value for one in option.choices] for option in opened.config_options}
        told: Any = msgspec.json.decode(opened.models) if len(bytes(opened.models)) else None
        if isinstance(told, dict):
            told = cast("dict[str, Any]", told)
            self._model = str(told.get("currentModelId") or "")
            self._initial["models"] = self._model
            self._choices["models"] = _model_ids(told.get("availableModels"))
        return Known(self._mode is not None, self._initial)

    def take_up(self, known: Known) -> None:
        """An earlier server has opened the conversation: how it is set now is not known."""
        self._mode = "" if known.has_modes else None
        self._initial = dict(known.options)
        self._model = "" if "models" in known.options else None
        self._options = dict.fromkeys(name for name in known.options if name != "models")

    def told(self, update: Update) -> str | None:
        """The agent says how it is set; gives back the mode, if it is another one now."""
        body: dict[str, Any] = msgspec.json.decode(update.raw)
        before = self.mode
        if update.kind == "current_mode_update":
            mode = body.get("currentModeId")
            if not isinstance(mode, str):
                return None
            self._mode, self._has_told = mode, True
            if self._entry.mode_option in self._options:
                self._options[str(self._entry.mode_option)] = mode
        else:
            self._options |= {option.id: option.current for option in read_config_options(body.get("configOptions"))}
        return self.mode if self.mode != before else None

    @property
    def mode(self) -> str | None:
        """The mode that the agent is in; nothing if it has none."""
        option = self._entry.mode_option
        if option in self._options:
            value = self._options[str(option)]
            return value if isinstance(value, str) else ""
        return self._mode

    async def set_mode(self, client: AgentClient, agent_session: str, wanted: str) -> None:
        """Brings the agent into a mode; AgentFailed if it then says that it is in another, or has none (P2)."""
        if not wanted or self.mode == wanted:
            return
        option = self._entry.mode_option
        if option in self._options:
            await self._set(client, agent_session, str(option), wanted)
        elif self._mode is not None:
            self._has_told = False
            await client.set_mode(agent_session, wanted)
            # What the agent says itself counts more than that it did not refuse.
            if not self._has_told:
                self._mode = wanted
        self.check_mode(wanted)

    def check_mode(self, wanted: str) -> None:
        """AgentFailed if the agent is in another mode than it is to be in; one that has not said is not doubted."""
        mode = self.mode
        if not wanted or mode in (wanted, ""):
            return
        state = "knows no modes" if mode is None else f"stays in {mode!r}"
        raise AgentFailed(
            "mode_not_taken",
            f"{self._entry.title} was told to work in its mode {wanted!r} and {state}: it would have other rights than "
            "the session gives it.",
            wanted=wanted,
            mode=mode,
        )

    async def set_choices(self, client: AgentClient, agent_session: str, session: Session) -> None:
        """Brings model and effort to what the session says; what it leaves to the agent is as it was at first."""
        for what, option, value in (
            ("model", self._entry.model_option, session.model),
            ("effort", self._entry.effort_option, session.effort),
        ):
            if option not in self._options:
                continue
            wanted = self._initial.get(option) if value is None else value
            if wanted is not None and self._options[option] != wanted:
                try:
                    await self._set(client, agent_session, option, wanted)
                except AgentRefused as error:
                    raise self._not_offered(what, str(wanted), option) from error
        if self._entry.model_option is None and self._model is not None:
            await self._set_model(client, agent_session, session.model or str(self._initial.get("models") or ""))

    async def _set_model(self, client: AgentClient, agent_session: str, wanted: str) -> None:
        """The older way to choose a model, in which an agent takes any name and fails with it later."""
        if not wanted or wanted == self._model:
            return
        offered = self._choices.get("models")
        if offered and wanted not in offered and wanted != self._initial.get("models"):
            raise self._not_offered("model", wanted, "models")
        await client.set_model(agent_session, wanted)
        self._model = wanted

    def _not_offered(self, what: str, wanted: str, option: str) -> AgentFailed:
        offered = ", ".join(self._choices.get(option, []))
        sentence = f"{self._entry.title} does not take {wanted!r} as its {what}."
        if offered:
            sentence += f" It offers: {offered}."
        return AgentFailed("agent_choice", sentence, agent=self._entry.name, wanted=wanted)

    async def _set(self, client: AgentClient, agent_session: str, option: str, value: str | bool) -> None:
        current = await client.set_config_option(agent_session, option, value)
        self._options = {one.id: one.current for one in current}
        self._choices |= {one.id: [choice.value for choice in one.choices] for one in current}


def _model_ids(offered: Any) -> list[str]:
    items = cast("list[Any]", offered) if isinstance(offered, list) else []
    return [str(cast("dict[str, Any]", one).get("modelId")) for one in items if isinstance(one, dict)]
