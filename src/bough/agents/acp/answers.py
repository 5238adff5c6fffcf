"""Reads the parts of an agent's answers that Bough uses. A missing or malformed field counts as absent.

Answers keep their encoded form in `raw`, so that unknown fields stay reachable.
"""

from typing import Any, TypeVar, cast

import msgspec
from msgspec import Raw, Struct

Json = dict[str, Any]
_T = TypeVar("_T")


class Capabilities(Struct, frozen=True, kw_only=True):
    """The capabilities that an agent announces, whether by a flag, an empty object or not at all."""

    load: bool = False
    resume: bool = False
    fork: bool = False
    list: bool = False
    close: bool = False
    delete: bool = False
    http: bool = False
    sse: bool = False
    image: bool = False
    audio: bool = False
    embedded_context: bool = False
    system_prompt: bool = False
    additional_directories: bool = False


class Initialized(Struct, frozen=True):
    """The answer to initialize."""

    protocol_version: int | None
    capabilities: Capabilities
    name: str
    """The name that the agent gives itself, or an empty string."""
    version: str
    auth_methods: list[Json]
    raw: Raw


class OfferedMode(Struct, frozen=True):
    """A mode of the agent's own."""

    id: str
    name: str = ""
    description: str | None = None


class SessionModes(Struct, frozen=True, rename="camel"):
    """The modes that an agent offers in a session, and the current one."""

    current_mode_id: str
    available_modes: list[OfferedMode] = []


class OptionValue(Struct, frozen=True):
    """A value that a config option can take."""

    value: str
    name: str = ""


class ConfigOption(Struct, frozen=True):
    """A setting of a session: one of several choices, or a switch (`type` "boolean", no choices)."""

    id: str
    name: str
    type: str
    category: str | None
    current: str | bool | None
    choices: list[OptionValue]


class SessionOpened(Struct, frozen=True):
    """The answer to session/new, session/load, session/resume and session/fork."""

    session_id: str
    modes: SessionModes | None
    config_options: list[ConfigOption]
    models: Raw
    """Models in the older form outside the protocol; empty if the agent does not use it."""
    raw: Raw


class Usage(Struct, frozen=True, rename="camel"):
    """Tokens as the agent counts them. Agents differ in whether they count per turn, session or call."""

    total_tokens: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    thought_tokens: int | None = None
    cached_read_tokens: int | None = None
    cached_write_tokens: int | None = None


class ListedConversation(Struct, frozen=True):
    """A conversation that the agent holds."""

    session_id: str
    cwd: str
    title: str
    updated_at: str | None


class SessionPage(Struct, frozen=True):
    """The answer to session/list: some conversations, and the cursor of the next ones."""

    sessions: list[ListedConversation]
    next_cursor: str | None


class PromptResult(Struct, frozen=True):
    """The end of a turn."""

    stop_reason: str
    usage: Usage | None
    raw: Raw


def read_initialized(raw: Raw) -> Initialized:
    """Reads the answer to initialize."""
    answer = _object(_decode(raw))
    version, info = answer.get("protocolVersion"), _object(answer.get("agentInfo"))
    return Initialized(
        protocol_version=version if type(version) is int else None,
        capabilities=_capabilities(_object(answer.get("agentCapabilities"))),
        name=_text(info.get("name")),
        version=_text(info.get("version")),
        auth_methods=_objects(answer.get("authMethods")),
        raw=raw,
    )


def read_session(raw: Raw, session_id: str) -> SessionOpened:
    """Reads the answer to the opening of a session. Load and resume do not repeat its id, so the caller passes it."""
    answer = _object(_decode(raw))
    models = answer.get("models")
    return SessionOpened(
        session_id=_text(answer.get("sessionId")) or session_id,
        modes=read_modes(answer.get("modes")),
        config_options=read_config_options(answer.get("configOptions")),
        models=Raw(msgspec.json.encode(models)) if models is not None else Raw(),
        raw=raw,
    )


