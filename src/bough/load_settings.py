"""Loads the settings. A flag overrides an environment variable, which overrides `config.toml` in the data folder, which
overrides the default."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import msgspec

from bough.agents.network.hosts import parse_patterns
from bough.errors import Invalid
from bough.setting_values import port_range
from bough.settings import Settings, default_data

# Older variable names that work in addition to BOUGH_*.
ALIASES = {
    "workspace_root": "AGENT_WORKSPACE_ROOT",
    "idle_timeout": "AGENT_SESSION_IDLE_TIMEOUT",
    "max_sessions": "AGENT_MAX_SESSIONS",
    "max_queue": "AGENT_MAX_QUEUE",
}

FIELDS: dict[str, msgspec.structs.FieldInfo] = {field.name: field for field in msgspec.structs.fields(Settings)}


def variable(name: str) -> str:
    """Returns the environment variable of a setting."""
    return f"BOUGH_{name.upper()}"


def describe(name: str) -> str:
    """Returns the description of a setting."""
    kind: Any = FIELDS[name].type
    return next(meta.description for meta in reversed(kind.__metadata__) if meta.description)


def load(flags: Mapping[str, Any] | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """Loads the settings from flags, variables and the file; `Invalid` names the source of a wrong value."""
    environ = os.environ if environ is None else environ
    values: dict[str, tuple[Any, str]] = {}
    for name in FIELDS:
        for key in (ALIASES.get(name), variable(name)):
            if key and environ.get(key):
                values[name] = (environ[key], key)
    for name, value in (flags or {}).items():
        if value is not None:
            values[name] = (value, f"--{name.replace('_', '-')}")
    data, _ = values.get("data", (default_data(), ""))
    merged = _from_file(Path(str(data)).expanduser() / "config.toml") | values
    checked = {name: _convert(name, value, origin) for name, (value, origin) in merged.items()}
    return Settings(**checked)


def _from_file(path: Path) -> dict[str, tuple[Any, str]]:
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise Invalid("bad_config", f"Cannot read {path}: {error}") from error
    unknown = sorted(set(table) - set(FIELDS))
    if unknown:
        raise Invalid("bad_config", f"{path} has unknown settings: {', '.join(unknown)}. Remove or correct them.")
    return {name: (value, str(path)) for name, value in table.items()}


def _convert(name: str, value: Any, origin: str) -> Any:
    try:
        converted = msgspec.convert(value, FIELDS[name].type, strict=False)
        if name == "sandbox_hosts":
            parse_patterns(converted)
        if name == "worktree_ports":
            port_range(converted)
        return converted
    except msgspec.ValidationError as error:
        raise Invalid("bad_setting", f"{origin}: {value!r} is not valid for {name}; use {_expected(name)}.") from error
    except ValueError as error:
        raise Invalid("bad_setting", f"{origin}: {error}") from error


def _expected(name: str) -> str:
    """Describes the values that a setting accepts."""
    kind, *metas = get_args(FIELDS[name].type)
    if get_origin(kind) is Literal:
        return f"one of {', '.join(get_args(kind))}"
    if expected := next((meta.extra["expected"] for meta in metas if meta.extra), None):
        return expected
    word = {bool: "true or false", int: "a whole number", float: "a number"}.get(kind, "a text")
    least = next((meta.ge for meta in metas if meta.ge is not None), None)
    most = next((meta.le for meta in metas if meta.le is not None), None)
    greater_than = next((meta.gt for meta in metas if meta.gt is not None), None)
    if least is not None:
        return f"{word} from {least} to {most}" if most is not None else f"{word} of at least {least}"
    return f"{word} greater than {greater_than}" if greater_than is not None else word
