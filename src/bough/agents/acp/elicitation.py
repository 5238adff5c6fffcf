"""Reads `elicitation/create`, by which an agent asks a person, and writes the same for an editor.

Agents pass on what MCP servers ask in the same form. Values that break the protocol's schema are ignored where that
loses only a hint; a question that people could not understand or answer is refused.
"""

from __future__ import annotations

from typing import Any, cast, get_args
from urllib.parse import urlsplit

import msgspec
from msgspec import Raw

from bough.agents.catalog.question_vocabulary import QuestionVocabulary
from bough.model.questions.answer import check
from bough.model.questions.form import (
    LARGEST_FORM,
    MOST_CHOICES,
    MOST_FIELDS,
    FieldChoice,
    FormField,
    QuestionForm,
    TextFormat,
)
from bough.model.values.visible import visible

ELICITATION = "elicitation/create"
LONGEST_MESSAGE = 10_000
LONGEST_NAME = 200
LONGEST_URL = 4000
LARGEST_REQUEST = 4 * LARGEST_FORM
"""Bytes of a request. Escaped letters and fields that Bough ignores make it larger than its form."""
USUAL_PORTS = {"http": 80, "https": 443}

_Json = dict[str, Any]


class BadElicitation(ValueError):
    """A question that cannot be shown; the message tells the agent why."""


def read(params: Raw, vocabulary: QuestionVocabulary) -> QuestionForm:
    """Reads the parameters of a request. Raises `BadElicitation`."""
    if len(params) > LARGEST_REQUEST:
        raise BadElicitation(f"The request is larger than {LARGEST_REQUEST // 1024} KiB.")
    try:
        request = msgspec.json.decode(params, type=_Json)
    except (ValueError, RecursionError) as error:
        raise BadElicitation(str(error)) from None
    message = request.get("message")
    if not isinstance(message, str) or not message.strip():
        raise BadElicitation("Object missing required field `message`.")
    if len(message) > LONGEST_MESSAGE:
        raise BadElicitation(f"The message is longer than {LONGEST_MESSAGE} characters.")
    call_id = request.get("toolCallId")
    form = QuestionForm(mode="form", message=message, tool_call_id=call_id if isinstance(call_id, str) else None)
    mode = request.get("mode")
    if mode == "form":
        _read_schema(form, request.get("requestedSchema"), vocabulary)
    elif mode == "url":
        form.mode = "url"
        _read_url(form, request)
    else:
        raise BadElicitation(f"Bough does not offer the mode {str(mode)[:100]!r}; use form or url.")
    if len(msgspec.json.encode(form)) > LARGEST_FORM:
        raise BadElicitation(f"The question is larger than {LARGEST_FORM // 1024} KiB.")
    return form


def _read_url(form: QuestionForm, request: _Json) -> None:
    url, elicitation_id = request.get("url"), request.get("elicitationId")
    if not isinstance(elicitation_id, str):
        raise BadElicitation("Object missing required field `elicitationId`.")
    form.elicitation_id = elicitation_id[:LONGEST_NAME]
    # Browsers and parsers disagree about the rest, so a person could be shown another host than is opened.
    if not isinstance(url, str) or len(url) > LONGEST_URL or not url.isascii() or not url.isprintable():
        raise BadElicitation(f"`url` must have at most {LONGEST_URL} characters, all ASCII and printable.")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise BadElicitation(f"`url` cannot be read: {error}") from None
    if parts.scheme not in USUAL_PORTS or not host or " " in url or "\\" in url:
        raise BadElicitation("`url` must be a full http or https address.")
    if "@" in parts.netloc:
        raise BadElicitation("`url` must not contain a user name.")
    form.url = url
    is_usual = port in (None, USUAL_PORTS[parts.scheme])
    form.host = host if is_usual else f"{host}:{port}"


def _read_schema(form: QuestionForm, schema: Any, vocabulary: QuestionVocabulary) -> None:
    if not isinstance(schema, dict):
        raise BadElicitation("Object missing required field `requestedSchema`.")
    fields = cast("_Json", schema)
    properties: Any = fields.get("properties") or {}
    if not isinstance(properties, dict):
        raise BadElicitation("`properties` must be an object.")
    named = cast("_Json", properties)
    if len(named) > MOST_FIELDS:
        raise BadElicitation(f"The form has more than {MOST_FIELDS} fields.")
    form.title, form.description = _str(fields, "title"), _str(fields, "description")
    required = dict.fromkeys(_strings(fields.get("required")))
    for name, definition in named.items():
        if not name or len(name) > LONGEST_NAME:
            raise BadElicitation(f"The name of a field must have 1 to {LONGEST_NAME} characters.")
        if visible(name) != name:
            raise BadElicitation(f"The name of a field must not contain hidden characters: {visible(name)!r}.")
        field = _read_field(name, definition, vocabulary)
        if field is not None:
            field.required = name in required
            form.fields.append(field)
        elif name in required:
            raise BadElicitation(f"Bough has no control for the required field {name!r}.")
    for name in required:
        if name not in named:
            raise BadElicitation(f"The required field {name[:LONGEST_NAME]!r} is not defined.")


