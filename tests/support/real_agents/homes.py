"""Creates the user's side of each agent: a private home with the files of a working login, and the environment with
which a Bough server makes its agents use a scripted model. It sets no permissions: those are Bough's, and under
test."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.real_agents.packages import bin_folder, node_program

Json = dict[str, object]

KEY = "sk-fake"
CODEX_MODEL = "gpt-5.5"
"""A model that Codex knows: for others it warns in every turn and offers no apply_patch, or expects tool calls in
code."""
GEMINI_MODEL = "gemini-2.5-pro"
"""A fixed model: otherwise Gemini asks a model which model to use."""

# Patterns for a developer's own logins, proxies and settings. IS_SANDBOX lets Claude bypass permissions as root.
_OWN = ("ANTHROPIC_", "CLAUDE", "OPENAI_", "CODEX_", "GEMINI_", "GOOGLE_", "OPENCODE", "COPILOT_", "QWEN_", "GITHUB_")
_OWN_NAMES = ("GH_TOKEN", "IS_SANDBOX", "INITIAL_AGENT_MODE", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NODE_OPTIONS")


@dataclass(frozen=True)
class Home:
    """A home folder, ready for use; `env` is added to the environment of a server or of an agent."""

    folder: Path
    env: dict[str, str]


def make_home(folder: Path, model_url: str, *names: str) -> Home:
    """Creates a home in which these agents are installed and logged in to the model."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [str(bin_folder(name)) for name in names]
    if node := node_program():
        # In a separate folder: node brings its own npm, which a user's PATH would not have.
        programs = _made(folder / "bin")
        (programs / "node").unlink(missing_ok=True)
        (programs / "node").symlink_to(node)
        paths.append(str(programs))
    env = {
        "HOME": str(folder),
        "PATH": os.pathsep.join([*paths, os.environ.get("PATH", os.defpath)]),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "XDG_CONFIG_HOME": str(folder / ".config"),
        "XDG_DATA_HOME": str(folder / ".local/share"),
        "XDG_STATE_HOME": str(folder / ".local/state"),
        "XDG_CACHE_HOME": str(folder / ".cache"),
        # Not the system's: Codex refuses to keep its sandbox helpers below the temporary folder, wherever that is.
        "TMPDIR": str(_made(folder / "tmp")),
        "NO_PROXY": "127.0.0.1,localhost",
    }
    for name in names:
        env |= _LOGINS[name](folder, model_url)
    return Home(folder, env)


def foreign_variables(environment: Mapping[str, str]) -> list[str]:
    """Returns the variables through which a developer's own setup would affect a test; unset them first."""
    return [name for name in environment if name.startswith(_OWN) or name.upper() in _OWN_NAMES]


def _claude_code(_home: Path, url: str) -> dict[str, str]:
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        # This offers MCP tools at once, not only after a search for them.
        "ENABLE_TOOL_SEARCH": "false",
    }


def _codex(home: Path, url: str) -> dict[str, str]:
    (_made(home / ".codex") / "config.toml").write_text(
        f"""\
model = "{CODEX_MODEL}"
model_provider = "fake"

[model_providers.fake]
name = "Fake"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "FAKE_API_KEY"
requires_openai_auth = false
request_max_retries = 1
stream_max_retries = 1

[analytics]
enabled = false
""",
        "utf-8",
    )
    return {"FAKE_API_KEY": KEY}


def _gemini(home: Path, url: str) -> dict[str, str]:
    settings: Json = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"disableAutoUpdate": True, "disableUpdateNag": True, "enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
    }
    _write(home / ".gemini/settings.json", settings)
    return {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_MODEL": GEMINI_MODEL}


def _opencode(home: Path, url: str) -> dict[str, str]:
    limit = {"context": 200_000, "output": 8192}
    cost = {"input": 1, "output": 2}
    provider: Json = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Fake",
        "options": {"baseURL": f"{url}/v1", "apiKey": KEY},
        "models": {
            "fake-model": {"name": "Fake model", "limit": limit, "cost": cost},
            "fake-model-2": {"name": "Fake model 2", "limit": limit, "cost": cost},
        },
    }
    settings: Json = {
        "model": "fake/fake-model",
        "small_model": "fake/fake-model",
        "autoupdate": False,
        "share": "disabled",
        "provider": {"fake": provider},
    }
    _write(home / ".config/opencode/opencode.json", settings)
    off = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
    # It would install its plugin package into each folder with settings, even without plugins.
    return {f"OPENCODE_DISABLE_{name}": "1" for name in off} | {"npm_config_offline": "true"}


def _copilot(_home: Path, url: str) -> dict[str, str]:
    return {
        "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
        "COPILOT_PROVIDER_TYPE": "openai",
        "COPILOT_PROVIDER_API_KEY": KEY,
        "COPILOT_MODEL": "fake-model",
        "COPILOT_OFFLINE": "true",
        "COPILOT_AUTO_UPDATE": "false",
    }


def _qwen(home: Path, url: str) -> dict[str, str]:
    settings: Json = {
        "security": {"auth": {"selectedType": "openai"}},
        "general": {"disableAutoUpdate": True, "disableUpdateNag": True, "enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
        "model": {"name": "fake-model"},
    }
    _write(home / ".qwen/settings.json", settings)
    return {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": "fake-model"}


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _write(path: Path, settings: Json) -> None:
    _made(path.parent)
    path.write_text(json.dumps(settings, indent=1) + "\n", "utf-8")


_LOGINS: dict[str, Callable[[Path, str], dict[str, str]]] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "gemini": _gemini,
    "opencode": _opencode,
    "copilot": _copilot,
    "qwen": _qwen,
}
