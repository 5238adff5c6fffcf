"""Decodes parameters of the protocol's methods that our own agents and the door for editors read alike."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from bough.agents.json_rpc import INVALID_PARAMS, RequestId, RpcError

T = TypeVar("T")


class _Params(msgspec.Struct, rename="camel", kw_only=True):
    pass


class Pair(msgspec.Struct):
    """An environment variable or a header."""

    name: str
    value: str


class ListSessions(_Params):
    cwd: str | None = None
    cursor: str | None = None


class SessionOnly(_Params):
    """The parameters of session/close, session/delete and session/cancel."""

    session_id: str


class SetMode(_Params):
    session_id: str
    mode_id: str


class SetConfigOption(_Params):
    session_id: str
    config_id: str
    value: str


class ReceivedPrompt(_Params):
    session_id: str
    # As it came; the reader checks the fields that it uses.
    prompt: list[dict[str, Any]]


class CancelRequest(_Params):
    request_id: RequestId


def read(raw: msgspec.Raw, kind: type[T]) -> T:
    """Decodes parameters. Raises `RpcError` if they do not fit the type."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.DecodeError as error:
        raise RpcError(INVALID_PARAMS, f"Invalid params: {error}") from error
