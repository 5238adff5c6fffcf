"""Tests `bough worktree status`, `commit`, `update`, `merge`, `push`, `pr`, `checks` and `cleanup`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.api.cli.cli_program import Cli
from tests.api.worktree_helpers import commit, head
from tests.core.finish.forge_stub import forge_stub, on_forge
from tests.core.finish.test_checks import run, thread
from tests.support.repos import git
from tests.support.server import Running


async def test_work_is_finished_from_the_command_line(server: Running, cli: Cli) -> None:
    """L4, F1, F3, F4: Commits, updates, merges, undoes and pushes, each with --dry-run and --json; a refusal exits
    with 1."""
    top = server.repo()
    remote = server.root / "remote.git"
    git(server.root, "clone", "--quiet", "--bare", str(top), str(remote))
    git(top, "remote", "add", "origin", str(remote))
    await cli("worktree", "new", "feature", "--repo", str(top))
    folder = top / ".worktrees" / "feature"
    (folder / "one.txt").write_text("1\n")
    (folder / "two.txt").write_text("2\n")
    shown = await cli("worktree", "status", str(folder))
    assert "2 not committed" in shown.out and "added        one.txt" in shown.out
    preview = await cli("worktree", "commit", str(folder), "one.txt", "-m", "One.", "--dry-run")
    assert (preview.code, "Commit 1 file to feature." in preview.out) == (0, True)
    assert "Nothing was changed" in preview.err
    done = await cli("worktree", "commit", str(folder), "one.txt", "-m", "One.", "--json")
    assert json.loads(done.out)["sha"] == head(folder)
    refused = await cli("worktree", "merge", str(folder), "--dry-run")
    assert (refused.code, "Refused: 1 file is not committed" in refused.out) == (1, True)
    assert (await cli("worktree", "merge", str(folder))).code == 1
    (folder / "two.txt").unlink()
    commit(top, "base.txt")
    assert "Rebase 1 commit of feature onto main." in (await cli("worktree", "update", str(folder), "--rebase")).out
    merged = await cli("worktree", "merge", str(folder), "--how", "ff")
    assert (merged.code, head(top)) == (0, head(folder))
    assert "into main" in (await cli("worktree", "status", str(folder))).out
    assert "Move main back" in (await cli("worktree", "merge", str(folder), "--undo")).out
    assert head(top) != head(folder)
    pushed = await cli("worktree", "push", str(folder), "--json")
    assert json.loads(pushed.out)["sha"] == git(remote, f"--git-dir={remote}", "rev-parse", "feature").strip()
    assert "0 to push" in (await cli("worktree", "status", str(folder))).out


async def test_a_pull_request_from_the_command_line(server: Running, cli: Cli) -> None:
    """L4, F6: `bough worktree pr` previews, pushes, and prints the reason, the link and the text to paste; a refusal
    exits with 1."""
    top = server.repo()
    remote = server.root / "remote.git"
    git(server.root, "clone", "--quiet", "--bare", str(top), str(remote))
    await cli("worktree", "new", "feature", "--repo", str(top))
    folder = top / ".worktrees" / "feature"
    assert (await cli("worktree", "pr", str(folder))).code == 1
    commit(folder, "one.txt", message="Add one.")
    refused = await cli("worktree", "pr", str(folder), "--dry-run")
    assert (refused.code, "Refused: The repository has no remote" in refused.out) == (1, True)
    git(top, "remote", "add", "origin", "git@bitbucket.org:acme/tool.git")
    preview = await cli("worktree", "pr", str(folder), "--dry-run", "--draft")
    assert (preview.code, "Open the pull request by hand" in preview.out) == (0, True)
    assert "https://bitbucket.org/acme/tool/pull-requests/new?source=feature" in preview.out
    assert "\nAdd one.\n" in preview.out and "Nothing was changed" in preview.err
    git(top, "remote", "set-url", "origin", str(remote))
    done = await cli("worktree", "pr", str(folder), "--title", "Mine", "--body", "Words.", "--web", "--json")
    answer = json.loads(done.out)["pullRequest"]
    assert (answer["title"], answer["body"], answer["url"]) == ("Mine", "Words.", None)
    assert "no page to open" in done.err
    assert head(folder) == git(remote, f"--git-dir={remote}", "rev-parse", "feature").strip()


async def test_the_list_marks_overlaps(server: Running, cli: Cli) -> None:
    """L4, F5: `bough worktree list` marks worktrees that changed the same files."""
    top = server.repo()
    for branch in ("one", "two", "three"):
        await cli("worktree", "new", branch, "--repo", str(top))
    for branch in ("one", "two"):
        commit(top / ".worktrees" / branch, "both.txt", f"{branch}\n")
    listed = (await cli("worktree", "list")).out
    assert "ready, overlaps two" in listed and "ready, overlaps one" in listed
    assert listed.count("ready, overlaps") == 2


async def test_a_conflict_from_the_command_line(server: Running, cli: Cli) -> None:
    """L4, F2: A conflict is refused with its files, and --agent hands it over."""
    top = server.repo()
    created = json.loads((await cli("worktree", "new", "feature", "--repo", str(top), "--json")).out)
    folder = top / ".worktrees" / "feature"
    commit(top, "both.txt", "ours\n")
    commit(folder, "both.txt", "theirs\n")
    preview = await cli("worktree", "update", str(folder), "-n")
    assert (preview.code, "in conflict  both.txt" in preview.out) == (1, True)
    await server.client.session(created["repoId"], worktreeId=created["id"])
    handed = await cli("worktree", "update", str(folder), "--agent")
    assert (handed.code, "bough session show" in handed.err) == (0, True)
    assert "merge" in (await cli("worktree", "status", str(folder))).out


async def test_cleaning_up_from_the_command_line(server: Running, cli: Cli) -> None:
    """L4, F7: A preview shows each step and a refusal exits with 1; --force removes unmerged work recoverably."""
    top = server.repo()
    await cli("worktree", "new", "feature", "--repo", str(top))
    folder = top / ".worktrees" / "feature"
    commit(folder, "one.txt")
    refused = await cli("worktree", "cleanup", str(folder), "--dry-run")
    assert (refused.code, "does not contain" in refused.out, folder.is_dir()) == (1, True, True)
    assert "or use --force: the branch stays" in refused.out and "force: true" not in refused.out
    assert "or use --force: the branch stays" in (await cli("worktree", "cleanup", str(folder))).err
    preview = await cli("worktree", "cleanup", str(folder), "--force", "-n")
    assert "Keep branch feature: it is not merged." in preview.out and "Nothing was changed" in preview.err
    done = await cli("worktree", "cleanup", str(folder), "--force")
    assert (done.code, "bough worktree recover" in done.err, folder.exists()) == (0, True, False)


async def test_checks_from_the_command_line(
    server: Running, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """L4, F8: Checks are shown, refreshed and sent; a failed one exits with 1, and the list has a mark."""
    forge = forge_stub(tmp_path / "forge", monkeypatch)
    work, _ = await on_forge(server, monkeypatch)
    folder = str(work.folder)
    assert "No pull request is known" in (await cli("worktree", "checks", folder)).out
    sha = commit(work.folder, "one.txt")
    assert (await cli("worktree", "pr", folder, "--title", "T")).code == 0
    forge.serve(head=sha, checks=[run(1, "failure")], threads=[thread(1, "Why?")])
    shown = await cli("worktree", "checks", folder, "--refresh")
    assert (shown.code, "1 failed, 1 open thread" in shown.out, "ana: Why?" in shown.out) == (1, True, True)
    assert "ready, PR 1: 1 failed" in (await cli("worktree", "list")).out
    await work.session()
    sent = await cli("worktree", "checks", folder, "--send")
    assert (sent.code, "Sent 2 as one prompt" in sent.out) == (0, True)
    automatic = await cli("worktree", "checks", folder, "--auto", "on")
    assert "new failures automatically" in automatic.out and "1 of 5" in automatic.out


async def test_sweeping_from_the_command_line(server: Running, cli: Cli) -> None:
    """L4, F9: The list shows the disk use, and a sweep with --dry-run says what would go and why others stay."""
    top = server.repo()
    for branch in ("done", "other"):
        await cli("worktree", "new", branch, "--repo", str(top))
        commit(top / ".worktrees" / branch, f"{branch}.txt")
    await cli("worktree", "merge", str(top / ".worktrees" / "done"))
    assert "MiB" in (await cli("worktree", "list", "--disk")).out
    preview = await cli("worktree", "sweep", "--dry-run")
    assert "would go" in preview.out and "does not contain" in preview.out and "Nothing was changed" in preview.err
    swept = await cli("worktree", "sweep", "--repo", str(top))
    assert "removed" in swept.out and not (top / ".worktrees" / "done").exists()
    assert (top / ".worktrees" / "other").is_dir()
