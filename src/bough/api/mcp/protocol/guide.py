"""Reads the orchestration guide and its prompt templates from the files in `guide`. The documentation shows the same
text."""

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
    "How to work with other sessions: which tool to use when, reports, worktrees, rights, limits, and example calls."
)
PROMPTS = ("delegate", "parallel", "review", "fan-out-race", "reflect")

_ARGUMENT = re.compile(r"- `(\w+)`( \(required\))?: (.+)")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Argument:
    name: str
    about: str
    required: bool


@dataclass(frozen=True)
class PromptTemplate:
    """A prompt template with its purpose and arguments."""

    name: str
    about: str
    arguments: tuple[Argument, ...]
    text: str

    def filled(self, values_given: dict[str, str]) -> str:
        """Returns the text with its arguments filled in, without the lines whose arguments are missing."""
        arguments = {argument.name: argument for argument in self.arguments}
        if unknown := sorted(set(values_given) - set(arguments)):
            takes = ", ".join(arguments)
            raise Invalid("bad_arguments", f"The prompt {self.name} takes {takes}, not {', '.join(unknown)}.")
        values = {name: value.strip() for name, value in values_given.items() if value.strip()}
        if missing := [name for name, argument in arguments.items() if argument.required and name not in values]:
            raise Invalid("bad_arguments", f"The prompt {self.name} needs {', '.join(missing)}.")
        lines = [
            _PLACEHOLDER.sub(lambda match: values[match[1]], line)
            for line in self.text.splitlines()
            if all(name in values for name in _PLACEHOLDER.findall(line))
        ]
        # Removed lines leave no gap.
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


@cache
def text() -> str:
    """Returns the guide."""
    return (FILES / "orchestration.md").read_text("utf-8").strip()


@cache
def prompts() -> tuple[PromptTemplate, ...]:
    """Returns the prompts in the order of the list."""
    return tuple(_prompt(name) for name in PROMPTS)


def prompt(name: str) -> PromptTemplate:
    for candidate in prompts():
        if candidate.name == name:
            return candidate
    raise Invalid("bad_arguments", f"There is no prompt {name!r}. Available: {', '.join(PROMPTS)}.")


def _prompt(name: str) -> PromptTemplate:
    head, _, body = (FILES / f"{name}.md").read_text("utf-8").partition("\n---\n")
    about, _, listed = head.partition("\n\n")
    arguments = tuple(Argument(match[1], match[3], bool(match[2])) for match in _ARGUMENT.finditer(listed))
    return PromptTemplate(name, about.strip(), arguments, body.strip())
