"""Fills in the form of an agent's question: from `--field` options, or line by line at a terminal."""

from __future__ import annotations

import math
from typing import Any

from bough.api.cli.framework.client import Json, parts
from bough.api.cli.framework.formats import brief
from bough.api.cli.framework.terminal_safety import clean

YES = ("y", "yes", "true")
NO = ("n", "no", "false")
DECLINE, CANCEL = ":decline", ":cancel"


class BadLine(ValueError):
    """A value that a field cannot take; the message says what it takes."""


def parse(field: Json, texts: list[str]) -> Any:
    """Reads the value of a field from what a person typed; several texts are several choices."""
    kind = field["type"]
    if kind == "choices":
        return [_choice(field, text) for text in texts]
    if len(texts) > 1:
        raise BadLine("takes one value.")
    text = texts[0]
    if kind == "choice":
        return _choice(field, text)
    if kind == "boolean":
        if text.strip().lower() not in (*YES, *NO):
            raise BadLine("takes yes or no.")
        return text.strip().lower() in YES
    if kind in ("number", "integer"):
        return _number(text, whole=kind == "integer")
    return text


def _number(text: str, *, whole: bool) -> int | float:
    try:
        return int(text) if whole else _finite(float(text))
    except ValueError:
        raise BadLine("takes a whole number." if whole else "takes a number.") from None


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise ValueError
    return number


def _choice(field: Json, text: str) -> str:
    """Returns the value that a text names: by itself, its title or its number in the list."""
    choices = parts(field, "choices")
    word = text.strip()
    for choice in choices:
        if word == choice["value"]:
            return choice["value"]
    named = [choice["value"] for choice in choices if word.lower() == choice["title"].lower()]
    if len(named) == 1:
        return named[0]
    if word.isdecimal() and 1 <= int(word[:6]) <= len(choices):
        return choices[int(word[:6]) - 1]["value"]
    raise BadLine(f"takes one of: {brief(', '.join(choice['value'] for choice in choices), 300)}.")


def defaults(form: Json) -> Json:
    """Returns the values that the agent proposes."""
    return {field["name"]: field["default"] for field in parts(form, "fields") if field.get("default") is not None}


def label(field: Json) -> str:
    """Returns the name of a field for people."""
    return clean(str(field.get("title") or field["name"]))


def describe_form(form: Json) -> list[str]:
    """Describes a form, one line per item."""
    lines = [clean(line) for line in str(form.get("message") or "").splitlines()]
    if form.get("mode") == "url":
        return [*lines, f"Host: {clean(form['host'])}", f"Open: {clean(form['url'])}"]
    lines += [clean(form[name]) for name in ("title", "description") if form.get(name)]
    for field in parts(form, "fields"):
        lines += describe_field(field)
    return lines


def describe_field(field: Json) -> list[str]:
    """Describes a field with its choices."""
    name = "" if label(field) == clean(field["name"]) else f" [{clean(field['name'])}]"
    lines = [f"  {label(field)}{name}: {', '.join(_facts(field))}"]
    if field.get("description"):
        lines.append(f"      {clean(field['description'])}")
    for number, choice in enumerate(parts(field, "choices"), 1):
        title = "" if choice["title"] == choice["value"] else f" ({clean(choice['title'])})"
        about = f" — {clean(choice['description'])}" if choice.get("description") else ""
        lines.append(f"      {number}. {clean(choice['value'])}{title}{about}")
        lines += [f"         {clean(line)}" for line in str(choice.get("preview") or "").splitlines()]
    return lines


def _facts(field: Json) -> list[str]:
    facts = [str(field["type"]), "required" if field.get("required") else "optional"]
    if field.get("secret"):
        facts.append("secret")
    if field.get("format"):
        facts.append(str(field["format"]))
    for low, high, noun in (("minimum", "maximum", ""), ("minLength", "maxLength", " characters")):
        if low in field or high in field:
            facts.append(f"{field.get(low, '')}–{field.get(high, '')}{noun}")
    if "minItems" in field or "maxItems" in field:
        facts.append(f"choose {field.get('minItems', 0)}–{field.get('maxItems', len(parts(field, 'choices')))}")
    if field.get("pattern"):
        facts.append(f"pattern {clean(field['pattern'])}")
    if field.get("default") is not None:
        facts.append(f"default {_default_text(field)}")
    return facts


def _default_text(field: Json) -> str:
    default: Any = field["default"]
    if isinstance(default, bool):
        return "yes" if default else "no"
    return clean(", ".join(default) if isinstance(default, list) else str(default))  # pyright: ignore[reportUnknownArgumentType]


class FormFill:
    """Asks for one field after the other. An empty line takes the default or leaves the field out; `:decline` and
    `:cancel` end the form."""

    def __init__(self, form: Json) -> None:
        self._form = form
        self._fields = parts(form, "fields")
        self._content: Json = {}
        # The answer, once there is one.
        self.body: Json | None = None

    @property
    def field(self) -> Json | None:
        """The field that is asked for; None at a question of yes or no."""
        return self._fields[0] if self._fields else None

    def prompt(self) -> str:
        """Returns what to print before the next line is read."""
        field = self.field
        if field is None:
            asked = "Have you opened it?" if self._form.get("mode") == "url" else "Accept?"
            return f"  {asked} yes (y), decline (d), dismiss (c): "
        hint = "numbers with spaces between" if field["type"] == "choices" else ""
        if field.get("default") is not None:
            hint = f"Enter for {_default_text(field)}"
        elif not field.get("required"):
            hint = "Enter to skip"
        return f"  {label(field)}{f' ({hint})' if hint else ''}: "

    def take(self, line: str) -> str:
        """Takes a line; returns what is wrong with it, or nothing."""
        word = line.strip()
        if word in (DECLINE, CANCEL):
            self.body = {"action": word[1:]}
            return ""
        field = self.field
        if field is None:
            action = {**dict.fromkeys(YES, "accept"), "d": "decline", "n": "decline", "c": "cancel"}.get(word.lower())
            if action is not None:
                self.body = {"action": action} | ({"content": {}} if action == "accept" else {})
            return "" if action is not None else "Answer y, d or c."
        try:
            self._fill(field, line.rstrip("\r\n"))
        except BadLine as error:
            return f"{label(field)} {error}"
        self._fields = self._fields[1:]
        if not self._fields:
            self.body = {"action": "accept", "content": self._content}
        return ""

    def _fill(self, field: Json, line: str) -> None:
        if not line.strip():
            if field.get("default") is not None:
                self._content[field["name"]] = field["default"]
            elif field.get("required"):
                raise BadLine(f"is required; {DECLINE} declines the question.")
            return
        texts = line.split() if field["type"] == "choices" else [line]
        self._content[field["name"]] = parse(field, texts)
