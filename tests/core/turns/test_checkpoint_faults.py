"""W4, Q4: Tests checkpoints whose refs, rows and tasks do not all come to be."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bough.core.checkpoints.rows import FolderState
from bough.core.checkpoints.take import Checkpoints
from bough.errors import Internal
from bough.git.refs import checkpoint_refs
from tests.core.helpers import add_agent, messages, open_session
from tests.support.client import Json
from tests.support.eventually import eventually
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
        await eventually(lambda: checkpoint_ids(server.root / "repo0") == [], "the ref is dropped")


async def test_a_turn_that_fails_does_not_wait_for_its_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """W4: A person learns why an agent cannot start, however long git takes, and the slot is free again."""
    program = tmp_path / "agent"
    program.touch(0o755)
    add_agent(tmp_path, "absent", [str(program)])
    begun = asyncio.Event()

    async def scan_forever(*_arguments: object) -> FolderState:
        begun.set()
        await asyncio.Event().wait()
        return FolderState()

    async def take_nothing(*_arguments: object) -> FolderState:
        return FolderState()

    monkeypatch.setattr(Checkpoints, "_taken", scan_forever)
    monkeypatch.setattr(Checkpoints, "after", take_nothing)
    async with serving(tmp_path) as server:
        session = await open_session(server, agent="absent")
        program.unlink()
        ended = await server.client.wait_task(await server.client.prompt(session, "[[say heron]]"))
        assert begun.is_set()
        [shown] = await messages(server.client, session, "error")
        assert (ended["status"], shown["code"]) == ("failed", "agent_missing")


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
    await checkpoints.discard(str(server.root / "repo0"), task, row["ref"])
    assert row["ref"] in checkpoint_ids(server.root / "repo0")
