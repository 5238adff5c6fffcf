"""Runs the console examples of a documentation page and compares their output with what the page shows."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
ID = re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{8}\b")
AGO = re.compile(r"\d+ (?:s|min) ago")
ANYTHING = "…"
PATIENCE = 60.0


@dataclass
class Example:
    """One command of a page with the lines of output that the page shows."""

    command: str
    output: list[str] = field(default_factory=list[str])


def examples(page: str) -> Iterator[Example]:
    """Yields the commands of all console blocks, in order."""
    for block in BLOCK.findall(page):
        example: Example | None = None
        for line in block.splitlines():
            if line.startswith("$ "):
                if example is not None:
                    yield example
                example = Example(line[2:])
            elif example is not None:
                example.output.append(line)
        if example is not None:
            yield example


class Ids:
    """Maps the ids that a page shows to the ids of this run."""

    def __init__(self) -> None:
        self._actual: dict[str, str] = {}

    def fill(self, command: str) -> str:
        """Returns the command with the ids of this run."""
        return ID.sub(lambda match: self._actual[match[0]], command)

    def match(self, expected: list[str], actual: str) -> bool:
        """Compares output with the page's. `…` stands for any text, alone on a line for any lines; runs of spaces are
        one. An id that the page shows for the first time is bound to the one in its place."""
        names: list[str] = []
        pattern = "".join(self._line(line, names) for line in expected)
        match = re.fullmatch(pattern, "".join(f"{_squeeze(line)}\n" for line in actual.splitlines()))
        if match is None:
            return False
        self._actual |= {name: match[f"id_{name}"] for name in names}
        return True

    def _line(self, line: str, names: list[str]) -> str:
        if line == ANYTHING:
            return r"(?:.*\n)*?"
        parts = (self._text(part, names) for part in _squeeze(line).split(ANYTHING))
        return ".*".join(parts) + r"\n"

    def _text(self, text: str, names: list[str]) -> str:
        pattern, end = "", 0
        for match in re.finditer(f"{ID.pattern}|{AGO.pattern}", text):
            pattern += re.escape(text[end : match.start()]) + self._variable(match[0], names)
            end = match.end()
        return pattern + re.escape(text[end:])

    def _variable(self, shown: str, names: list[str]) -> str:
        if AGO.fullmatch(shown):
            return r"(?:now|\d+ \w+ ago)"
        if shown in self._actual:
            return self._actual[shown]
        if shown in names:
            return f"(?P=id_{shown})"
        names.append(shown)
        return f"(?P<id_{shown}>[0-9a-f]{{8}})"


def _squeeze(line: str) -> str:
    return re.sub(r" +", " ", line).rstrip()


class Shell:
    """A bash process that runs one command after the other, as a reader would in one terminal."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def start(cls, folder: Path, env: Mapping[str, str]) -> Shell:
        return cls(
            await asyncio.create_subprocess_exec(
                *("bash", "--norc", "--noprofile"),
                cwd=folder,
                env=dict(env),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
        )

    async def run(self, command: str) -> tuple[int, str]:
        """Returns the exit code and everything that the command prints."""
        assert self._process.stdin is not None and self._process.stdout is not None
        # The marker starts on its own line even if the command prints no final newline.
        self._process.stdin.write(f"{{ {command}\n}} < /dev/null; printf '\\n:end:%d\\n' $?\n".encode())
        output: list[str] = []
        async with asyncio.timeout(PATIENCE):
            while not (line := (await self._process.stdout.readline()).decode()).startswith(":end:"):
                if not line:
                    raise EOFError(f"the shell ended in: {command}")
                output.append(line)
        return int(line.removeprefix(":end:")), "".join(output).removesuffix("\n")

    async def end(self) -> None:
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()
