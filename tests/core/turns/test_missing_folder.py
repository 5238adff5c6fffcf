"""Tests turns of sessions whose folder was deleted or moved."""

from __future__ import annotations

import shutil

from tests.support.repos import make_repo
from tests.support.server import Running


async def test_a_missing_folder_is_said_and_not_recreated(server: Running) -> None:
    """W3, T6: A prompt to a session whose folder is gone fails with `folder_missing`, whether its agent is awake or
    not, and nothing is created there. The queue waits; once the folder is back, the session continues."""
    client = server.client
    folder = server.root / "gone"
    for kind in ("plain", "git"):
        make_repo(folder) if kind == "git" else folder.mkdir()
        repo = await client.repo(folder)
        fresh = await client.session(repo["id"])
        awake = await client.session(repo["id"])
        assert (await client.ask(awake["id"], "hello"))["status"] == "completed"
        folder.rename(server.root / "elsewhere")
        for session in (fresh, awake):
            task = await client.ask(session["id"], "[[write made.txt here]]")
            assert (task["status"], task["error"]["code"]) == ("failed", "folder_missing")
            assert str(folder) in task["error"]["message"]
            assert (await client.get(f"/api/sessions/{session['id']}"))["queuePaused"]
            assert not folder.exists()
        (server.root / "elsewhere").rename(folder)
        for session in (fresh, awake):
            assert (await client.ask(session["id"], "hello"))["status"] == "completed"
            await client.post(f"/api/sessions/{session['id']}/complete")
        shutil.rmtree(folder)


async def test_a_file_in_place_of_the_folder(server: Running) -> None:
    """W3: A file where the folder was is no folder either."""
    folder = server.root / "gone"
    folder.mkdir()
    repo = await server.client.repo(folder)
    session = await server.client.session(repo["id"])
    folder.rmdir()
    folder.write_text("a file")
    task = await server.client.ask(session["id"], "hello")
    assert task["error"]["code"] == "folder_missing"
