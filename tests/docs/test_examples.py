"""Every `bough` command in an example of the documentation exists, with every option that the example uses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bough.api.cli.framework.base import COMMON
from tools import cli_reference

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(?:sh|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# Quoted text is an argument, and what follows a number sign is a comment.
ARGUMENT = re.compile(r"'[^']*'|\"[^\"]*\"")
CALL = re.compile(r"(?:^|\()\s*(?:[\w./]+/)?bough ((?:[a-z][a-z-]+ ?)+)(.*)")
SHARED = {f"--{name}" for name in COMMON} | {"--help", "-h"}


def calls(page: str) -> Iterator[tuple[str, str]]:
    """Yields the words and the arguments of every `bough` command in a page's examples."""
    for block in BLOCK.findall(page):
        for line in block.replace("\\\n", " ").splitlines():
            plain = ARGUMENT.sub("", line.removeprefix("$ ")).partition(" #")[0]
            for part in re.split(r"&&|\|\||[|;]", plain):
                if match := CALL.search(part):
                    yield match[1], match[2]


def resolve(words: str, commands: dict[str, Any]) -> Any:
    """Returns the command that the words begin with; words after it are arguments."""
    names = words.split()
    for length in range(len(names), -1, -1):
        if command := commands.get(" ".join(["bough", *names[:length]])):
            return command
    return None


def spellings(command: Any) -> set[str]:
    return {spelling for param in command.params for spelling in (*param.opts, *param.secondary_opts)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_exist(page: Path) -> None:
    commands = dict(cli_reference.commands())
    for words, arguments in calls(page.read_text("utf-8")):
        command = resolve(words, commands)
        assert command is not None, f"there is no command: bough {words}"
        used = set(re.findall(r"(?<!\S)--?[a-z][a-z-]*", arguments))
        assert used <= spellings(command) | SHARED, f"bough {words}{arguments}"
