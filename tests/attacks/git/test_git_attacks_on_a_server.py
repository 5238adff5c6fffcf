"""Attacks a whole server: a session's folder turns hostile while people continue to use it, and after a restart."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attacks.git.hostile_repositories import Place, filters, fsmonitor, hooks, merge_driver, required_filters
from tests.support.client import Client, Json
from tests.support.repos import make_repo
from tests.support.server import serving

MODE = "bypassPermissions"


async def say(client: Client, session_id: str, text: str) -> Json:
    return await client.wait_task(await client.prompt(session_id, text))


async def try_(client: Client, method: str, path: str, body: Json | None = None) -> Json:
    """Asks for something that may be refused in a hostile folder."""
    answer = await client.http.request(method, path, json=body)
    return answer.json() if answer.status_code < 400 else {}


async def use_everything(client: Client, session_id: str, repo_id: str) -> None:
    """Does with a session what people do."""
    task = await say(client, session_id, "[[write b.txt two]]")
    assert task["status"] == "completed"
    for path in (f"/api/tasks/{task['id']}/diff", f"/api/sessions/{session_id}/diff", "/api/home"):
        await try_(client, "GET", path)
    await try_(client, "POST", f"/api/tasks/{task['id']}/restore", {})
    made = await try_(client, "POST", "/api/worktrees", {"repoId": repo_id, "branch": "feature"})
    if made:
        await say(client, (await client.session(repo_id, worktreeId=made["id"]))["id"], "[[write c.txt three]]")
        await review_and_finish(client, made["id"])
    await try_(client, "POST", f"/api/sessions/{session_id}/fork", {"prompt": "[[say hi]]", "worktree": "new"})
    begun = await try_(
        client, "POST", f"/api/sessions/{session_id}/race", {"prompt": "[[write d.txt four]]", "contenders": [{}, {}]}
    )
    for racer in begun.get("sessions", []):
        await client.wait_task(racer["taskId"])
    if begun:
        body = {"sessionId": begun["sessions"][0]["sessionId"], "force": True}
        await try_(client, "POST", f"/api/races/{begun['raceId']}/keep", body)
    if made:
        await try_(client, "DELETE", f"/api/worktrees/{made['id']}?force=true")
        await try_(client, "POST", f"/api/worktrees/{made['id']}/recover", {})


async def review_and_finish(client: Client, worktree: str) -> None:
    """Looks at a worktree in every way, and does with its work what people do in the end."""
    place, review = f"/api/worktrees/{worktree}", f"/api/reviews/worktree/{worktree}"
    looks = (place, f"{place}/diff", f"{place}/losses", f"{place}/finish", f"{place}/checks", review)
    pages = ("progress", "overlaps", "disk", "checks")
    for path in (*looks, f"{review}/file?path=c.txt", *(f"/api/worktrees/{page}" for page in pages)):
        await try_(client, "GET", path)
    for verb in ("commit", "update", "merge", "merge/undo", "push", "pull-request", "checks/refresh", "cleanup"):
        for body in ({"dryRun": True}, {}):
            await try_(client, "POST", f"{place}/{verb}", body)
    await try_(client, "POST", "/api/worktrees/sweep", {"dryRun": True})


@pytest.mark.parametrize("kind", ["git", "plain"])
async def test_a_folder_that_turns_hostile_runs_nothing(tmp_path: Path, kind: str) -> None:
    """W3, P1: Whatever people do with a session, its folder's git configuration runs no program in the server."""
    folder = tmp_path / "work" / "folder"
    folder.mkdir(parents=True)
    if kind == "git":
        make_repo(folder)
    data = folder / ".git" if kind == "git" else folder
    place = Place(folder, folder, data / "config", data / "hooks", tmp_path / "ran")
    async with serving(tmp_path) as server:
        repo = await server.client.repo(folder)
        session = await server.client.session(repo["id"], permissionMode=MODE)
        await say(server.client, session["id"], "[[write a.txt one]]")
        if kind == "plain":
            for name in ("objects/x", "refs/x"):
                (folder / name).parent.mkdir()
                (folder / name).write_text("x")
            (folder / "HEAD").write_text("ref: refs/heads/main\n")
            (folder / "config").write_text(f"[core]\n\tworktree = {folder}\n")
        for attack in (fsmonitor, filters, required_filters, hooks, merge_driver):
            attack(place)
        await use_everything(server.client, session["id"], repo["id"])
        again = await server.client.repo(folder)
        assert (again["id"], again["kind"]) == (repo["id"], kind)
        assert place.ran() is None
    async with serving(tmp_path) as server:
        await say(server.client, session["id"], "[[write e.txt five]]")
        assert (await server.client.get(f"/api/repos/{repo['id']}"))["kind"] == kind
    assert place.ran() is None
