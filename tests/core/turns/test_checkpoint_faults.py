"""W4, Q4: Tests checkpoints whose refs, rows and tasks do not all come to be."""

from __future__ import annotations

from pathlib import Path

import pytest

from bough.core.checkpoints.take import FolderState
from bough.errors import Internal
from bough.git import checkpoint_refs
from bough.model.checkpoint import Checkpoint
from tests.core.helpers import add_agent, open_session
from tests.support.client import Json
from tests.support.repos import git
from tests.support.server import Running, serving


def checkpoint_ids(repo: Path) -> list[str]:
    return git(repo, "for-each-ref", "--format=%(refname)", "refs/bough").split()


async def before(server: Running, task: str) -> Json:
    """Returns the checkpoint before a task."""
    return (await server.client.get(f"/api/tasks/{task}"))["checkpoints"]["before"]


async def test_a_turn_that_was_never_sent_leaves_no_ref(tmp_path: Path) -> None:
    """W4: The files before it are of no use to anybody."""
    program = tmp_path / "agent"
    program.touch(0o755)
    add_agent(tmp_path, "absent", [str(program)])
    async with serving(tmp_path) as server:
        session = await open_session(server, agent="absent")
        program.unlink()
        ended = await server.client.wait_task(await server.client.prompt(session, "[[say heron]]"))
        assert ended["status"] == "failed"
        assert checkpoint_ids(server.root / "repo0") == []


async def test_a_checkpoint_without_a_ref_says_so(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """W4: Files that git would delete some day are not shown as kept."""

    async def fail(_cwd: str, _refs: dict[str, str]) -> None:
        raise Internal("git_failed", "No space left on device.")

    monkeypatch.setattr(checkpoint_refs, "keep", fail)
    session = await open_session(server)
    task = await server.client.prompt(session, "[[say heron]]")
    await server.client.wait_task(task)
    row = await before(server, task)
    assert (row["sha"], row["ref"], row["note"]) == (None, None, "No checkpoint: No space left on device.")


async def test_a_stored_checkpoint_keeps_its_ref(server: Running) -> None:
    """W4: A turn that was stopped after it was stored as sent is not taken for one that was not sent."""
    session = await open_session(server)
    task = await server.client.prompt(session, "[[say heron]]")
    await server.client.wait_task(task)
    row = await before(server, task)
    checkpoints = server.services.runner.checkpoints
    stored: Checkpoint = await checkpoints.get(row["id"])
    await checkpoints.discard(FolderState(None, stored))
    assert row["ref"] in checkpoint_ids(server.root / "repo0")
