"""Tests that commands take titles, names, branches, folders and `@last` in place of ids."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.api.cli.cli_program import Cli, bough
from tests.support.repos import make_repo
from tests.support.server import Running


async def _shown(cli: Cli, *words: str) -> str:
    shown = await cli(*words, "--json")
    assert shown.code == 0, shown.err
    return json.loads(shown.out)["id"]


async def test_a_session_has_many_names(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """R5: A session is found by its title, branch, the name of its worktree or repo, its folder, and `@last`."""
    client = server.client
    assert await _shown(cli, "session", "show", "first") == session["id"]
    assert await _shown(cli, "session", "show", "repo") == session["id"]
    assert await _shown(cli, "session", "show", f"{server.root}/repo") == session["id"]
    tree = await client.post(
        "/api/worktrees", {"repoId": session["repoId"], "branch": "feature/birds", "name": "aviary"}, expect=201
    )
    other = await client.post("/api/sessions", {"worktreeId": tree["id"], "agent": "demo", "title": "Two words"})
    for name in ("feature/birds", "aviary", "Two words", tree["path"], "@last"):
        assert await _shown(cli, "session", "show", name) == other["id"], name
    assert (await cli("session", "prompt", "Two words", "[[say hi]]", "-f")).out == "hi\n"
    assert "hi" in (await cli("export", "feature/birds")).out
    waited = await cli("wait", "Two words", "first")
    assert (waited.code, waited.out.count("Session ")) == (0, 2)
    ended = await cli("session", "complete", "Two words", "first")
    assert (ended.code, ended.out.count("is completed")) == (0, 2)
    assert (await client.get(f"/api/sessions/{other['id']}"))["status"] == "completed"
    # The title of an archived session works while no other session has it.
    await cli("session", "archive", "Two words")
    assert await _shown(cli, "session", "show", "Two words") == other["id"]


async def test_the_current_folder_names_a_session(server: Running, session: dict[str, Any]) -> None:
    """R5: `.` is the session of this folder or of the nearest one above it; an ended one yields to an active one."""
    inside = server.root / "repo" / "deep" / "er"
    inside.mkdir(parents=True)
    ended = await server.client.session(session["repoId"], title="ended")
    await server.client.post(f"/api/sessions/{ended['id']}/complete")
    for folder in (server.root / "repo", inside):
        shown = await bough("session", "show", ".", "--json", cwd=folder, BOUGH_DATA=str(server.data))
        assert json.loads(shown.out)["id"] == session["id"]
    nothing = await bough("session", "show", ".", cwd=server.root.parent, BOUGH_DATA=str(server.data))
    # The only session works below this folder.
    assert nothing.code == 0
    elsewhere = await bough("session", "show", ".", cwd=Path("/usr"), BOUGH_DATA=str(server.data))
    assert elsewhere.code == 1 and "is not the folder of a session" in elsewhere.err
    gone = await bough("session", "show", "./gone", cwd=inside, BOUGH_DATA=str(server.data))
    assert gone.code == 1 and "There is no such folder" in gone.err


async def test_a_bare_word_names_nothing_around_its_folder(server: Running, session: dict[str, Any]) -> None:
    """R5: A word that happens to be a folder inside a worktree or a session's folder does not mean them; a path does,
    and so does the name of a record's own folder."""
    named = {"repoId": session["repoId"], "branch": "feature", "name": "aviary"}
    made = await server.client.post("/api/worktrees", named, expect=201)
    inside, data = Path(made["path"]), str(server.data)
    (inside / "docs").mkdir()
    (server.root / "repo" / "docs").mkdir()
    refused = await bough("worktree", "remove", "docs", "--force", cwd=inside, BOUGH_DATA=data)
    assert refused.code == 1 and "(worktree_not_found)" in refused.err, refused
    for folder in (server.root / "repo", server.root.parent):
        word = "docs" if folder.name == "repo" else server.root.name
        refused = await bough("session", "complete", word, cwd=folder, BOUGH_DATA=data)
        assert refused.code == 1 and "(session_not_found)" in refused.err, refused
    for folder, word in ((inside, "./docs"), (inside.parent, inside.name)):
        shown = await bough("worktree", "show", word, "--json", cwd=folder, BOUGH_DATA=data)
        assert json.loads(shown.out)["id"] == made["id"], shown


