"""Tests `bough preset`, and `--preset` of the commands that create sessions."""

from __future__ import annotations

import json

from tests.api.cli.cli_program import Cli
from tests.support.server import Running


async def test_presets_from_end_to_end(server: Running, cli: Cli) -> None:
    """N1, N2, O5: A preset is added, listed, shown without secrets, changed, used and removed."""
    await server.client.repo(server.repo("shop"))
    assert "bough preset add NAME" in (await cli("preset", "list")).out
    added = await cli(
        *("preset", "add", "reviewer", "-a", "demo", "-m", "plan", "--effort", "high", "-e", "KEY=env-4c"),
        *("-i", "Review carefully.", "--description", "Reads"),
    )
    assert added.code == 0 and added.err == "Next: bough session new --preset reviewer\n", added.err
    assert "reviewer" in (await cli("preset", "list")).out
    shown = await cli("preset", "show", "reviewer")
    assert "KEY" in shown.out and "env-4c" not in shown.out and "Review carefully." in shown.out
    changed = await cli("preset", "change", "reviewer", "--no-mode", "--effort", "", "--name", "critic", "--json")
    row = json.loads(changed.out)
    assert (row["name"], row["permissionMode"], row["effort"], row["env"]) == ("critic", None, None, {"KEY": "***"})
    created = await cli("session", "new", "--repo", "shop", "--preset", "critic", "--json")
    session = json.loads(created.out)
    assert (session["preset"], session["agent"]) == ("critic", "demo")
    assert "critic" in (await cli("session", "show", session["id"])).out
    spawned = await cli(
        "session", "spawn", session["id"], "[[say hi]]", "--preset", "critic", "--mode", "plan", "--json"
    )
    child = await server.client.get(f"/api/sessions/{json.loads(spawned.out)['sessionId']}")
    assert (child["preset"], child["permissionMode"]) == ("critic", "plan")
    assert (await cli("preset", "rm", "critic", "--yes")).out == "Preset critic is removed.\n"
    missing = await cli("session", "new", "--repo", "shop", "--preset", "critic")
    assert missing.code != 0 and "no preset 'critic'" in missing.err
