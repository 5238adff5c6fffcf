"""P1, P3: Tests what each agent does in each permission mode (which actions run, are asked about or are refused), and
that people's rules and choices hold in every mode."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path

import msgspec
import pytest

from tests.real_agents.helpers.agent_under_test import Real
from tests.real_agents.helpers.expected_rights import (
    ASKS,
    COARSER,
    COMMIT,
    GRANTED,
    MODES,
    REFUSED,
    REMOVE,
    RUNS,
    Trials,
    Web,
    expected,
    outcome,
    tried,
)
from tests.real_agents.helpers.measurements_table import Record
from tests.real_agents.helpers.watch_turn import pending, watch


@contextlib.asynccontextmanager
async def listening() -> AsyncGenerator[Web]:
    """Runs a server that answers every request with an empty page."""
    paths: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.readuntil(b"\r\n\r\n")
        paths.append(request.split()[1].decode())
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield Web(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", paths)


def test_nothing_more_than_granted_is_expected() -> None:
    """P1: Expects an agent that differs from the rule to do less, except for actions that change nothing."""
    more = {
        action
        for coarser in COARSER.values()
        for action, (modes, instead) in coarser.items()
        if instead == RUNS and any(action not in GRANTED[mode] for mode in modes)
    }
    assert more == {"echo"}


@pytest.mark.parametrize("mode", MODES)
async def test_a_mode_grants_what_it_says(real: Real, http_tools: str, place: Path, mode: str, record: Record) -> None:
    """P1: Runs nothing unasked that the mode does not grant, asks about nothing that it grants, and does nothing that
    was denied."""
    known = await real.client.post("/api/mcp-servers", {"name": "far", "transport": "http", "url": http_tools})
    session = await real.session(permissionMode=mode, mcpServerIds=[known["id"]])
    outcomes: dict[str, str] = {}
    async with listening() as web:
        trials = Trials(real, place, web)
        for action in tried(real.agent):
            outcomes[action] = await outcome(real, session, trials, action)
            record(f"mode {mode}: {action}", outcomes[action])
    assert outcomes == {action: expected(real.agent, mode, action) for action in outcomes}
    assert await pending(real) == []
    assert (await real.client.get(f"/api/sessions/{session}"))["permissionMode"] == mode


async def test_bypassing_grants_no_less_than_auto(real: Real, place: Path, record: Record) -> None:
    """P1: What runs or is asked about in `auto` is not refused in `bypassPermissions`: a commit, and the deletion of a
    folder inside the session's."""
    order = (REFUSED, ASKS, RUNS)
    session = await real.session(permissionMode="auto")
    trials = Trials(real, place)
    outcomes_by_action: dict[str, list[str]] = {COMMIT: [], REMOVE: []}
    for mode in ("auto", "bypassPermissions"):
        await real.client.call("PATCH", f"/api/sessions/{session}", json={"permissionMode": mode})
        for action, outcomes in outcomes_by_action.items():
            outcomes.append(await outcome(real, session, trials, action))
            record(f"mode {mode}: {action}", outcomes[-1])
    for action, (lower, higher) in outcomes_by_action.items():
        assert order.index(lower) <= order.index(higher), (action, lower, higher)
        assert higher != REFUSED, action
    assert await pending(real) == []


async def test_rules_hold_in_every_mode(real: Real, record: Record) -> None:
    """P3: Denies what a person's rule denies even in modes in which the agent would not ask, and tells the agent
    why."""
    note = "Leave that to us."
    await real.client.post("/api/policy/rules", {"effect": "deny", "command": "touch*", "note": note})
    await real.client.post("/api/policy/rules", {"effect": "deny", "path": "secret*", "note": note})
    actions, repo = real.actions, real.repo
    session = await real.session(permissionMode="acceptEdits")
    for mode in ("acceptEdits", "auto", "bypassPermissions"):
        await real.client.call("PATCH", f"/api/sessions/{session}", json={"permissionMode": mode})
        command = f"touch {mode}.command"
        for prompt, file in (
            (actions.shell(command, escalate=True), f"{mode}.command"),
            (actions.write(f"secret.{mode}"), f"secret.{mode}"),
        ):
            seen = await watch(real, session, prompt, "allow")
            assert [(item["decidedBy"]["kind"], note in item["reason"]) for item in seen.refused] == [("policy", True)]
            assert (seen.asked, (repo / file).exists()) == ([], False)
        # The reason goes with the next prompt; what no rule covers stays free.
        seen = await watch(real, session, actions.write(f"open.{mode}"), "deny")
        assert (seen.asked, (repo / f"open.{mode}").exists()) == ([], True)
        sent = msgspec.json.encode((await real.model.last()).body).decode()
        assert "Policy denied" in sent and note in sent
    if real.agent == "codex":
        # Everything that its sandbox permits is allowed; a request to leave the sandbox is not.
        file, approvals, exists = repo.parent / "outside", 1, False
        prompt = actions.shell_outside(file, escalate=True)
    else:
        file, approvals, exists = repo / "by-command", 0, True
        prompt = actions.shell_write(file.name)
    seen = await watch(real, session, prompt, "deny")
    assert (len(seen.asked), file.exists()) == (approvals, exists)
    assert await pending(real) == []
    record("deny rules in acceptEdits, auto, bypassPermissions", "apply")
    # Agents read without asking, and rules only answer requests, so this is recorded, not promised.
    (repo / "secret.read").write_text("the hidden word", "utf-8")
    seen = await watch(real, session, actions.read("secret.read"), "deny")
    record(
        "reading a file that a rule denies", "reads it without asking" if "the hidden word" in seen.said else "denied"
    )


async def test_always_is_remembered_by_bough_alone(real: Real, record: Record) -> None:
    """P3: Answers the agent with "once" when a person says "always"; Bough does not ask again for the same, but does
    for anything else."""
    actions, repo = real.actions, real.repo
    session = await real.session(permissionMode="default")
    same, other = repo / "same", repo / "other"
    for prompt, another in (
        (actions.write(same.name), actions.write(other.name)),
        (actions.shell_write(same.name, escalate=True), actions.shell_write(other.name, escalate=True)),
    ):
        seen = await watch(real, session, prompt, "allow_always")
        assert (len(seen.asked), same.exists()) == (1, True)
        kinds = {option["optionId"]: option["kind"] for option in seen.asked[0]["options"]}
        approval = await real.client.get(f"/api/approvals/{seen.asked[0]['id']}")
        assert (approval["decision"], kinds[approval["optionId"]]) == ("allow_always", "allow_once")
        same.unlink()
        seen = await watch(real, session, prompt, "deny")
        assert (seen.asked, same.exists()) == ([], True)
        same.unlink()
        seen = await watch(real, session, another, "deny")
        assert (len(seen.asked), other.exists()) == (1, False)
    memories = [
        repo / ".claude",
        repo / ".qwen",
        repo / ".gemini",
        real.server.data / "homes/codex/rules/default.rules",
    ]
    assert [path for path in memories if path.exists()] == []
    assert await pending(real) == []
    record("*always*", "remembered only by Bough")
