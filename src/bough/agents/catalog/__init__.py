"""The catalog: one TOML file per agent says how to start it and what it can be trusted with; users add files of their
own. Talking to it is `bough.agents.acp`."""

from __future__ import annotations

import os
import shutil
import sys
import tomllib
from pathlib import Path

import msgspec
import structlog

from bough.errors import Invalid

log = structlog.get_logger("bough.agents")

BUILT_IN = Path(__file__).parent
# The first of these that is installed is the default agent; the demo agent always is.
PREFERRED = ("claude-code", "codex", "gemini", "opencode", "demo")


class Entry(msgspec.Struct, rename="kebab", forbid_unknown_fields=True, kw_only=True):
    """One agent. `{python}` in its command is the interpreter that runs Bough, `{data}` Bough's data folder."""

    name: str
    title: str
    description: str = ""
    command: list[str]
    env: dict[str, str] = {}
    # How to get it, told to people who do not have it.
    install: str = ""
    # Whether load or resume was proven to keep the conversation: only then may its process be put to sleep.
    resume: bool = False
    # Unified permission mode → the agent's own mode id; a mode that is not named is not offered to the agent.
    modes: dict[str, str] = {}
    # Ids of the agent's config options for the model and for the effort, where it has them.
    model_option: str | None = None
    effort_option: str | None = None
    origin: str = ""

    def program(self) -> str | None:
        """Where its command is installed."""
        return shutil.which(self.command[0])

    def check_installed(self) -> None:
        if self.program() is None:
            hint = f" {self.install}" if self.install else ""
            raise Invalid(
                "agent_missing",
                f"The agent {self.name} cannot be started: its command {self.command[0]!r} was not found.{hint}",
                agent=self.name,
            )


class Broken(msgspec.Struct):
    """A file of the user's that does not describe an agent, and why."""

    name: str
    origin: str
    error: str


class Catalog:
    """All agents that are known, by name, and what could not be read."""

    def __init__(self, entries: list[Entry], broken: list[Broken] | None = None) -> None:
        self._entries = {entry.name: entry for entry in entries}
        self.broken = broken or []

    def names(self) -> list[str]:
        return sorted(self._entries)

    def entries(self) -> list[Entry]:
        return [self._entries[name] for name in self.names()]

    def get(self, name: str) -> Entry:
        entry = self._entries.get(name)
        if entry is None:
            for one in self.broken:
                if one.name == name:
                    raise Invalid("bad_agent_file", one.error)
            raise Invalid(
                "unknown_agent",
                f"There is no agent {name[:100]!r}. Known are: {', '.join(self.names())}.",
                known=self.names(),
            )
        return entry

    def default(self, preferred: str = "") -> str:
        """The agent of a session that names none (O1)."""
        if preferred:
            return self.get(preferred).name
        for name in PREFERRED:
            if name in self._entries and self._entries[name].program() is not None:
                return name
        return "demo"


def load_catalog(data: Path) -> Catalog:
    """Built-in entries, then the user's own from `agents/` in the data folder, which win; one of those that cannot be
    read is left out, and known as broken."""
    entries = {entry.name: entry for path in sorted(BUILT_IN.glob("*.toml")) for entry in [_read(path, data)]}
    broken: list[Broken] = []
    for path in sorted((data / "agents").glob("*.toml")):
        try:
            entry = _read(path, data)
        except Invalid as error:
            log.warning("bad_agent_file", path=str(path), error=error.message)
            broken.append(Broken(path.stem, str(path), error.message))
        else:
            entries[entry.name] = entry
    return Catalog(list(entries.values()), broken)


def _read(path: Path, data: Path) -> Entry:
    try:
        entry = msgspec.convert({"name": path.stem} | tomllib.loads(path.read_text("utf-8")), Entry)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise Invalid("bad_agent_file", f"{path} does not describe an agent: {error}") from error
    if not entry.command:
        raise Invalid("bad_agent_file", f"{path} names no command.")
    places = {"{python}": sys.executable, "{data}": str(data)}
    entry.command = [_filled(part, places) for part in entry.command]
    entry.env = {name: _filled(value, places) for name, value in entry.env.items()}
    entry.origin = str(path)
    return entry


def _filled(text: str, places: dict[str, str]) -> str:
    for mark, value in places.items():
        text = text.replace(mark, value)
    return os.path.expanduser(text)
