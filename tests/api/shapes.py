"""What the suites of the REST and event doors share: the one shape of an error, and ids of things that are not there.
Talking to the server is `tests.support.client`."""

from __future__ import annotations

from typing import Any

import httpx

from bough.model.ids import new_id

Json = dict[str, Any]

# Never given out by a server: a time long past.
NOBODY = "00000000-0000-7000-8000-000000000000"


def refused(answer: httpx.Response, status: int, code: str | None = None) -> Json:
    """The error of an answer that must be a refusal in the one shape (A4)."""
    assert answer.status_code == status, f"{answer.request.method} {answer.url}: {answer.status_code} {answer.text}"
    assert answer.headers["content-type"].startswith("application/json")
    body: Json = answer.json()
    assert body.keys() == {"error"}
    error: Json = body["error"]
    assert {"code", "message", "id"} <= error.keys() <= {"code", "message", "id", "details"}
    assert error["message"].strip()
    assert len(error["id"]) == len(new_id())
    if code is not None:
        assert error["code"] == code, error
    return error
