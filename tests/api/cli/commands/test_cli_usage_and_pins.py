"""Tests `bough usage` and `bough session pin|unpin|unseen`."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest

from tests.api.cli.cli_program import Cli
from tests.support.server import Running

NOBODY = "01900000-0000-7000-8000-000000000000"


async def test_usage(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """O4, O5: Usage is a table by day, agent, repository or tree with its total; `--json` prints the report."""
    await server.client.ask(session["id"], "one two three")
    shown = await cli("usage", "--since", "2d")
    assert (shown.code, shown.out.splitlines()[0].split()) == (0, ["DAY", "TURNS", "TOKENS", "COST"])
    assert [line.split()[1] for line in shown.out.splitlines()[1:]] == ["0", "1", "1"]
    for by, name in (("agent", "demo"), ("repo", "repo"), ("tree", "first")):
        table = (await cli("usage", "--by", by)).out
        assert table.startswith(by.upper()) and name in table and "Total" in table
    offset = datetime.now().astimezone().utcoffset()
    assert offset is not None
    minutes = int(offset.total_seconds() // 60)
    report = json.loads((await cli("usage", "--by", "tree", "--since", "3d", "--json")).out)
    assert report == await server.client.get(f"/api/usage?by=tree&since=3d&tz={minutes}")
    assert report["groups"][0]["turns"] == 1
    await server.client.call("DELETE", f"/api/sessions/{session['id']}?purge=true")
    assert f"(removed tree {session['id'][-8:]})" in (await cli("usage", "--by", "tree")).out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--by", "colour"), "day, agent, repo"),
        (("--since", "yesterday"), "'yesterday' is neither a day"),
        (("--since", "0d"), "between 1 and 366 days"),
        (("--since", "367d"), "between 1 and 366 days"),
        (("--since", "2999-01-01"), "between 1 and 366 days"),
        (("--since", "2026-02-30"), "neither a day"),
    ],
)
async def test_wrong_reports_say_what_is_wrong(server: Running, cli: Cli, options: tuple[str, str], words: str) -> None:
    """O5: A report that cannot be made is refused with the reason, also as JSON."""
    plain, as_json = await cli("usage", *options), await cli("usage", *options, "--json")
    assert (plain.code, plain.out) == (1, "") and words in plain.err, plain
    assert as_json.code == 1


async def test_pins_and_unread_marks(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """O4, O5: A session is pinned once, listed, unpinned and marked as unread by its id or the end of it."""
    short = session["id"][-8:]
    odd = await server.client.session(session["repoId"], title="odd \x1b[31m one")
    pinned = await cli("session", "pin", short)
    assert (pinned.code, pinned.out) == (0, f"{short}  first\n")
    assert (await cli("session", "pin", session["id"])).out == pinned.out
    both = await cli("session", "pin", odd["id"])
    assert "odd" in both.out and "\x1b" not in both.out and len(both.out.splitlines()) == 2
    sidebar = json.loads((await cli("session", "unpin", odd["id"], "--json")).out)
    assert [row["id"] for row in sidebar["sessions"] if row["pinned"]] == [session["id"]]
    again = await cli("session", "unpin", odd["id"])
    assert (again.code, again.out) == (0, f"{short}  first\n")
    assert (await cli("session", "unpin", short)).out == "You have no pinned sessions.\n"
    await server.client.ask(session["id"], "[[say one]]")
    await cli("session", "seen", short)
    assert "Unread" not in (await cli("home")).out
    unseen = await cli("session", "unseen", short)
    assert (unseen.code, unseen.out) == (0, f"Session {short} is marked as unread.\n")
    assert "Unread (1)" in (await cli("home")).out
    assert json.loads((await cli("session", "unseen", short, "--json")).out)["id"] == session["id"]
    for verb in ("pin", "unpin", "unseen"):
        for wrong in (NOBODY, "no such id"):
            refused = await cli("session", verb, wrong)
            assert refused.code in (1, 2) and refused.out == "" and refused.err, (verb, wrong)
        missing = await cli("session", verb)
        assert missing.code == 2
