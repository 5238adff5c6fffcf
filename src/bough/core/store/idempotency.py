"""Answers a repeated request as the first one was answered, by its idempotency key (A4). Refuses a key that was used
for a different request. All functions are part of a transaction."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, TypeVar

import msgspec

from bough.core.store.decode import decoded
from bough.core.store.short_ids import Table, whole_id
from bough.core.store.sql import KEYS
from bough.errors import Conflict, Internal
from bough.model.session import Caller
from bough.storage.backend import Tx

T = TypeVar("T")


class RecordScope(NamedTuple):
    """The scope of an idempotency key for an action on one record. Every spelling of the record's id is the same
    scope."""

    action: str
    table: Table
    record_id: str


# An action that concerns no existing record is a scope by its name alone.
KeyScope = str | RecordScope


class RequestKey(NamedTuple):
    """An idempotency key with the fingerprint of the request that uses it."""

    key: str
    fingerprint: str


class StoredAnswer(msgspec.Struct):
    """The answer stored for a key, and the fingerprint of its request."""

    fingerprint: str
    answer: msgspec.Raw | None


class KeyAnswer(msgspec.Struct):
    """A key with its stored answer."""

    key: str
    answer: msgspec.Raw | None


def fingerprint(request: Any) -> str:
    """Returns the hash by which two requests with the same key are compared."""
    return hashlib.sha256(msgspec.json.encode(request)).hexdigest()


async def answer_once(
    tx: Tx,
    now: str,
    caller: Caller,
    scope: KeyScope,
    key: RequestKey,
    kind: type[T],
    work: Callable[[], Awaitable[T]],
) -> T:
    """Runs `work` and stores its answer, or returns the answer stored for this key before."""
    name = await _full_scope(tx, caller, scope)
    if not await tx.run(KEYS.claim, key=key.key, scope=name, fingerprint=key.fingerprint, now=now):
        return _answer(await tx.one(KEYS.find, StoredAnswer, scope=name, key=key.key), key, kind)
    result = await work()
    await tx.run(KEYS.answer, scope=name, key=key.key, answer=msgspec.json.encode(result))
    return result


async def find_answer(tx: Tx, caller: Caller, scope: KeyScope, key: RequestKey, kind: type[T]) -> T | None:
    """Returns the answer stored for this key, if any. Raises `Conflict` if it was for another request."""
    stored = await tx.one(KEYS.find, StoredAnswer, scope=await _full_scope(tx, caller, scope), key=key.key)
    return None if stored is None else _answer(stored, key, kind)


async def find_answers(tx: Tx, caller: Caller, scope: KeyScope, kind: type[T]) -> dict[str, T]:
    """Returns every stored answer in one of the caller's scopes, by key."""
    rows = await tx.all(KEYS.in_scope, KeyAnswer, scope=await _full_scope(tx, caller, scope))
    return {row.key: decoded(bytes(row.answer), kind) for row in rows if row.answer is not None}


async def replace_answer(tx: Tx, caller: Caller, scope: KeyScope, answer: Any) -> None:
    """Replaces the stored answer; does nothing if the caller sent no key."""
    key = caller.idempotency_key
    if key is not None:
        name = await _full_scope(tx, caller, scope)
        await tx.run(KEYS.answer, scope=name, key=key, answer=msgspec.json.encode(answer))


async def forget_answer(tx: Tx, caller: Caller, scope: KeyScope) -> None:
    """Releases a key, so that the next request with it is carried out."""
    await tx.run(KEYS.forget, scope=await _full_scope(tx, caller, scope), key=caller.idempotency_key)


async def _full_scope(tx: Tx, caller: Caller, scope: KeyScope) -> str:
    """Returns the scope as it is stored, with the caller, because different callers may choose the same keys."""
    if isinstance(scope, RecordScope):
        scope = f"{scope.action}:{await whole_id(tx, scope.table, scope.record_id)}"
    return f"{caller.kind}:{caller.own_id}:{scope}"


def _answer(stored: StoredAnswer | None, key: RequestKey, kind: type[T]) -> T:
    if stored is None or stored.answer is None:
        raise Internal("answer_missing", f"The idempotency key {key.key!r} is in use but has no stored answer.")
    if stored.fingerprint != key.fingerprint:
        raise Conflict(
            "idempotency_key_reused",
            f"The idempotency key {key.key!r} was already used for a different request. Use a new key.",
        )
    return decoded(bytes(stored.answer), kind)
