"""Parses `.bough.toml`. A wrong entry is left out and reported with its line; the others apply."""

from __future__ import annotations

import re
import tomllib
from typing import Any, cast

import msgspec

from bough.model.session import MODES, PermissionMode
from bough.model.values.visible import visible

CONFIG_FILE = ".bough.toml"
MOST_COMMANDS = 20
LONGEST_COMMAND = 4000
MOST_PATTERNS = 200
LONGEST_PATTERN = 500
MOST_PROBLEMS = 50
LONGEST_NAME = 40
# The size of a worktree's block of ports, and how many of them its programs are told about by default.
MOST_PORTS = 10
DEFAULT_PORTS = 4

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_TABLE = re.compile(r"\s*\[+\s*([^\[\]#]+?)\s*\]+")
_KEY = re.compile(r"""\s*(["']?)([A-Za-z0-9_.-]+)\1\s*=""")
_AT_LINE = re.compile(r"\s*\(at line (\d+), column \d+\)$")


class ConfigProblem(msgspec.Struct, rename="camel", frozen=True):
    """Something wrong in a file of the repository, and its line if that is known."""

    file: str
    line: int | None
    message: str

    @property
    def text(self) -> str:
        return f"{self.file}{f', line {self.line}' if self.line else ''}: {self.message}"


class RunCommand(msgspec.Struct, rename="camel", frozen=True):
    """A command that a person can run in a worktree, such as a development server. `port` is the number of the port in
    the worktree's block at which it serves."""

    name: str
    command: str
    port: int = 0


class ConfigFile(msgspec.Struct):
    """The valid entries of a `.bough.toml`, and its problems."""

    setup: list[str] = []
    copies: list[str] = []
    run: list[RunCommand] = []
    ports: int = DEFAULT_PORTS
    preset: str | None = None
    agent: str | None = None
    mode: PermissionMode | None = None
    problems: list[ConfigProblem] = []


def parse_config(text: str) -> ConfigFile:
    """Returns the valid entries of a file. Never raises."""
    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        message = str(error)
        at = _AT_LINE.search(message)
        line = int(at[1]) if at else (text.count("\n") + 1 if "end of document" in message else None)
        return ConfigFile(problems=[ConfigProblem(CONFIG_FILE, line, visible(_AT_LINE.sub("", message)[:300]) + ".")])
    return _Reader(text, content).read()


class _Reader:
    """Reads one file's entries and collects problems."""

    def __init__(self, text: str, content: dict[str, Any]) -> None:
        self._lines = _lines_of_keys(text)
        self._content = content
        self._problems: list[ConfigProblem] = []

    def read(self) -> ConfigFile:
        known = {"setup", "copies", "run", "ports", "preset", "agent", "mode"}
        for key in self._content:
            if key not in known:
                self._wrong(key, f"{_short(key)} is not known. Use {', '.join(sorted(known))}.")
        config = ConfigFile(
            setup=self._texts("setup", MOST_COMMANDS, LONGEST_COMMAND, "commands"),
            copies=self._patterns(),
            run=self._run(),
            ports=self._ports(),
            preset=self._word("preset", "bough preset list"),
            agent=self._word("agent", "bough agents"),
            mode=self._mode(),
        )
        config.problems = self._problems
        return config

    def _wrong(self, key: str, message: str) -> None:
        if len(self._problems) < MOST_PROBLEMS:
            line = self._lines.get(key) or self._lines.get(key.partition(".")[0])
            self._problems.append(ConfigProblem(CONFIG_FILE, line, visible(message)))

    def _texts(self, key: str, most: int, longest: int, noun: str) -> list[str]:
        value: Any = self._content.get(key, [])
        items = cast("list[Any]", [value] if isinstance(value, str) else value if isinstance(value, list) else [None])
        if not all(isinstance(item, str) for item in items):
            self._wrong(key, f"{key} must be a list of {noun} in quotation marks.")
            return []
        if len(items) > most or any(not item.strip() or len(item) > longest or "\0" in item for item in items):
            self._wrong(key, f"{key} may have at most {most} {noun} of 1 to {longest} characters.")
            return []
        return items

    def _patterns(self) -> list[str]:
        patterns = self._texts("copies", MOST_PATTERNS, LONGEST_PATTERN, "patterns")
        if any("\n" in pattern or "\r" in pattern for pattern in patterns):
            self._wrong("copies", "A pattern in copies must be one line.")
            return []
        return patterns

    def _run(self) -> list[RunCommand]:
        value = self._content.get("run", {})
        if isinstance(value, str):
            value = {"dev": value}
        if not isinstance(value, dict):
            self._wrong("run", 'run must be a table of commands, such as dev = "npm run dev".')
            return []
        commands: list[RunCommand] = []
        for name, entry in cast("dict[str, Any]", value).items():
            command = self._run_command(name, entry)
            if command is not None and len(commands) < MOST_COMMANDS:
                commands.append(command)
        return commands

    def _run_command(self, name: str, entry: Any) -> RunCommand | None:
        key = f"run.{name}"
        fields = cast("dict[str, Any]", entry if isinstance(entry, dict) else {"command": entry})
        text, port = fields.get("command"), fields.get("port", 0)
        if len(name) > LONGEST_NAME or _NAME.fullmatch(name) is None:
            self._wrong(key, f"{_short(name)} is not a name of a command: use letters, digits, - and _.")
        elif not isinstance(text, str) or not text.strip() or len(text) > LONGEST_COMMAND or "\0" in text:
            self._wrong(key, f"{name} needs a command of 1 to {LONGEST_COMMAND} characters.")
        elif type(port) is not int or not 0 <= port < MOST_PORTS:
            self._wrong(key, f"port of {name} must be a number from 0 to {MOST_PORTS - 1}.")
        elif unknown := sorted(set(fields) - {"command", "port"}):
            self._wrong(key, f"{_short(unknown[0])} of {name} is not known. Use command and port.")
        else:
            return RunCommand(name, text, port)
        return None

    def _ports(self) -> int:
        ports = self._content.get("ports", DEFAULT_PORTS)
        if type(ports) is int and 1 <= ports <= MOST_PORTS:
            return ports
        self._wrong("ports", f"ports must be a number from 1 to {MOST_PORTS}.")
        return DEFAULT_PORTS

    def _word(self, key: str, command: str) -> str | None:
        word = self._content.get(key)
        if word is None or (isinstance(word, str) and _NAME.fullmatch(word) and len(word) <= LONGEST_NAME):
            return word
        self._wrong(key, f"{key} must be a name, as `{command}` lists them.")
        return None

    def _mode(self) -> PermissionMode | None:
        mode = self._content.get("mode")
        if mode is None or mode in MODES:
            return mode
        self._wrong("mode", f"mode must be one of {', '.join(MODES)}.")
        return None


def _short(text: str) -> str:
    return repr(text[:LONGEST_NAME])


def _lines_of_keys(text: str) -> dict[str, int]:
    """Returns the line of each key, by its path with dots. A key that is written unusually is not found, and is then
    reported without a line."""
    lines: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.split("\n"), 1):
        if (head := _TABLE.match(line)) is not None:
            table = head[1].replace('"', "").replace("'", "")
            lines.setdefault(table, number)
        elif (key := _KEY.match(line)) is not None:
            lines.setdefault(f"{table}.{key[2]}" if table else key[2], number)
    return lines