async def test_a_name_must_be_unique(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """R5: A name that may mean several records is refused with the candidates, and so is one that nothing has. No title
    takes the place of another session's branch or repo."""
    other = await server.client.session(session["repoId"], title="first")
    refused = await cli("session", "stop", "first")
    assert refused.code == 1 and "(ambiguous_name)" in refused.err
    assert session["id"][-8:] in refused.err and other["id"][-8:] in refused.err
    as_json = json.loads((await cli("session", "stop", "first", "--json")).out)["error"]
    assert {item["id"] for item in as_json["details"]["candidates"]} == {session["id"], other["id"]}
    await server.client.call("PATCH", f"/api/sessions/{other['id']}", json={"title": "repo"})
    assert "(ambiguous_name)" in (await cli("session", "show", "repo")).err
    missing = await cli("session", "show", "nothing like it")
    assert (
        missing.code == 1
        and "Use an id or at least 8 characters of it, a title," in missing.err
        and "(session_not_found)" in missing.err
    )
    several = await cli("session", "archive", "nothing like it", "first")
    assert several.code == 1 and "is archived" in several.out


async def test_a_title_does_not_replace_a_folder(server: Running, session: dict[str, Any]) -> None:
    """R5: A text that is a folder here and the title of another session is refused; a title in the folder itself, and
    `./`, are clear."""
    repo = server.root / "repo"
    other = make_repo(server.root / "other")
    there = await server.client.session((await server.client.repo(other))["id"], title="second")

    async def shown(text: str) -> dict[str, Any]:
        result = await bough("session", "show", text, "--json", cwd=server.root, BOUGH_DATA=str(server.data))
        return json.loads(result.out)

    assert (await shown("other"))["id"] == there["id"]
    await server.client.call("PATCH", f"/api/sessions/{session['id']}", json={"title": "other"})
    error = (await shown("other"))["error"]
    assert error["code"] == "ambiguous_name"
    assert {item["id"] for item in error["details"]["candidates"]} == {session["id"], there["id"]}
    assert (await shown("./other"))["id"] == there["id"]
    await server.client.call("PATCH", f"/api/sessions/{session['id']}", json={"title": "repo"})
    assert repo.is_dir() and (await shown("repo"))["id"] == session["id"]


async def test_last_is_your_own(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """R5: `@last` is the session that you created last: no side question, and no session of an agent."""
    assert (await cli("session", "btw", session["id"], "why?", "-f")).code == 0
    await server.client.ask(session["id"], "[[mcp bough spawn_session prompt=hello]]")
    assert await _shown(cli, "session", "show", "@last") == session["id"]
    fork = await server.client.post(f"/api/sessions/{session['id']}/fork", {}, expect=201)
    assert await _shown(cli, "session", "show", "@last") == fork["sessionId"]


async def test_worktrees_and_repos_have_names(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """R5: Worktrees and repos are found by name, branch, folder and `@last`, also where sessions are created."""
    made = await cli("worktree", "new", "feature/x", "--repo", "repo", "--json")
    tree = json.loads(made.out)
    for name in ("feature/x", tree["path"], "@last", tree["id"][-8:]):
        assert await _shown(cli, "worktree", "show", name) == tree["id"]
    for name in ("repo", str(server.root / "repo"), "@last", "feature/x"):
        assert await _shown(cli, "repo", "show", name) == session["repoId"]
    created = json.loads((await cli("session", "new", "--in", "feature/x", "--json")).out)
    assert created["worktreeId"] == tree["id"]
    created = json.loads((await cli("session", "new", "--repo", "repo", "--json")).out)
    assert created["repoId"] == session["repoId"]
    assert "first" in (await cli("session", "list", "--repo", "repo")).out
    assert (await cli("session", "complete", "feature/x")).code == 0
    (server.root / "repo" / ".worktrees" / "feature" / "x" / "untracked.txt").write_text("x")
    assert (await cli("worktree", "rm", "feature/x", "--force")).code == 0
    assert (await cli("worktree", "recover", "feature/x")).code == 0
    for words in (("session", "new"), ("session", "list"), ("worktree", "list"), ("worktree", "new", "b")):
        nowhere = await cli(*words, "--repo", "nowhere")
        assert nowhere.code == 1 and "no such folder" in nowhere.err, nowhere.err
        path = await cli(*words, "--repo", "./nowhere")
        assert path.code == 1 and "o such folder" in path.err, path.err


async def test_last_among_worktrees(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """R5, W2: Among removed worktrees, `@last` is the one removed last. Commands that are hard to undo refuse `@last`:
    the newest worktree may be someone else's."""
    made = {
        branch: await server.client.post("/api/worktrees", {"repoId": session["repoId"], "branch": branch}, expect=201)
        for branch in ("older", "newer")
    }
    for words in (("remove", "@last", "--force"), ("merge", "@last"), ("push", "@last")):
        refused = await cli("worktree", *words)
        assert refused.code == 1 and "bough worktree list" in refused.err, refused
    assert (await cli("worktree", "show", "@last")).code == 0
    for branch in ("newer", "older"):
        assert (await cli("worktree", "remove", branch)).code == 0
    recovered = await cli("worktree", "recover", "@last", "--json")
    assert recovered.code == 0 and json.loads(recovered.out)["id"] == made["older"]["id"], recovered


async def test_names_over_rest(server: Running, session: dict[str, Any]) -> None:
    """R5, A2: `GET /api/find` finds a record by a name or a folder, and refuses what it cannot understand."""
    record = await server.client.get("/api/find?kind=session&name=first")
    assert (record["id"], record["name"], record["folder"]) == (session["id"], "first", str(server.root / "repo"))
    for query, status in (("kind=session", 400), ("kind=bird&name=x", 400), ("kind=repo&folder=relative", 400)):
        await server.client.get(f"/api/find?{query}", expect=status)
    await server.client.get("/api/find?kind=race&name=@last", expect=404)
    await server.client.get(f"/api/find?kind=session&name={'x' * 501}", expect=400)


@pytest.mark.parametrize(
    ("words", "incomplete", "offered"),
    [
        (("session", "show"), "fir", "first"),
        (("session", "show"), "@", "@last"),
        (("repo", "show"), "re", "repo"),
        (("worktree", "show"), "feature/", "feature/x"),
        (("session", "new", "--repo"), "re", "repo"),
        (("wait",), "fir", "first"),
    ],
)
async def test_the_shell_completes_names(
    server: Running, session: dict[str, Any], words: tuple[str, ...], incomplete: str, offered: str
) -> None:
    """O5, R5: The shell completes titles, branches, names and `@last`, as it completes ids."""
    await server.client.post("/api/worktrees", {"repoId": session["repoId"], "branch": "feature/x"}, expect=201)
    line = ("bough", *words, incomplete)
    result = await bough(
        _BOUGH_COMPLETE="complete_bash",
        COMP_WORDS=" ".join(line),
        COMP_CWORD=str(len(line) - 1),
        BOUGH_DATA=str(server.data),
        PATH=os.environ["PATH"],
    )
    assert offered in result.out.split(), result
