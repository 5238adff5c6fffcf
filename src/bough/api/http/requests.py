"""Defines what all routes share: the caller, the services, ids, paging, idempotency keys and documented errors."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable
from typing import Annotated, Any

import msgspec
from litestar import Request, Response
from litestar.di import NamedDependency
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import HeaderParameter, PathParameter, QueryParameter, SkipValidation

from bough.api.errors import ErrorAnswer
from bough.core.services import Services as _Services
from bough.core.store import short_ids
from bough.core.store.paging import DEFAULT_LIMIT, LARGEST_LIMIT, LARGEST_OFFSET
from bough.core.store.short_ids import Table
from bough.errors import Invalid
from bough.model.session import Caller as _Caller

Services = NamedDependency[SkipValidation[_Services]]
Caller = NamedDependency[SkipValidation[_Caller]]
Limit = Annotated[int, QueryParameter(ge=1, le=LARGEST_LIMIT, description="Maximum number of results.")]
Offset = Annotated[int, QueryParameter(ge=0, le=LARGEST_OFFSET, description="Number of results to skip.")]
Id = Annotated[str, PathParameter(description="The id, or a unique prefix or suffix of at least 8 characters.")]

LIMIT = DEFAULT_LIMIT
LONGEST_KEY = 200


def errors(*statuses: int) -> dict[int, ResponseSpec]:
    """Returns the errors that a route can answer with, for the OpenAPI document."""
    descriptions = {
        400: "The request is invalid.",
        401: "The token is missing or wrong.",
        403: "This is not allowed.",
        404: "Not found.",
        409: "Not possible in the current state.",
        413: "The request is too large.",
        429: "A limit is reached; see Retry-After.",
        502: "The agent failed.",
    }
    return {
        status: ResponseSpec(ErrorAnswer, description=descriptions[status], generate_examples=False)
        for status in sorted({400, 401, 403, *statuses})
    }


def find_caller(
    request: Request[Any, Any, Any],
    idempotency_key: Annotated[
        str | None,
        HeaderParameter(
            name="Idempotency-Key",
            description="A request repeated with the same key acts once and gets the same answer.",
        ),
    ] = None,
) -> _Caller:
    """Returns the caller with the idempotency key of the header."""
    caller: _Caller = request.scope["state"]["caller"]
    return with_key(caller, idempotency_key)


async def answered(services: _Services, key: Hashable, make: Callable[[], Awaitable[Any]]) -> Response[Any]:
    """Returns a cached answer, or the result of `make` if the database has changed since."""
    return Response(await services.store.responses.get(key, make), media_type="application/json")


async def whole_id(services: _Services, table: Table, text: str) -> str:
    """Returns the full id for a short one, as scopes of idempotency keys need it."""
    return await services.store.read(lambda tx: short_ids.whole_id(tx, table, text))


def with_key(caller: _Caller, key: str | None) -> _Caller:
    """Returns the caller with an idempotency key from the body, which counts like the header's."""
    if key is None:
        return caller
    if caller.idempotency_key not in (None, key):
        raise Invalid("bad_idempotency_key", "The header and the body have different idempotency keys. Send only one.")
    if not 1 <= len(key) <= LONGEST_KEY or "\0" in key:
        raise Invalid("bad_idempotency_key", f"An idempotency key must have between 1 and {LONGEST_KEY} characters.")
    return msgspec.structs.replace(caller, idempotency_key=key)


class OptionalKey(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """An empty body, or one with only an idempotency key."""

    idempotency_key: str | None = None
