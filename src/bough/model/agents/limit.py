"""Defines the limit of an agent's account, and what a task that waits for its end shows of it."""

from __future__ import annotations

import msgspec


class AgentLimit(msgspec.Struct, rename="camel"):
    """A row of `agent_limits`: a limit in force. The account is empty for the server's own login, else the fingerprint
    of the session's own key. `resumes_at` is None while a person is asked."""

    agent: str
    account: str
    reason: str
    is_usage: bool
    started_at: str
    resumes_at: str | None
    tries: int


class ParkedTask(msgspec.Struct, rename="camel"):
    """The limit that a parked task waits for."""

    agent: str
    account: str
    kind: str
    reason: str
    parked_at: str
    resumes_at: str | None
    tries: int