def _read_field(name: str, value: Any, vocabulary: QuestionVocabulary) -> FormField | None:
    """Returns a field; None if it is of a type that has no control."""
    if not isinstance(value, dict):
        return None
    definition = cast("_Json", value)
    kind = definition.get("type")
    field = FormField(name=name, type="text", title=_str(definition, "title"))
    field.description = _str(definition, "description")
    if kind == "string":
        choices = _read_choices(definition, vocabulary)
        if choices is None:
            _read_text_limits(field, definition)
            is_marked = at(definition.get("_meta"), vocabulary.secret_meta) is True
            field.secret = is_marked or definition.get("format") == "password"
        else:
            field.type, field.choices = "choice", choices
    elif kind == "array":
        items: Any = definition.get("items")
        choices = _read_choices(cast("_Json", items), vocabulary) if isinstance(items, dict) else None
        if choices is None:
            return None
        field.type, field.choices = "choices", choices
        field.min_items, field.max_items = _size(definition, "minItems"), _size(definition, "maxItems")
    elif kind in ("number", "integer"):
        field.type = kind
        field.minimum, field.maximum = _limit(definition, "minimum"), _limit(definition, "maximum")
    elif kind == "boolean":
        field.type = "boolean"
    else:
        return None
    _read_default(field, definition.get("default"))
    return field


def _read_text_limits(field: FormField, definition: _Json) -> None:
    field.min_length, field.max_length = _size(definition, "minLength"), _size(definition, "maxLength")
    field.pattern = _str(definition, "pattern") or None
    text_format = definition.get("format")
    if text_format in get_args(TextFormat):
        field.format = text_format


def _read_choices(definition: _Json, vocabulary: QuestionVocabulary) -> list[FieldChoice] | None:
    """Returns the values that a definition offers; None if it offers none."""
    titled: Any = definition.get("oneOf") or definition.get("anyOf")
    plain: Any = definition.get("enum")
    choices: list[FieldChoice] = []
    if isinstance(titled, list):
        for option in cast("list[Any]", titled):
            value = cast("_Json", option).get("const") if isinstance(option, dict) else None
            if isinstance(value, str):
                offered = cast("_Json", option)
                preview = at(offered.get("_meta"), vocabulary.preview_meta)
                choice = FieldChoice(value, _str(offered, "title") or value, _str(offered, "description"))
                choice.preview = preview if isinstance(preview, str) else ""
                choices.append(choice)
    elif isinstance(plain, list):
        # Older MCP servers name the values in a second list.
        names = _strings(definition.get("enumNames"))
        values = _strings(cast("Any", plain))
        titles = names if len(names) == len(values) else values
        choices = [FieldChoice(value, title) for value, title in zip(values, titles, strict=True)]
    else:
        return None
    if len(choices) > MOST_CHOICES:
        raise BadElicitation(f"A field offers more than {MOST_CHOICES} choices.")
    if not choices or len({choice.value for choice in choices}) < len(choices):
        raise BadElicitation("A field must offer at least one choice, and each only once.")
    return choices


def _read_default(field: FormField, default: Any) -> None:
    """Keeps a default that is a valid answer."""
    if default is None:
        return
    form = QuestionForm(mode="form", message="", fields=[field])
    values, wrong = check(form, form, {field.name: default})
    if not wrong:
        field.default = values[field.name]


def at(value: Any, path: str) -> Any:
    """Returns the value at a path such as `codex.isSecret`; None if there is none."""
    if not path:
        return None
    for name in path.split("."):
        value = cast("_Json", value).get(name) if isinstance(value, dict) else None
    return value


def _str(definition: _Json, name: str) -> str:
    value = definition.get(name)
    return value if isinstance(value, str) else ""


def _strings(value: Any) -> list[str]:
    return [item for item in cast("list[Any]", value) if isinstance(item, str)] if isinstance(value, list) else []


def _size(definition: _Json, name: str) -> int | None:
    value = definition.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _limit(definition: _Json, name: str) -> int | float | None:
    value = definition.get(name)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def requested_schema(form: QuestionForm) -> _Json:
    """Returns the form as the JSON Schema that the protocol takes, for an editor."""
    schema: _Json = {"type": "object", "properties": {field.name: _definition(field) for field in form.fields}}
    if form.title:
        schema["title"] = form.title
    if form.description:
        schema["description"] = form.description
    if required := [field.name for field in form.fields if field.required]:
        schema["required"] = required
    return schema


def _definition(field: FormField) -> _Json:
    kinds = {"text": "string", "choice": "string", "choices": "array"}
    definition: _Json = {"type": kinds.get(field.type, field.type)}
    for name, value in (("title", field.title), ("description", field.description)):
        if value:
            definition[name] = value
    offered = [
        {"const": choice.value, "title": choice.title}
        | ({"description": choice.description} if choice.description else {})
        for choice in field.choices
    ]
    if field.type == "choice":
        definition["oneOf"] = offered
    elif field.type == "choices":
        definition["items"] = {"anyOf": offered}
    limits: _Json = {
        "minimum": field.minimum,
        "maximum": field.maximum,
        "minLength": field.min_length,
        "maxLength": field.max_length,
        "minItems": field.min_items,
        "maxItems": field.max_items,
        "pattern": field.pattern,
        "format": field.format,
        "default": field.default,
    }
    return definition | {name: value for name, value in limits.items() if value is not None}
