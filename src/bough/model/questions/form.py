"""Defines the form of a question that an agent asks a person: its fields, or the address that the person is to open."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec

FieldType = Literal["text", "number", "integer", "boolean", "choice", "choices"]
TextFormat = Literal["email", "uri", "date", "date-time"]
QuestionAction = Literal["accept", "decline", "cancel"]

MOST_FIELDS = 100
MOST_CHOICES = 500
LARGEST_FORM = 64 * 1024
"""Bytes of a whole form. People cannot read more, and every watcher receives it."""
LONGEST_TITLE = 300


class FieldChoice(msgspec.Struct, rename="camel", omit_defaults=True):
    """One value that a field offers."""

    value: str
    title: str
    description: str = ""
    # A sample of the result, such as code, that some agents show with a choice.
    preview: str = ""


class FormField(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    """One field of a form. Limits that do not apply to its type are absent."""

    name: str
    type: FieldType
    title: str = ""
    description: str = ""
    required: bool = False
    default: str | int | float | bool | list[str] | None = None
    choices: list[FieldChoice] = []
    minimum: int | float | None = None
    maximum: int | float | None = None
    min_length: int | None = None
    max_length: int | None = None
    min_items: int | None = None
    max_items: int | None = None
    pattern: str | None = None
    format: TextFormat | None = None
    # Whether the answer is a password or key, which is never shown, and kept only to mask it.
    secret: bool = False

    @property
    def label(self) -> str:
        """The name to show."""
        return self.title or self.name


class QuestionForm(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    """A question: a message, and either fields to fill in or an address to open."""

    mode: Literal["form", "url"]
    message: str
    # The agent's id of the tool call that asks, if one does.
    tool_call_id: str | None = None
    title: str = ""
    description: str = ""
    fields: list[FormField] = []
    url: str = ""
    # The host of `url`, with its port unless that is the usual one. It is always ASCII.
    host: str = ""
    elicitation_id: str = ""

    @property
    def headline(self) -> str:
        """The message on one line."""
        line = " ".join(self.message.split())
        return line if len(line) <= LONGEST_TITLE else f"{line[: LONGEST_TITLE - 1]}…"


class StoredQuestion(msgspec.Struct, rename="camel"):
    """A row of `questions`: what only the agent and Bough see, while the turn runs."""

    approval_id: str
    form: msgspec.Raw
    answer: msgspec.Raw | None


def mapped(form: QuestionForm, show: Callable[[str], str]) -> QuestionForm:
    """Returns a form with every text that people see changed by `show`; fields and choices keep their order."""
    values: dict[str, Any] = msgspec.to_builtins(form)
    exact = {"toolCallId": values.pop("toolCallId", None), "mode": values.pop("mode")}
    return msgspec.convert({**_mapped(values, show), **exact}, QuestionForm)


# Words of a form that programs compare.
_WORDS = frozenset({"type", "format"})


def _mapped(value: Any, show: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return show(value)
    if isinstance(value, list):
        return [_mapped(item, show) for item in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, dict):
        fields: dict[str, Any] = value  # pyright: ignore[reportUnknownVariableType]
        return {name: item if name in _WORDS else _mapped(item, show) for name, item in fields.items()}
    return value
