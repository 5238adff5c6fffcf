"""Checks a person's answer to a question against its form, field by field."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import date, datetime
from typing import Any, cast
from urllib.parse import urlsplit

import msgspec

from bough.model.questions.form import MOST_CHOICES, FieldType, FormField, QuestionForm

LONGEST_TEXT = 20_000
LARGEST_INTEGER = 2**63 - 1
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_EMAIL = re.compile(r"[^@\s]{1,64}@[^@\s.]+(?:\.[^@\s.]+)+")

Content = dict[str, Any]


class QuestionAnswer(msgspec.Struct, omit_defaults=True):
    """An answer as the agent receives it."""

    action: str
    content: Content | None = None


class BadValue(ValueError):
    """A value that does not fit its field; the message says what would."""


def check(form: QuestionForm, shown: QuestionForm, content: Content) -> tuple[Content, dict[str, str]]:
    """Returns the values for the agent, and what is wrong by the name of the field.

    `shown` is the form as people see it. Hidden characters and secret values differ there, so its names and choices
    are accepted for those of the form.
    """
    values: Content = {}
    wrong: dict[str, str] = {}
    names: set[str] = set()
    for field, seen in zip(form.fields, shown.fields, strict=True):
        names |= {field.name, seen.name}
        value = content.get(seen.name, content.get(field.name))
        if value is None:
            if field.required:
                wrong[seen.name] = "This field is required."
            continue
        try:
            values[field.name] = _CHECKS[field.type](field, seen, value)
        except BadValue as error:
            wrong[seen.name] = str(error)
    for name in content:
        if name not in names:
            wrong[name[:200]] = "The question has no such field."
    return values, wrong


def defaults(form: QuestionForm) -> Content:
    """Returns the values that the agent proposes."""
    return {field.name: field.default for field in form.fields if field.default is not None}


def _text(field: FormField, _seen: FormField, value: Any) -> str:
    if not isinstance(value, str):
        raise BadValue("Must be a text.")
    longest = min(field.max_length if field.max_length is not None else LONGEST_TEXT, LONGEST_TEXT)
    if len(value) > longest:
        raise BadValue(f"Must have at most {longest} characters; it has {len(value)}.")
    if field.min_length is not None and len(value) < field.min_length:
        raise BadValue(f"Must have at least {field.min_length} characters; it has {len(value)}.")
    if _CONTROL.search(value):
        raise BadValue("Must not contain control characters.")
    if field.format is not None and not _FORMATS[field.format][0](value):
        raise BadValue(f"Must be {_FORMATS[field.format][1]}.")
    return value


def _number(field: FormField, _seen: FormField, value: Any) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise BadValue("Must be a number.")
    return _bounded(field, value)


def _integer(field: FormField, _seen: FormField, value: Any) -> int | float:
    is_whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) or not is_whole or abs(value) > LARGEST_INTEGER:
        raise BadValue("Must be a whole number.")
    return _bounded(field, int(value))


def _bounded(field: FormField, value: int | float) -> int | float:
    if field.minimum is not None and value < field.minimum:
        raise BadValue(f"Must be at least {field.minimum}.")
    if field.maximum is not None and value > field.maximum:
        raise BadValue(f"Must be at most {field.maximum}.")
    return value


def _boolean(_field: FormField, _seen: FormField, value: Any) -> bool:
    if not isinstance(value, bool):
        raise BadValue("Must be true or false.")
    return value


def _choice(field: FormField, seen: FormField, value: Any) -> str:
    return _chosen(_offered(field, seen), seen, value)


def _offered(field: FormField, seen: FormField) -> dict[str, str]:
    """Returns the values for the agent by everything that may be given for them. The first choice wins."""
    offered: dict[str, str] = {}
    for choice, shown in zip(field.choices, seen.choices, strict=True):
        offered.setdefault(shown.value, choice.value)
        offered.setdefault(choice.value, choice.value)
    return offered


def _chosen(values: dict[str, str], seen: FormField, value: Any) -> str:
    if isinstance(value, str) and value in values:
        return values[value]
    offered = ", ".join(choice.value for choice in seen.choices[:20])
    raise BadValue(f"Must be one of: {offered}{', …' if len(seen.choices) > 20 else ''}.")


def _choices(field: FormField, seen: FormField, value: Any) -> list[str]:
    if not isinstance(value, list):
        raise BadValue("Must be a list of choices.")
    items = cast("list[Any]", value)
    if len(items) > MOST_CHOICES:
        raise BadValue(f"Must have at most {MOST_CHOICES} values.")
    values = _offered(field, seen)
    chosen = list(dict.fromkeys(_chosen(values, seen, item) for item in items))
    if field.min_items is not None and len(chosen) < field.min_items:
        raise BadValue(f"Choose at least {field.min_items}.")
    if field.max_items is not None and len(chosen) > field.max_items:
        raise BadValue(f"Choose at most {field.max_items}.")
    return chosen


_CHECKS: dict[FieldType, Callable[[FormField, FormField, Any], Any]] = {
    "text": _text,
    "number": _number,
    "integer": _integer,
    "boolean": _boolean,
    "choice": _choice,
    "choices": _choices,
}


def _is_uri(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return bool(parts.scheme and (parts.netloc or parts.path)) and not any(char.isspace() for char in text)


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return len(text) == len("2026-01-31")


def _is_moment(text: str) -> bool:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return False
    return "T" in text.upper() and moment.tzinfo is not None


_FORMATS: dict[str, tuple[Callable[[str], object], str]] = {
    "email": (_EMAIL.fullmatch, "an email address"),
    "uri": (_is_uri, "a full address such as https://example.com"),
    "date": (_is_date, "a date such as 2026-01-31"),
    "date-time": (_is_moment, "a date and time with its zone, such as 2026-01-31T14:05:00Z"),
}
