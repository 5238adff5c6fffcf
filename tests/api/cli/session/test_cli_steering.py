"""Tests `bough session prompt --now` and `--after-stop`."""

from __future__ import annotations

import json
from typing import Any

from tests.api.cli.cli_program import Cli
from tests.support.server import Running


async def test_send_now_and_stop_and_send(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """Q8: `--now` puts a prompt into the running turn, and `--follow` shows that turn to its end; `--after-stop` stops
    the turn for it; both together are wrong use."""
    client = server.client
    turn = await client.prompt(session["id"], "[[hang]]")
    await client.wait_task(turn, "running")
    sent = await cli("session", "prompt", session["id"], "more", "--now", "--json")
    assert sent.code == 0, sent.err
    assert (await client.wait_task(json.loads(sent.out)["taskId"]))["steersTaskId"] == turn
    followed = await cli("session", "prompt", session["id"], "[[say heard]] [[fail enough]]", "--now", "-f")
    assert followed.code == 1 and "heard" in followed.out and "enough" in followed.err
    turn = await client.prompt(session["id"], "[[hang]]")
    await client.wait_task(turn, "running")
    instead = await cli("session", "prompt", session["id"], "[[say instead]]", "--after-stop", "-f")
    assert (instead.code, instead.out) == (0, "instead\n")
    assert (await client.get(f"/api/tasks/{turn}"))["status"] == "cancelled"
    assert (await cli("session", "prompt", session["id"], "x", "--now", "--after-stop")).code == 2
