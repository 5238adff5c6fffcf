"""Attacks by a server of pull requests, and by whoever may write there, on who reads checks and review threads."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from bough.git.finish.forge_checks import LONGEST_ADDRESS, LONGEST_COMMENT, LONGEST_ID
from tests.api.error_responses import Json
from tests.api.worktree_helpers import commit
from tests.core.finish.forge_stub import forge_stub, on_forge
from tests.support.server import Running

# Answers each request with a file of its name, if there is one.
PROGRAM = """#!{python} -I
import os, sys
if sys.argv[1] != "api":
    sys.exit(print("a-token"))
name = sys.argv[-1].partition("?")[0].rpartition("/")[2]
path = os.path.join({folder!r}, name)
sys.stdout.buffer.write(open(path, "rb").read() if os.path.exists(path) else b"{{}}")
if os.path.exists(path + ".more"):
    for _ in range(50):
        sys.stdout.buffer.write(b" " * 2**20)
"""
LONG = "x" * 60_000
THREADS = b'{"data": {"repository": {"pullRequest": {"reviewThreads": {"nodes": %s}}}}}'


@pytest.fixture
async def asked(server: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Path]:
    """Provides a function that refreshes the checks of a pull request, and the folder of the server's answers."""
    stub = forge_stub(tmp_path / "forge", monkeypatch)
    work, _ = await on_forge(server, monkeypatch)
    sha = commit(work.folder, "one.txt")
    await work.do("pull-request", title="A tool")
    answers = tmp_path / "answers"
    answers.mkdir()
    (stub.folder / "bin" / "gh").write_text(PROGRAM.format(python=sys.executable, folder=str(answers)))
    request = {"head": {"sha": sha}, "state": "open", "html_url": "https://github.com/acme/tool/pull/1"}
    (answers / "1").write_text(json.dumps(request))
    (answers / "check-runs").write_text('{"check_runs": []}')
    (answers / "status").write_text('{"statuses": []}')
    (answers / "graphql").write_bytes(THREADS % b"[]")

    async def refresh() -> Json:
        return await server.client.post(f"/api/worktrees/{work.worktree['id']}/checks/refresh")

    return refresh, answers


async def test_answers_of_another_form(asked: tuple[Any, Path]) -> None:
    """F8: An answer that is no JSON, too deep, too large, or of other types is an error in words, and what was known
    stays."""
    refresh, answers = asked
    assert (await refresh())["error"] is None
    hostile: list[tuple[str, bytes]] = [
        ("1", b"[" * 200_000),
        ("1", b'{"a":' * 100_000),
        ("1", b"\x1b]0;owned\x07\xff\xfe{"),
        ("1", b'"text"'),
        ("1", b'{"head": [], "state": {}}'),
        ("1", b'{"head": {"sha": 1e999}, "state": "open"}'),
        ("1", b'{"head": {"sha": "a"}, "state": "open", "html_url": "javascript:alert(1)"}'),
        ("check-runs", b'{"check_runs": [{"id": 1}]}'),
        ("check-runs", b"[1, 2]"),
        ("graphql", b'{"data": null}'),
        ("graphql", THREADS % b'[{"isResolved": false, "id": 1, "comments": {"nodes": [{"body": 7}]}}]'),
        ("graphql", THREADS % b'[{"isResolved": 0, "id": 1, "line": "x", "comments": {"nodes": []}}]'),
    ]
    for name, text in hostile:
        usual = (answers / name).read_bytes()
        (answers / name).write_bytes(text)
        read = await refresh()
        assert read["error"] and read["error"].isprintable() and read["state"] == "open", text[:80]
        (answers / name).write_bytes(usual)
    (answers / "check-runs.more").touch()
    assert "more than" in (await refresh())["error"]
    (answers / "check-runs.more").unlink()
    assert (await refresh())["error"] is None


async def test_names_are_short_and_visible(asked: tuple[Any, Path]) -> None:
    """F8: Names, ids, commits and addresses that a server tells have limits, and no control characters; a commit of
    a fork counts as merged work of nobody."""
    refresh, answers = asked
    check = {
        "id": LONG,
        "name": f"\x1b[2J\u202e{LONG}",
        "status": "completed",
        "conclusion": "failure",
        "html_url": f"https://{LONG}",
    }
    (answers / "check-runs").write_text(json.dumps({"check_runs": [check] * 101}))
    comment = {"id": LONG, "author": {"login": f"\x07{LONG}"}, "body": f"\x9b{LONG}", "url": "javascript:alert(1)"}
    thread = {"id": LONG, "isResolved": False, "path": f"\x00{LONG}", "line": 10**18, "comments": {"nodes": [comment]}}
    (answers / "graphql").write_bytes(THREADS % json.dumps([thread]).encode())
    read = await refresh()
    assert read["error"] is None
    assert (len(read["checks"]), read["checks"][0]["url"]) == (100, None)
    assert len(json.dumps(read)) < 100 * (2 * LONGEST_COMMENT + LONGEST_ID + LONGEST_ADDRESS)
    texts = [read["checks"][0]["name"], read["threads"][0]["path"], *read["threads"][0]["comments"][0].values()]
    assert all(text.isprintable() for text in texts if text is not False)
    assert read["threads"][0]["url"] is None
    request = {"head": {"sha": LONG}, "state": "closed", "merged": True, "html_url": "https://github.com/eve/fork/1"}
    (answers / "1").write_text(json.dumps(request))
    assert (await refresh())["state"] == "merged"
