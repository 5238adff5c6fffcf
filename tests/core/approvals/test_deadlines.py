"""Tests until when an approval waits and what is answered then."""

from __future__ import annotations

from typing import Any, cast

import msgspec
import pytest

from bough.core.approvals.deadlines import deadline
from bough.model.session import Headless, Session
from bough.model.values.times import seconds_until
from bough.settings import Settings


class _Session(msgspec.Struct):
    """The fields of a session that count here."""

    headless: Headless | None = None
    approval_timeout: float | None = None


@pytest.mark.parametrize(
    ("of_session", "of_server", "minutes", "answer"),
    [
        ({}, {}, None, None),
        ({}, {"headless": "deny", "approval_timeout": 5}, 5, "deny"),
        ({"headless": "allow"}, {"headless": "deny", "approval_timeout": 5}, 5, "allow"),
        ({"headless": "wait"}, {"headless": "deny"}, None, None),
        ({"approval_timeout": 7}, {"headless": "allow", "approval_timeout": 5}, 7, "allow"),
        ({"approval_timeout": 7}, {"headless": "wait"}, None, None),
    ],
)
def test_deadlines(of_session: Any, of_server: Any, minutes: float | None, answer: str | None) -> None:
    """P4: A session's own default answer and time come before the server's; without a default answer, an approval waits
    forever."""
    session = cast("Session", _Session(**of_session))
    expires_at, on_expiry = deadline(session, Settings(**of_server))
    assert on_expiry == answer
    assert expires_at is None if minutes is None else abs(seconds_until(expires_at or "") - minutes * 60) < 30
