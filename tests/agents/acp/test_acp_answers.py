"""Reading an agent's answers: the forms that real agents use, and malformed ones."""

import msgspec
from msgspec import Raw

from bough.agents.acp.answers import (
    Capabilities,
    ConfigOption,
    OfferedMode,
    OptionValue,
    SessionModes,
    Usage,
    read_initialized,
    read_prompt,
    read_session,
)


def raw(value: object) -> Raw:
    return Raw(msgspec.json.encode(value))


def test_capabilities_as_claude_announces_them() -> None:
    """C1: Empty objects and flags both mean yes."""
    answer = raw(
        {
            "protocolVersion": 1,
            "agentCapabilities": {
                "_meta": {"claudeCode": {"promptQueueing": True}},
                "promptCapabilities": {"image": True, "embeddedContext": True},
                "mcpCapabilities": {"http": True, "sse": True},
                "loadSession": True,
                "sessionCapabilities": {"close": {}, "delete": {}, "fork": {}, "list": {}, "resume": {}},
            },
            "agentInfo": {"name": "claude-agent-acp", "version": "0.99.0"},
            "authMethods": [],
            "_meta": {"steering": {"supported": True}},
        }
    )
    initialized = read_initialized(answer)
    assert initialized.capabilities == Capabilities(
        load=True,
        resume=True,
        fork=True,
        list=True,
        close=True,
        delete=True,
        http=True,
        sse=True,
        image=True,
        audio=False,
        embedded_context=True,
    )
    assert (initialized.name, initialized.version, initialized.auth_methods) == ("claude-agent-acp", "0.99.0", [])
    assert msgspec.json.decode(initialized.raw)["_meta"] == {"steering": {"supported": True}}


def test_a_missing_capability_is_not_offered() -> None:
    """C1: Null, false, a missing field and a field of the wrong type all mean no."""
    odd = {
        "protocolVersion": "1",
        "agentCapabilities": {
            "loadSession": False,
            "sessionCapabilities": {"fork": None, "resume": False},
            "mcpCapabilities": "http",
        },
        "agentInfo": None,
        "authMethods": [{"id": "login", "name": "Log in"}, 7],
    }
    initialized = read_initialized(raw(odd))
    assert initialized.capabilities == Capabilities()
    assert initialized.protocol_version is None
    assert initialized.auth_methods == [{"id": "login", "name": "Log in"}]
    assert read_initialized(Raw(b"null")).capabilities == Capabilities()


def test_modes_and_options_of_a_session() -> None:
    """C1: Modes, choices (grouped or not), switches and the older `models` are all found."""
    answer = {
        "sessionId": "s1",
        "modes": {
            "currentModeId": "plan",
            "availableModes": [{"id": "plan", "name": "Plan", "description": None}, {"id": "auto"}],
        },
        "configOptions": [
            {
                "id": "model",
                "name": "Model",
                "category": "model",
                "type": "select",
                "currentValue": "opus[1m]",
                "options": [
                    {"group": "g", "name": "Large", "options": [{"value": "opus[1m]", "name": "Opus"}]},
                    {"value": "haiku"},
                ],
            },
            {"id": "fast", "name": "Fast", "type": "boolean", "currentValue": True},
            {"name": "without an id"},
            5,
        ],
        "models": {"currentModelId": "x"},
    }
    opened = read_session(raw(answer), "")
    assert opened.session_id == "s1"
    assert opened.modes == SessionModes("plan", [OfferedMode("plan", "Plan"), OfferedMode("auto")])
    assert opened.config_options == [
        ConfigOption(
            "model", "Model", "select", "model", "opus[1m]", [OptionValue("opus[1m]", "Opus"), OptionValue("haiku")]
        ),
        ConfigOption("fast", "Fast", "boolean", None, True, []),
    ]
    assert msgspec.json.decode(opened.models) == {"currentModelId": "x"}


def test_a_load_may_answer_null() -> None:
    """C1: Load and resume answer without the id, some agents with nothing at all."""
    opened = read_session(Raw(b"null"), "known")
    assert (opened.session_id, opened.modes, opened.config_options) == ("known", None, [])
    assert bytes(opened.models) == b""


def test_the_end_of_a_turn() -> None:
    """R3: The stop reason and the tokens; odd tokens do not spoil the end of a turn."""
    ended = read_prompt(raw({"stopReason": "end_turn", "usage": {"totalTokens": 9, "inputTokens": 7}}))
    assert (ended.stop_reason, ended.usage) == ("end_turn", Usage(total_tokens=9, input_tokens=7))
    assert read_prompt(raw({"stopReason": "cancelled", "usage": {"totalTokens": "many"}})).usage is None
    assert read_prompt(raw({"stopReason": "refusal"})).usage is None
