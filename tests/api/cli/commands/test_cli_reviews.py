"""Tests `bough review`."""

from __future__ import annotations

import json

from tests.api.cli.cli_program import Cli
from tests.support.server import Running


async def test_a_review_from_the_command_line(server: Running, cli: Cli) -> None:
    """V1, V2, O5: Lists changed files, shows one, marks it as viewed, keeps a draft of comments and sends it once."""
    repo = await server.client.repo(server.repo())
    session = await server.client.session(repo["id"], permissionMode="bypassPermissions")
    task = await server.client.ask(session["id"], "[[write a.txt one]] [[say done]]")
    chosen = ("--session", session["id"])
    assert (await cli("review", "show", *chosen)).out.split() == ["A", "+1", "-0", "a.txt"]
    assert "+one" in (await cli("review", "show", "--task", task["id"], "--file", "a.txt")).out
    assert (await cli("review", "viewed", "a.txt", *chosen)).out == "a.txt: viewed\n"
    assert (await cli("review", "show", *chosen)).out.split() == ["A", "viewed", "+1", "-0", "a.txt"]
    assert (await cli("review", "viewed", "a.txt", "--undo", *chosen)).out == "a.txt: not viewed\n"
    wrong = await cli("review", "comment", "a.txt", "Why?", *chosen)
    assert wrong.code == 1 and "names no lines" in wrong.err
    made = json.loads((await cli("review", "comment", "a.txt:1", "Why?", *chosen, "--json")).out)
    await cli("review", "edit", made["id"], "Why so?")
    extra = json.loads((await cli("review", "comment", "a.txt:1-1", "Extra", *chosen, "--json")).out)
    assert (await cli("review", "remove", extra["id"])).out.startswith("Deleted comment")
    shown = await cli("review", "show", *chosen)
    assert "draft     a.txt:1: Why so?" in shown.out and "1 comment is not sent yet" in shown.err
    # The draft of the folder's worktree is another one.
    assert f"To send: bough review send -s {session['id'][-8:]}\n" in shown.err
    elsewhere = await cli("review", "send", *chosen, "--to", "nobody has this title")
    assert elsewhere.code == 1 and "(session_not_found)" in elsewhere.err
    sent = await cli("review", "send", *chosen, "--to", "@last", "--note", "Look:")
    assert sent.out.startswith("Sent 1 comment as task ")
    prompts = [item["prompt"] for item in (await server.client.get(f"/api/sessions/{session['id']}/tasks"))["tasks"]]
    assert "```txt\none\n```\n\nWhy so?" in prompts[-1]
    empty = await cli("review", "send", *chosen)
    assert empty.code == 1 and "(draft_empty)" in empty.err
    both = await cli("review", "show", *chosen, "--task", task["id"])
    assert both.code == 1 and "only one of" in both.err
