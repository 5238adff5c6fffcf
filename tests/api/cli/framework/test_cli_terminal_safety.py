"""Tests that output cannot control the terminal and that errors use the words of the command line."""

from __future__ import annotations

import io
import json
import logging
import sys
from collections.abc import Generator
from typing import Any

import pytest
import structlog

from bough.api.cli.framework.error_hints import explain
from bough.errors import Conflict
from bough.observe.logging import configure
from tests.api.cli.cli_program import Cli, bough
from tests.api.cli.cli_terminal import terminal
from tests.support.server import Running

EVIL = "a\x1b[2J\x1b]52;c;ZXZpbA==\x07\x9b31m\u202eb"


async def test_exported_text_does_not_control_the_terminal(server: Running, session: dict[str, Any]) -> None:
    """O5: Exported text is unchanged in a pipe; on a terminal, control sequences are removed."""
    await server.client.ask(session["id"], f"[[say {EVIL}]]")
    data = str(server.data)
    for form in ("markdown", "json"):
        arguments = ("export", session["id"], "--format", form)
        piped = (await bough(*arguments, BOUGH_DATA=data)).out
        outputs = (
            [message["content"].get("text") for message in json.loads(piped)["messages"]] if form == "json" else piped
        )
        assert EVIL in outputs
        async with terminal(*arguments, BOUGH_DATA=data) as screen:
            assert await screen.end() == 0
            await screen.until("52;c;")
            assert not set(screen.screen) & set("\x1b\x07\x9b\u202e")


async def test_a_waiting_session_shows_its_approval(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """P4: A waiting session shows the question and the command that answers it; as JSON, the approval."""
    await server.client.prompt(session["id"], "[[run ls]]")
    asked = await server.client.approval(session["id"])
    shown = await cli("session", "show", session["id"])
    assert shown.out.splitlines()[-1] == f"? execute: ls — bough approval allow {asked['id'][-8:]}"
    row = json.loads((await cli("session", "show", session["id"], "--json")).out)
    assert [approval["id"] for approval in row["approvals"]] == [asked["id"]]
    busy = await cli("session", "complete", session["id"])
    assert busy.code == 1 and "--force" in busy.err and "force: true" not in busy.err
    assert (await cli("session", "complete", session["id"], "--force")).code == 0
    assert "bough approval" not in (await cli("session", "show", session["id"])).out


async def test_refusals_suggest_commands(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """L4: The advice in a refusal can be typed as it is, and its ids are short (R5)."""
    known = session["id"][-8:]
    sent = await cli("session", "prompt", session["id"], "hello")
    assert sent.out.endswith(f"bough session watch {known}\n")
    used = await cli("repo", "rm", session["repoId"])
    assert used.code == 1 and "bough session rm --purge" in used.err and "/api/" not in used.err
    assert "bough worktree rm WORKTREE" in used.err
    failed = Conflict("session_failed", f"Session {session['id']} ended in an error.", status="error")
    assert "bough session fork SESSION" in explain(failed)
    await cli("session", "rm", session["id"])
    ended = await cli("session", "prompt", session["id"], "more")
    assert (
        ended.code == 1 and "(cancelled)" in ended.err and "--resume" in ended.err and "resume: true" not in ended.err
    )
    assert ended.err.endswith("(session_ended)\n")
    elsewhere = await cli("session", "list", "--repo", str(server.root))
    assert elsewhere.code == 1 and session["id"] not in ended.err


@pytest.fixture
def console(monkeypatch: pytest.MonkeyPatch) -> Generator[io.StringIO]:
    """Formats log lines for a terminal."""
    written = io.StringIO()
    monkeypatch.setattr(sys, "stderr", written)
    root = logging.getLogger()
    before = root.handlers[:], root.level
    configure("info", "console")
    yield written
    root.handlers[:], root.level = before
    structlog.reset_defaults()


def test_log_lines_do_not_control_the_terminal(console: io.StringIO) -> None:
    """O2: Texts, nested values, errors and lines of libraries in the log cannot control the terminal."""
    log = structlog.get_logger("test")
    log.info(f"event {EVIL}", text=EVIL, inside={"deep": [EVIL]}, two="x\ny")
    try:
        raise ValueError(EVIL)
    except ValueError:
        log.exception("failed")
        logging.getLogger("library").exception("line %s", EVIL)
    written = console.getvalue()
    # Only the renderer's own colors are left.
    assert written.count("2J") == 6 and not set(written) & set("\x07\x9b\u202e")
    assert "\x1b[2J" not in written and "\x1b]52" not in written
    assert "Traceback" in written and "\n    raise ValueError" in written
