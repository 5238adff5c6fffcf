"""Explains invalid requests: which field or parameter is wrong, and which values and limits are allowed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, cast, get_args, get_origin

import msgspec
from litestar import Request
from litestar.exceptions import HTTPException

from bough.api.errors import HTTP_CODES
from bough.errors import Invalid

NEEDS_BODY = "This needs a body: send a JSON object with `Content-Type: application/json`."
# A surrogate pair, or any other escape; a lone surrogate matches the second alternative.
ESCAPES = re.compile(rb"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\(?:u[dD][89a-fA-F]|.)")
PLACE = re.compile(r"`\$(.*)`$")
STEP = re.compile(r"\.(\w+)|\[[^\]]*\]")


class Refusal(NamedTuple):
    """An error's code, message and details."""

    code: str
    message: str
    details: dict[str, Any]


def decoded(body: bytes, kind: Any) -> Any:
    """Decodes a body strictly as its route's type: numbers are not accepted as booleans or texts."""
    if b"\\u" in body and any(len(match[0]) == 4 for match in ESCAPES.finditer(body)):
        raise Invalid("text_not_unicode", "The body contains an unpaired surrogate, which is not a character.")
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.DecodeError as error:
        raise Invalid("bad_request", f"The body is not valid: {error}.{_choice(error, kind)}") from None
    except UnicodeDecodeError:
        raise Invalid("bad_request", "The body is not UTF-8.") from None


def explained(request: Request[Any, Any, Any], error: HTTPException, max_body: int) -> Refusal:
    """Rewrites an error of the web framework: an unknown path, a wrong method, an invalid parameter."""
    status = error.status_code
    code = HTTP_CODES.get(status, "bad_request" if status < 500 else "internal")
    if status == 404:
        return Refusal(code, f"There is no route {request.url.path[:200]}; see /docs for all routes.", {})
    if status == 405:
        return Refusal(code, f"{request.method} is not allowed here; see the Allow header.", {})
    if status == 413:
        return Refusal(code, f"The body exceeds the limit of {max_body} bytes.", {"limit": max_body})
    parts = cast("list[dict[str, Any]]", error.extra if isinstance(error.extra, list) else [])
    if any(part.get("key") == "data" for part in parts):
        return Refusal(code, NEEDS_BODY, {})
    problems = [_parameter(request, str(part.get("key", "")), str(part.get("message", ""))) for part in parts]
    if not problems:
        return Refusal(code, error.detail, {})
    return Refusal(problems[0][0] or code, " ".join(sentence for _, sentence in problems), {})


def _parameter(request: Request[Any, Any, Any], key: str, message: str) -> tuple[str | None, str]:
    """Returns the code, if the parameter has its own, and a sentence about its allowed values."""
    definition = request.route_handler.parsed_fn_signature.parameters.get(key)
    bounds: Any = definition.kwarg_definition if definition is not None else None
    if key in ("limit", "offset") and bounds is not None:
        return f"bad_{key}", f"{key} must be a number between {bounds.ge:.0f} and {bounds.le:.0f}."
    kind: Any = definition.annotation if definition is not None else None
    if get_origin(kind) is Literal:
        return None, f"{key} must be one of {', '.join(map(str, get_args(kind)))}."
    if bool in (kind, *get_args(kind)):
        return None, f"{key} must be true or false."
    return None, f"{key}: {message}."


def _choice(error: msgspec.DecodeError, kind: Any) -> str:
    """Lists the allowed values if an enum value is wrong."""
    text = str(error)
    location = PLACE.search(text)
    if not text.startswith("Invalid enum value") or location is None:
        return ""
    types = [msgspec.inspect.type_info(kind)]
    for step in STEP.finditer(location[1]):
        types = [inner for kind_info in types for inner in _inside(kind_info, step[1])]
    values = [str(value) for kind_info in types for plain in _plain(kind_info) for value in _values(plain)]
    return f" Allowed values: {', '.join(values)}." if values else ""


def _plain(kind: msgspec.inspect.Type) -> Iterator[msgspec.inspect.Type]:
    """Yields the types of a union, or the type itself."""
    if isinstance(kind, msgspec.inspect.UnionType):
        for inner in kind.types:
            yield from _plain(inner)
    elif isinstance(kind, msgspec.inspect.Metadata):
        yield from _plain(kind.type)
    else:
        yield kind


def _inside(kind: msgspec.inspect.Type, name: str | None) -> Iterator[msgspec.inspect.Type]:
    """Yields the types one step further in: of the named field, or of the entries."""
    for plain in _plain(kind):
        if isinstance(plain, msgspec.inspect.StructType):
            yield from (field.type for field in plain.fields if field.encode_name == name)
        elif isinstance(plain, msgspec.inspect.ListType):
            yield plain.item_type
        elif isinstance(plain, msgspec.inspect.DictType):
            yield plain.value_type


def _values(kind: msgspec.inspect.Type) -> tuple[Any, ...]:
    return tuple(kind.values) if isinstance(kind, msgspec.inspect.LiteralType) else ()
