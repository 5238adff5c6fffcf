"""What a caller is told about a request that does not fit: the names it used, the values and limits there are. Which
status that is, is `errors`' part; who may come in, `auth`'s."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, cast, get_args, get_origin

import msgspec
from litestar import Request
from litestar.exceptions import HTTPException

from bough.api.errors import HTTP_CODES
from bough.errors import Invalid

NEEDS_BODY = "This needs a body: a JSON object, sent with `Content-Type: application/json`."
# Surrogates in a pair, then any escape; what stands alone is found by the second.
ESCAPES = re.compile(rb"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\(?:u[dD][89a-fA-F]|.)")
PLACE = re.compile(r"`\$(.*)`$")
STEP = re.compile(r"\.(\w+)|\[[^\]]*\]")


class Refusal(NamedTuple):
    """A code, a sentence and what a program may want to know."""

    code: str
    message: str
    details: dict[str, Any]


def decoded(body: bytes, kind: Any) -> Any:
    """A body as what its route takes, strictly: a number is no flag, nor a text."""
    if b"\\u" in body and any(len(found[0]) == 4 for found in ESCAPES.finditer(body)):
        raise Invalid("text_not_unicode", "The body holds half of a surrogate pair, which is no character.")
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.DecodeError as error:
        raise Invalid("bad_request", f"The body is not what is wanted here: {error}.{_choice(error, kind)}") from None
    except UnicodeDecodeError:
        raise Invalid("bad_request", "The body is not UTF-8.") from None


def explained(request: Request[Any, Any, Any], error: HTTPException, max_body: int) -> Refusal:
    """What the web framework refuses, in our words: an unknown path, a wrong method, a parameter that does not fit."""
    status = error.status_code
    code = HTTP_CODES.get(status, "bad_request" if status < 500 else "internal")
    if status == 404:
        return Refusal(code, f"There is no route {request.url.path[:200]}; all are listed at /docs.", {})
    if status == 405:
        return Refusal(code, f"{request.method} is not possible here; the header Allow says what is.", {})
    if status == 413:
        return Refusal(code, f"The body is over the limit of {max_body} bytes.", {"limit": max_body})
    parts = cast("list[dict[str, Any]]", error.extra if isinstance(error.extra, list) else [])
    if any(part.get("key") == "data" for part in parts):
        return Refusal(code, NEEDS_BODY, {})
    told = [_parameter(request, str(part.get("key", "")), str(part.get("message", ""))) for part in parts]
    if not told:
        return Refusal(code, error.detail, {})
    return Refusal(told[0][0] or code, " ".join(sentence for _, sentence in told), {})


def _parameter(request: Request[Any, Any, Any], key: str, said: str) -> tuple[str | None, str]:
    """A code of its own if it has one, and what a parameter of the query must be."""
    found = request.route_handler.parsed_fn_signature.parameters.get(key)
    bounds: Any = found.kwarg_definition if found is not None else None
    if key in ("limit", "offset") and bounds is not None:
        return f"bad_{key}", f"{key} must be a number between {bounds.ge:.0f} and {bounds.le:.0f}."
    kind: Any = found.annotation if found is not None else None
    if get_origin(kind) is Literal:
        return None, f"{key} must be one of {', '.join(map(str, get_args(kind)))}."
    if bool in (kind, *get_args(kind)):
        return None, f"{key} must be true or false."
    return None, f"{key}: {said}."


def _choice(error: msgspec.DecodeError, kind: Any) -> str:
    """The values that there are, for whoever named another."""
    text = str(error)
    place = PLACE.search(text)
    if not text.startswith("Invalid enum value") or place is None:
        return ""
    types = [msgspec.inspect.type_info(kind)]
    for step in STEP.finditer(place[1]):
        types = [inner for one in types for inner in _inside(one, step[1])]
    values = [str(value) for one in types for plain in _plain(one) for value in _values(plain)]
    return f" Possible are: {', '.join(values)}." if values else ""


def _plain(one: msgspec.inspect.Type) -> Iterator[msgspec.inspect.Type]:
    """The types of a union, or the one type there is."""
    if isinstance(one, msgspec.inspect.UnionType):
        for inner in one.types:
            yield from _plain(inner)
    elif isinstance(one, msgspec.inspect.Metadata):
        yield from _plain(one.type)
    else:
        yield one


def _inside(one: msgspec.inspect.Type, name: str | None) -> Iterator[msgspec.inspect.Type]:
    """What lies one step further in: a field by its name, or any entry."""
    for plain in _plain(one):
        if isinstance(plain, msgspec.inspect.StructType):
            yield from (field.type for field in plain.fields if field.encode_name == name)
        elif isinstance(plain, msgspec.inspect.ListType):
            yield plain.item_type
        elif isinstance(plain, msgspec.inspect.DictType):
            yield plain.value_type


def _values(one: msgspec.inspect.Type) -> tuple[Any, ...]:
    return tuple(one.values) if isinstance(one, msgspec.inspect.LiteralType) else ()
