"""Tests `bough worktree`, `bough repo set`, and sessions in worktrees."""

from __future__ import annotations

import json
from pathlib import Path

from tests.api.cli.cli_program import Cli
from tests.support.repos import git
from tests.support.server import Running


async def test_a_worktree_from_new_to_recover(server: Running, cli: Cli) -> None:
    """L4: A worktree can be created, listed, shown, compared, changed, removed and recovered, each with --json too."""
    top = server.repo("my repo")
    result = await cli("worktree", "new", "feature/x", "--repo", str(top), "--notes", "For the login.")
    assert (result.code, "feature/x in" in result.out) == (0, True)
    tree = json.loads((await cli("worktree", "list", "--json")).out)["worktrees"][0]
    folder = top / ".worktrees" / "feature" / "x"
    assert tree["path"] == str(folder)
    listed = await cli("worktree", "list", "--repo", str(top))
    assert listed.out.splitlines()[0].split() == ["ID", "NAME", "BRANCH", "STATE", "AGE", "PATH"]
    assert tree["id"][-8:] in listed.out or tree["id"][:8] in listed.out
    (folder / "new.txt").write_text("hello\n")
    shown = await cli("worktree", "show", str(folder))
    assert "For the login." in shown.out
    assert "1 untracked" in shown.out
    assert json.loads((await cli("worktree", "show", tree["id"], "--json")).out)["git"]["untracked"] == 1
    changes = await cli("worktree", "diff", tree["id"][-8:])
    assert "+hello" in changes.out
    assert "+1 -0" in (await cli("worktree", "diff", tree["id"], "--stat", "--head")).out
    renamed = await cli("worktree", "set", tree["id"], "--name", "Login", "--x", "3", "--json")
    assert (json.loads(renamed.out)["name"], json.loads(renamed.out)["x"]) == ("Login", 3.0)
    assert (await cli("worktree", "set", tree["id"])).code == 2
    refused = await cli("worktree", "remove", tree["id"])
    assert refused.code == 1
    assert "untracked           new.txt" in refused.err
    assert "worktree_dirty" in refused.err
    gone = await cli("worktree", "remove", tree["id"], "--force", "--delete-branch")
    assert "its branch too" in gone.out
    assert f"bough worktree recover {tree['id'][-8:]}" in gone.err
    assert not folder.exists()
    assert "recoverable" in (await cli("worktree", "list", "--removed")).out
    back = await cli("worktree", "recover", tree["id"][-8:])
    assert back.code == 0
    assert (folder / "new.txt").read_text() == "hello\n"


async def test_adopting(server: Running, cli: Cli) -> None:
    """L4: Points out worktrees that only git knows, and adopts one by its path."""
    top = server.repo()
    hand = server.root / "hand"
    git(top, "worktree", "add", "--quiet", "-b", "hand", str(hand))
    added = await cli("repo", "add", str(top))
    assert (added.code, str(hand) in added.err) == (0, True)
    assert str(hand) in (await cli("worktree", "list", "--repo", str(top))).err
    adopted = await cli("worktree", "adopt", str(hand), "--repo", str(top), "--json")
    assert json.loads(adopted.out)["branch"] == "hand"
    assert (await cli("worktree", "list", "--repo", str(top))).err == ""
    assert "is forgotten" in (await cli("worktree", "remove", str(hand))).out
    assert hand.exists()
    wrong = await cli("worktree", "show", str(server.root))
    assert (wrong.code, "is not in a worktree that Bough knows" in wrong.err) == (1, True)


async def test_setup_is_shown(server: Running, cli: Cli) -> None:
    """L4: `repo set` defines the setup of new worktrees; `worktree new` shows its output, and fails if it fails."""
    top = server.repo()
    repo = json.loads((await cli("repo", "add", str(top), "--json")).out)
    setting = await cli("repo", "set", repo["id"], "--setup", "sh -c 'echo one two; exit 3'", "--copy", ".env")
    assert "sh -c 'echo one two; exit 3'" in setting.out
    assert ".env" in (await cli("repo", "show", repo["id"])).out
    result = await cli("worktree", "new", "a", "--repo", str(top))
    assert result.code == 1
    assert "one two" in result.err
    assert "exited with 3" in result.err
    assert "setup failed" in (await cli("worktree", "list")).out
    second = await cli("worktree", "new", "b", "--repo", str(top), "--json")
    assert json.loads(second.out)["setupOutput"] == "one two\n"
    cleared = await cli("repo", "set", repo["id"], "--setup", "", "--no-copy", "--name", "Mine", "--json")
    report = json.loads(cleared.out)
    assert (report["setup"], report["copyIgnored"], report["name"]) == ([], [], "Mine")
    assert (await cli("repo", "set", repo["id"])).code == 2
    assert (await cli("repo", "set", repo["id"], "--setup", "'open")).code == 2


async def test_what_git_may_run(server: Running, cli: Cli) -> None:
    """L4, W3: `repo add` asks about what a repository would run; `repo git` shows, allows and forbids it."""
    top = server.repo()
    git(top, "config", "filter.up.clean", "tr a-z A-Z")
    (top / ".gitattributes").write_text("*.up filter=up\n")
    added = await cli("repo", "add", str(top))
    assert "--allow filters" in added.err
    repo = added.out.split()[0]
    shown = await cli("repo", "git", repo)
    assert "filter.up.clean = tr a-z A-Z" in shown.out and "allowed" not in shown.out
    allowed = await cli("repo", "git", repo, "--allow", "filters", "--deny", "hooks", "--json")
    assert json.loads(allowed.out)["allowed"]["programs"] == {"filter.up.clean": "tr a-z A-Z"}
    assert "--allow" not in (await cli("repo", "add", str(top))).err
    git(top, "config", "filter.up.clean", "cat")
    assert "filter.up.clean" in (await cli("repo", "git", repo)).err
    for wrong in (("--allow", "everything"), ("--allow", "hooks", "--deny", "hooks")):
        assert (await cli("repo", "git", repo, *wrong)).code == 2


async def test_sessions_in_worktrees(server: Running, cli: Cli) -> None:
    """L4, W2: A session can be created in a new worktree and another one beside it; `rm --purge --worktree` also
    removes the worktree."""
    top = server.repo()
    new = ("session", "new", "--agent", "demo", "--json")
    session = json.loads((await cli(*new, "--repo", str(top), "--worktree", "feature")).out)
    assert Path(session["cwd"]) == top / ".worktrees" / "feature"
    beside = json.loads((await cli(*new, "--in", session["cwd"])).out)
    assert beside["worktreeId"] == session["worktreeId"]
    assert (await cli(*new, "--in", session["cwd"], "--worktree", "x")).code == 2
    await cli("session", "rm", beside["id"])
    (top / ".worktrees" / "feature" / "new.txt").write_text("x")
    refused = await cli("session", "rm", session["id"], "--purge", "--yes", "--worktree")
    assert (refused.code, "new.txt" in refused.err) == (1, True)
    gone = await cli("session", "rm", session["id"], "--purge", "--yes", "--worktree", "--force")
    assert (gone.code, "is removed" in gone.out) == (0, True)
    assert not (top / ".worktrees").exists()
