"""Checks error responses, and defines an id that no record has."""

from __future__ import annotations

from typing import Any

import httpx

from bough.model.values.ids import new_id

Json = dict[str, Any]

# A time long past, so no server has created it.
NOBODY = "00000000-0000-7000-8000-000000000000"


def refused(answer: httpx.Response, status: int, code: str | None = None) -> Json:
    """Asserts that an answer is a well-formed error and returns it."""
    assert answer.status_code == status, f"{answer.request.method} {answer.url}: {answer.status_code} {answer.text}"
    assert answer.headers["content-type"].startswith("application/json")
    body: Json = answer.json()
    assert body.keys() == {"error"}
    error: Json = body["error"]
    assert {"code", "message", "id"} <= error.keys() <= {"code", "message", "id", "details"}
    assert error["message"].strip()
    assert len(error["id"]) == len(new_id())
    assert code in (None, error["code"]), error
    return error
