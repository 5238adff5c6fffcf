"""Tests that lists stay readable in narrow terminals, and that each record has one short id."""

from __future__ import annotations

import functools
from typing import Any

import pytest
from rich.console import Console

from bough.api.cli.framework import output
from tests.api.cli.cli_program import Cli
from tests.support.server import Running

LONG = "A very long title of a session that nobody could fit into a narrow terminal, with more words"
LISTS = (
    ("session", "list"),
    ("task", "list"),
    ("approval", "list", "--all"),
    ("worktree", "list"),
    ("repo", "list"),
    ("checkpoint", "list"),
    ("race", "list"),
    ("policy", "list"),
    ("tree",),
    ("home",),
)


@pytest.mark.parametrize("columns", [60, 80])
async def test_no_list_loses_its_ids(server: Running, cli: Cli, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    """O5: Each line of a list fits into 60 and 80 columns and has its whole id, by which every record is shown."""
    client = server.client
    repo = await client.repo(server.repo("a-repository-with-a-rather-long-name"))
    session = await client.session(repo["id"], title=LONG, permissionMode="bypassPermissions", model="demo-large")
    await client.ask(session["id"], "[[write a.txt x]]")
    await client.call("PATCH", f"/api/sessions/{session['id']}", json={"permissionMode": "ask"})
    await client.prompt(session["id"], "[[run echo a rather long command that does not fit into one line at all]]")
    asked = await client.approval(session["id"])
    other = await client.session(repo["id"], title=LONG)
    contenders = [{"agent": "demo"}, {"agent": "demo", "model": "demo-large"}]
    race = await client.post(
        f"/api/sessions/{other['id']}/race", {"prompt": "[[say a]] " + LONG, "contenders": contenders}, expect=201
    )
    await client.post("/api/policy/rules", {"effect": "deny", "command": "git push --force *", "note": LONG})
    expected = {
        "session list": [session["id"], *(item["sessionId"] for item in race["sessions"])],
        "approval list --all": [asked["id"]],
        "repo list": [repo["id"]],
        "race list": [race["raceId"], other["id"]],
        "tree": [session["id"], other["id"]],
        "home": [asked["id"]],
    }
    monkeypatch.setenv("COLUMNS", str(columns))
    for words in LISTS:
        output.console.cache_clear()
        listed = await cli(*words)
        assert listed.code == 0, listed.err
        table = [row for row in listed.out.splitlines() if not row.startswith(("1 session", "2 session", "3 session"))]
        assert max(len(row.rstrip()) for row in table if "  " in row) <= columns, listed.out
        for full in expected.get(" ".join(words), []):
            assert full[-8:] in listed.out, (words, listed.out)
    shown = await cli("race", "show", race["raceId"])
    assert all(item["sessionId"][-8:] in shown.out for item in race["sessions"])
    output.console.cache_clear()


def test_columns_are_left_out_before_ids(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """O5: In a very narrow terminal, texts are truncated first, then the last columns are left out; ids never are."""

    @functools.cache
    def narrow() -> Console:
        return Console(width=34, markup=False, emoji=False, highlight=False)

    monkeypatch.setattr(output, "console", narrow)
    rows: list[tuple[Any, ...]] = [("3f9a12c4", "claude-code", "waiting_permission", "0a1b2c3d", "Some title")]
    output.table(("ID", "AGENT", "STATUS", "TASK", "TITLE"), rows, flexible="TITLE", empty="")
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line.rstrip()) <= 34 for line in lines)
    assert "3f9a12c4" in lines[1] and "0a1b2c3d" in lines[1] and "STATUS" not in lines[0]


async def test_each_record_has_one_short_id(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """R5: Lists and sentences show the same short form of an id: its end."""
    repo_id = session["repoId"]
    assert (await cli("repo", "list")).out.splitlines()[1].split()[0] == repo_id[-8:]
    assert f" {repo_id[-8:]} " in (await cli("session", "show", session["id"])).out
    added = await cli("mcp", "add", "tools", "--command", "true")
    assert added.code == 0
    server_id = (await server.client.get("/api/mcp-servers"))["mcpServers"][0]["id"]
    assert server_id[-8:] in (await cli("mcp", "list")).out
