"""Tests `bough user`, `bough token add`, `bough audit` and `bough db prune-audit`."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from bough.api.cli.access.token import expiry
from bough.model.values import times
from tests.api.cli.cli_program import Cli, run_here
from tests.support.server import Running, serving


async def test_users_and_their_tokens(server: Running, cli: Cli) -> None:
    """L1, L4: A person is added, gets a token, works with it within the role, and is removed."""
    assert (await cli("user", "add", "anna", "--role", "operator")).out == "Added anna (operator).\n"
    created = await cli("token", "add", "--user", "anna", "--scope", "viewer", "--expires", "30d", "--name", "laptop")
    token = created.out.strip()
    assert token.startswith("bough-user-") and "expires in 29 d" in created.err
    remote = ("--url", server.url, "--token", token)
    assert (await cli("user", "me", *remote)).out == "anna (viewer)\n"
    refused = await cli("user", "list", *remote)
    assert refused.code == 1 and "role admin" in refused.err
    listed = await cli("user", "list")
    assert "owner" in listed.out and "anna" in listed.out
    users = json.loads((await cli("user", "list", "--json")).out)["users"]
    assert [(user["name"], user["role"], user["tokens"]) for user in users] == [
        ("owner", "admin", 0),
        ("anna", "operator", 1),
    ]
    assert "anna (viewer)" in (await cli("token", "list", *remote)).out
    row = json.loads((await cli("token", "list", "--json", *remote)).out)["tokens"][0]
    rotated = (await cli("token", "rotate", row["id"])).out.strip()
    assert rotated.startswith("bough-user-") and rotated != token
    assert (await cli("token", "revoke", row["id"])).out.startswith("Revoked: laptop")
    assert (await cli("user", "set", "anna", "--role", "viewer")).out == "anna is now viewer.\n"
    assert (await cli("user", "remove", "anna")).out == "Removed anna.\n"
    assert (await cli("user", "remove", "anna")).code == 1
    assert (await cli("token", "rotate", row["id"], "--revoke-pages")).code == 2


def test_expiry() -> None:
    """L4: A token's end is a span, a date, a time, or never."""
    assert expiry("never") is None
    for text, seconds in (("90m", 5400), ("12h", 43200), ("30d", 2592000), ("2w", 1209600)):
        end = expiry(text)
        assert end is not None and abs(times.seconds_until(end) - seconds) < 60
    assert (expiry("2099-12-31") or "").startswith("2099-12-3")


async def test_the_audit_trail(server: Running, cli: Cli) -> None:
    """L1, L4: The trail is listed with filters, as JSON, and exported one entry per line."""
    await cli("user", "add", "anna")
    await cli("user", "add", "bob")
    listed = await cli("audit")
    assert listed.code == 0 and "user.added" in listed.out and "user=anna" in listed.out
    assert json.loads((await cli("audit", "--json", "--limit", "1")).out)["total"] == 2
    exported = [json.loads(line) for line in (await cli("audit", "--export")).out.splitlines()]
    assert [entry["details"]["user"] for entry in exported] == ["anna", "bob"]
    assert (await cli("audit", "--action", "token")).out.strip() == "No entries."
    assert (await cli("audit", "--action", "nothing")).code == 1


async def test_pruning_needs_the_server_to_be_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """L1: Entries are removed only on the machine, without a server, after a confirmation."""
    monkeypatch.setenv("BOUGH_DATA", str(tmp_path / "data"))
    async with serving(tmp_path) as server:
        await server.client.post("/api/users", {"name": "anna"})
        early = await asyncio.to_thread(run_here, ["db", "prune-audit", "--before", "2099-01-01", "--yes"])
        assert early.code == 1 and "running" in early.err
    asked = await asyncio.to_thread(run_here, ["db", "prune-audit", "--before", "2099-01-01"], "n\n")
    assert asked.code == 1
    pruned = await asyncio.to_thread(run_here, ["db", "prune-audit", "--before", "2099-01-01", "--yes"])
    assert pruned.out == "Removed 1 entry of the audit trail.\n"
    async with serving(tmp_path) as server:
        (entry,) = (await server.client.get("/api/audit"))["entries"]
        assert (entry["action"], entry["door"], entry["number"]) == ("audit.pruned", "machine", 2)