def read_session_page(raw: Raw) -> SessionPage:
    """Reads the answer to session/list. Leaves out conversations without an id or a folder."""
    answer = _object(_decode(raw))
    sessions = [
        ListedConversation(session_id, cwd, _text(entry.get("title")), _text(entry.get("updatedAt")) or None)
        for entry in _objects(answer.get("sessions"))
        if (session_id := _text(entry.get("sessionId"))) and (cwd := _text(entry.get("cwd")))
    ]
    return SessionPage(sessions, _text(answer.get("nextCursor")) or None)


def read_prompt(raw: Raw) -> PromptResult:
    """Reads the answer to session/prompt."""
    answer = _object(_decode(raw))
    usage = _convert(answer.get("usage"), Usage) or _quota(answer)
    return PromptResult(stop_reason=_text(answer.get("stopReason")), usage=usage, raw=raw)


def read_outcome(raw: Raw) -> str:
    """Reads the outcome of a prompt that was put into a running turn; an empty text if the agent names none."""
    return _text(_object(_decode(raw)).get("outcome"))


def _quota(answer: Json) -> Usage | None:
    """Reads tokens from `_meta.quota`, for agents that do not use the protocol's own field."""
    quota = _object(_object(answer.get("_meta")).get("quota"))
    counted = _object(quota.get("token_count"))
    input_tokens, output_tokens = counted.get("input_tokens"), counted.get("output_tokens")
    if type(input_tokens) is not int or type(output_tokens) is not int:
        return None
    total = input_tokens + output_tokens
    return Usage(total_tokens=total, input_tokens=input_tokens, output_tokens=output_tokens)


def read_modes(value: Any) -> SessionModes | None:
    """Reads the `modes` of an answer."""
    return _convert(value, SessionModes)


def read_config_options(value: Any) -> list[ConfigOption]:
    """Reads the `configOptions` of an answer or a config_option_update. Skips options without an id."""
    return [
        ConfigOption(
            id=item["id"],
            name=_text(item.get("name")) or item["id"],
            type=_text(item.get("type")) or "select",
            category=_text(item.get("category")) or None,
            current=current if isinstance(current := item.get("currentValue"), str | bool) else None,
            choices=_choices(_objects(item.get("options"))),
        )
        for item in _objects(value)
        if _text(item.get("id"))
    ]


def _choices(items: list[Json]) -> list[OptionValue]:
    """Reads the values of an option, and flattens groups of values."""
    choices: list[OptionValue] = []
    for item in items:
        if "options" in item:
            choices += _choices(_objects(item["options"]))
        elif choice := _convert(item, OptionValue):
            choices.append(choice)
    return choices


def _capabilities(announced: Json) -> Capabilities:
    session = _object(announced.get("sessionCapabilities"))
    mcp = _object(announced.get("mcpCapabilities"))
    prompt = _object(announced.get("promptCapabilities"))
    return Capabilities(
        load=_has(announced, "loadSession"),
        resume=_has(session, "resume"),
        fork=_has(session, "fork"),
        list=_has(session, "list"),
        close=_has(session, "close"),
        delete=_has(session, "delete"),
        http=_has(mcp, "http"),
        sse=_has(mcp, "sse"),
        image=_has(prompt, "image"),
        audio=_has(prompt, "audio"),
        embedded_context=_has(prompt, "embeddedContext"),
        system_prompt=_has(session, "systemPrompt"),
        additional_directories=_has(session, "additionalDirectories"),
    )


def _has(announced: Json, name: str) -> bool:
    return announced.get(name) not in (None, False)


def _decode(raw: Raw) -> Any:
    return msgspec.json.decode(raw)


def _convert(value: Any, kind: type[_T]) -> _T | None:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return None


def _object(value: Any) -> Json:
    return cast("Json", value) if isinstance(value, dict) else {}


def _objects(value: Any) -> list[Json]:
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return [cast("Json", item) for item in items if isinstance(item, dict)]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
