"""Lists the capabilities of the demo agent and the names that switch them off."""

from typing import Any

AGENT_INFO = {"name": "bough-demo", "title": "Bough demo agent", "version": "1.0.0"}

# The names that `--without` takes. A capability that is switched off is neither advertised nor available.
SWITCHES = {
    "load": "session/load",
    "resume": "session/resume",
    "fork": "session/fork",
    "list": "session/list",
    "close": "session/close",
    "delete": "session/delete",
    "modes": "modes and session/set_mode: every session is in mode default",
    "config": "config options and session/set_config_option",
    "usage": "usage_update and the usage of a prompt's answer",
    "commands": "available_commands_update and slash commands",
    "titles": "session_info_update, and titles in session/list",
    "message-ids": "messageId on chunks",
    "steering": "_session/steering",
    "images": "image blocks in prompts",
    "embedded": "embedded resources in prompts",
    "http": "MCP servers over http",
    "sse": "MCP servers over sse",
}

# The methods that exist only while their switch is on.
GATES = {
    "session/load": "load",
    "session/resume": "resume",
    "session/fork": "fork",
    "session/list": "list",
    "session/close": "close",
    "session/delete": "delete",
    "session/set_mode": "modes",
    "session/set_config_option": "config",
    "_session/steering": "steering",
}


class Features:
    """The capabilities that are switched on."""

    def __init__(self, without: frozenset[str] = frozenset()) -> None:
        unknown = without - SWITCHES.keys()
        if unknown:
            raise ValueError(f"unknown: {', '.join(sorted(unknown))}; choose from {', '.join(SWITCHES)}")
        self._on = SWITCHES.keys() - without

    def __contains__(self, switch: str) -> bool:
        return switch in self._on

    def capabilities(self) -> dict[str, Any]:
        """Returns the agentCapabilities of `initialize`."""
        sessions = ("list", "resume", "close", "delete", "fork")
        return {
            "loadSession": "load" in self,
            "promptCapabilities": {
                "image": "images" in self,
                "audio": False,
                "embeddedContext": "embedded" in self,
            },
            "mcpCapabilities": {"http": "http" in self, "sse": "sse" in self},
            "sessionCapabilities": {name: {} for name in sessions if name in self},
        }
