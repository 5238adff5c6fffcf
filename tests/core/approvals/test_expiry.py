"""Tests what happens to approvals that nobody answers in time."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.core.asking_agent import (
    LATER,
    LEAVE,
    NO_ONCE,
    POLICY,
    RUN,
    SOON,
    add_wanting,
    answers,
    prompts,
    wanting,
)
from tests.core.helpers import messages, open_in
from tests.support.server import ServerProcess


@pytest.mark.parametrize(("headless", "received"), [("deny", "no"), ("allow", "yes")])
async def test_unanswered_approvals_get_the_default_answer(tmp_path: Path, headless: str, received: str) -> None:
    """P4: Applies the server's default answer, decided by policy."""
    async with wanting(tmp_path, headless=headless, approval_timeout=SOON) as wanter:
        assert await wanter.settled(RUN) == received
        (row,) = await wanter.rows()
        assert (row["status"], row["decision"], row["decidedBy"]) == ("expired", headless, POLICY)
        assert row["expiresAt"] <= row["decidedAt"] and row["onExpiry"] == headless
        assert "Nobody answered" in row["reason"]
        assert len(await messages(wanter.client, wanter.session, "notice")) == (headless == "deny")
        assert await wanter.settled(wanter.edit("a")) == received
        assert len(prompts(wanter.received)[-1]) == 1 + (headless == "deny")


async def test_approvals_that_a_timeout_never_allows(tmp_path: Path) -> None:
    """P4: A timeout denies a change of mode, a use without a once-only option, and one that a rule has forbidden
    meanwhile."""
    async with wanting(tmp_path, headless="allow", approval_timeout=SOON) as wanter:
        assert await wanter.settled(LEAVE) == "no"
        assert await wanter.settled(RUN, options=NO_ONCE) == "no"
        assert {row["status"] for row in await wanter.rows()} == {"expired"}
        assert {row["decision"] for row in await wanter.rows()} == {"deny"}
    async with wanting(tmp_path / "late", headless="allow", approval_timeout=LATER) as wanter:
        task = await wanter.wants(RUN)
        await wanter.client.approval(wanter.session)
        await wanter.rule("deny", command="make *", note="not any more")
        await wanter.patch(approvalTimeout=SOON)
        await wanter.client.wait_task(task)
        (row,) = await wanter.rows()
        assert (row["status"], row["decision"]) == ("expired", "deny") and "not any more" in row["reason"]
        assert answers(wanter.received) == ["no"]


async def test_a_sessions_default_answer_comes_first(tmp_path: Path) -> None:
    """P4: A session's own default answer applies to its approvals, including pending ones; null uses the server's."""
    async with wanting(tmp_path, headless="deny", approval_timeout=LATER) as wanter:
        await wanter.patch(headless="wait")
        await wanter.wants(RUN)
        approval = await wanter.client.approval(wanter.session)
        assert approval["expiresAt"] is None
        path = f"/api/approvals/{approval['id']}"
        async with wanter.client.events(wanter.session) as events:
            assert (await wanter.patch(headless="allow"))["headless"] == "allow"
            changed = (await events.until(lambda event: event["type"] == "approval.patched"))["data"]
        assert (changed["onExpiry"], changed["status"]) == ("allow", "pending") and changed["expiresAt"]
        assert await wanter.client.get(path) == changed
        await wanter.patch(headless=None)
        assert (await wanter.client.get(path))["onExpiry"] == "deny"
        await wanter.patch(headless="wait")
        assert (await wanter.client.get(path))["expiresAt"] is None


async def test_an_approval_expires_without_a_server(tmp_path: Path) -> None:
    """P4, O2: An approval survives a kill -9 of the server and expires on time."""
    received = add_wanting(tmp_path)
    flags = ("--headless", "deny", "--approval-timeout", str(2 / 60))
    async with ServerProcess(tmp_path / "data", tmp_path / "work", flags) as server:
        async with server.client() as client:
            session = await open_in(server, client, agent="wants", permissionMode="ask")
            task = await client.prompt(session, json.dumps({"call": RUN}))
            approval = await client.approval(session)
        await server.stop(signal.SIGKILL)
        assert not answers(received)
        await server.start()
        async with server.client() as client:
            assert (await client.wait_task(task))["attempt"] == 1
            row = await client.get(f"/api/approvals/{approval['id']}")
            assert (row["status"], row["decidedBy"]) == ("expired", POLICY)
    assert answers(received) == ["no"]
