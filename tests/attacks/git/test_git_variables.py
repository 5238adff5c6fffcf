"""Variables of a session by which git would work elsewhere or run programs: Bough's own git takes none of them."""

from __future__ import annotations

from pathlib import Path

from tests.support.repos import git, make_repo
from tests.support.server import Running


def _variables(other: Path, evil: Path) -> dict[str, str]:
    """Returns variables that lead git to another repository, and to a program that leaves a file."""
    program = f"touch {evil}"
    folders = {"GIT_DIR": other / ".git", "GIT_WORK_TREE": other, "GIT_OBJECT_DIRECTORY": other / ".git" / "objects"}
    folders |= {"GIT_INDEX_FILE": other / "index", "GIT_ALTERNATE_OBJECT_DIRECTORIES": other, "GIT_EXEC_PATH": other}
    folders |= {"GIT_CONFIG_GLOBAL": other / "settings", "GIT_TEMPLATE_DIR": other, "GIT_TRACE": evil}
    settings = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": program}
    programs = ("GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_EDITOR", "GIT_ASKPASS")
    return {name: str(path) for name, path in folders.items()} | settings | dict.fromkeys(programs, program)


async def test_a_sessions_variables_do_not_reach_bough_s_git(server: Running, tmp_path: Path) -> None:
    """W3: Whatever `GIT_*` a session has, Bough's checkpoints, forks, commits and merges work in its own repository and
    run nothing."""
    client, other, evil = server.client, make_repo(server.root / "other"), tmp_path / "evil"
    (other / "settings").write_text(f"[core]\n\tfsmonitor = touch {evil}\n")
    before = git(other, "status", "--porcelain"), git(other, "for-each-ref")
    repo = await client.repo(server.repo())
    session = await client.session(
        repo["id"],
        agent="demo",
        env=_variables(other, evil),
        permissionMode="bypassPermissions",
        worktree={"branch": "topic"},
    )
    assert (await client.ask(session["id"], "[[write mine.txt hello]]"))["status"] == "completed"
    work = f"/api/worktrees/{session['worktreeId']}"
    committed = await client.post(f"{work}/commit", {"message": "Add a file."})
    assert committed["files"] == ["mine.txt"]
    await client.post(f"{work}/merge", {})
    fork = await client.post(f"/api/sessions/{session['id']}/fork", {"prompt": "[[say done]]"})
    assert (await client.wait_task(fork["taskId"]))["status"] == "completed"
    assert (server.root / "repo" / "mine.txt").exists()
    assert not evil.exists()
    assert (git(other, "status", "--porcelain"), git(other, "for-each-ref")) == before
