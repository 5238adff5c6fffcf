"""The guide to working with other sessions: a text, and prompts made of arguments, from the files in `guide`. How they
are offered is `server`'s part; the documentation shows the same text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bough.errors import Invalid

FILES = Path(__file__).parents[1] / "guide"
ADDRESS = "bough://guides/orchestration"
TITLE = "Orchestration"
ABOUT = (
    "How to work with other sessions: which tool when, reports, worktrees, rights, limits, patterns with exact calls."
)
PROMPTS = ("delegate", "parallel", "review", "fan-out-race", "reflect")

_ARGUMENT = re.compile(r"- `(\w+)`( \(required\))?: (.+)")
_PLACE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Argument:
    name: str
    about: str
    required: bool


@dataclass(frozen=True)
class Prompt:
    """A prompt that somebody can choose: what it is for, what it takes, and its text."""

    name: str
    about: str
    arguments: tuple[Argument, ...]
    text: str

    def filled(self, given: dict[str, str]) -> str:
        """The text with its arguments in place; lines about one that was not given are left out."""
        known = {one.name: one for one in self.arguments}
        if unknown := sorted(set(given) - set(known)):
            takes = ", ".join(known)
            raise Invalid("bad_arguments", f"The prompt {self.name} takes {takes}, not {', '.join(unknown)}.")
        values = {name: value.strip() for name, value in given.items() if value.strip()}
        if missing := [name for name, one in known.items() if one.required and name not in values]:
            raise Invalid("bad_arguments", f"The prompt {self.name} needs {', '.join(missing)}.")
        lines = [
            _PLACE.sub(lambda found: values[found[1]], line)
            for line in self.text.splitlines()
            if all(name in values for name in _PLACE.findall(line))
        ]
        # What was left out leaves no gap behind.
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


@cache
def text() -> str:
    """The guide."""
    return (FILES / "orchestration.md").read_text("utf-8").strip()


@cache
def prompts() -> tuple[Prompt, ...]:
    """The prompts, in the order in which they are listed."""
    return tuple(_prompt(name) for name in PROMPTS)


def prompt(name: str) -> Prompt:
    for one in prompts():
        if one.name == name:
            return one
    raise Invalid("bad_arguments", f"There is no prompt {name!r}. There are {', '.join(PROMPTS)}.")


def _prompt(name: str) -> Prompt:
    head, _, body = (FILES / f"{name}.md").read_text("utf-8").partition("\n---\n")
    about, _, listed = head.partition("\n\n")
    arguments = tuple(Argument(found[1], found[3], bool(found[2])) for found in _ARGUMENT.finditer(listed))
    return Prompt(name, about.strip(), arguments, body.strip())
