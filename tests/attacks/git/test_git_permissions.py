"""Shows that people can allow what a repository runs through git, that agents cannot, and that people who work normally
lose nothing by the protection."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bough.core.worktrees.git_permissions import GitPermissionsPatch
from bough.errors import BoughError, Conflict, Denied
from bough.git import worktrees
from bough.git.finish import merge
from bough.git.run import GitFailed
from bough.git.safe import forbid_programs, permissions
from bough.git.safe.location import find
from bough.git.safe.permissions import AllowedPrograms
from bough.git.working_copy.restore import apply, plan
from bough.git.working_copy.snapshot import take
from bough.git.working_copy.status import files
from bough.model.session import Caller
from tests.support.client import Json
from tests.support.repos import allow_programs, git, make_repo
from tests.support.server import Running

UPPER = {"filter.up.clean": "tr a-z A-Z", "filter.up.smudge": "tr A-Z a-z"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder whose git configuration is the user's own."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return folder


def use_filters(top: Path) -> None:
    for name, command in UPPER.items():
        git(top, "config", name, command)
    (top / ".gitattributes").write_text("*.up filter=up\n")


def content(top: Path, sha: str, name: str) -> str:
    return git(top, "cat-file", "blob", f"{sha}:{name}")


def write_hook(top: Path, name: str, file: Path) -> None:
    hook = top / ".git/hooks" / name
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\necho {name} >> '{file}'\n")
    hook.chmod(0o755)


def test_the_kernel_guards_git_here() -> None:
    """W3: The machines that run these tests have the guard, so that the other tests are about it."""
    assert forbid_programs.reason_missing() is None


async def test_a_filter_of_the_user_runs_only_if_allowed(home: Path, tmp_path: Path) -> None:
    """W3: A repository's attributes select on which files a user's own filter runs, so it needs the user's word too."""
    (home / ".gitconfig").write_text('[filter "up"]\n\tclean = tr a-z A-Z\n\trequired = true\n')
    top = make_repo(tmp_path / "repo")
    (top / ".gitattributes").write_text("*.up filter=up\n")
    (top / "a.up").write_text("word")
    assert content(top, (await take(str(top))).sha, "a.up") == "word"
    allow_programs(top)
    assert content(top, (await take(str(top))).sha, "a.up") == "WORD"


async def test_an_allowed_filter_runs_as_it_was_allowed(tmp_path: Path) -> None:
    """W3: A command that is put into the configuration later does not run, neither another filter nor a changed one."""
    top = make_repo(tmp_path / "repo")
    use_filters(top)
    (top / "a.up").write_text("word")
    allow_programs(top)
    shot = await take(str(top))
    assert content(top, shot.sha, "a.up") == "WORD"
    evil = f"touch {tmp_path}/ran; cat"
    git(top, "config", "filter.up.clean", evil)
    git(top, "config", "filter.other.clean", evil)
    (top / ".gitattributes").write_text("*.up filter=up\n*.txt filter=other\n")
    (top / "b.up").write_text("more")
    (top / "c.txt").write_text("text")
    later = await take(str(top))
    assert (content(top, later.sha, "b.up"), content(top, later.sha, "c.txt")) == ("MORE", "text")
    (top / "a.up").write_text("changed")
    await apply(await plan(str(top), shot.sha, ["a.up"]))
    assert (top / "a.up").read_text() == "word" and not (tmp_path / "ran").exists()
    git(top, "config", "filter.up.process", f"touch {tmp_path}/ran")
    (top / "b.up").write_text("other")
    await take(str(top))
    assert not (tmp_path / "ran").exists()


async def test_files_stored_without_a_filter_come_back_without_it(tmp_path: Path) -> None:
    """W4: Allowing a filter later does not change what an older checkpoint restores."""
    top = make_repo(tmp_path / "repo")
    use_filters(top)
    (top / "a.up").write_text("MiXed")
    shot = await take(str(top))
    allow_programs(top)
    (top / "a.up").write_text("other")
    await apply(await plan(str(top), shot.sha))
    assert (top / "a.up").read_text() == "MiXed"


async def test_hooks_run_only_if_allowed(tmp_path: Path) -> None:
    """W1, B6: Hooks run when a worktree is created and when a racer is merged, if a person allowed it."""
    top, ran = make_repo(tmp_path / "repo"), tmp_path / "ran"
    for name in ("post-checkout", "prepare-commit-msg", "post-merge"):
        write_hook(top, name, ran)
    for allowed in (False, True):
        permissions.allow(str(top / ".git"), AllowedPrograms(hooks=allowed))
        name = f"branch-{allowed}"
        branch = await worktrees.find_branch(str(top), name, None, "main")
        await worktrees.add(str(top), str(tmp_path / name), branch)
        (tmp_path / name / f"theirs-{allowed}").write_text("x")
        git(tmp_path / name, "add", "--all")
        git(tmp_path / name, "-c", "core.hooksPath=/dev/null", "commit", "--quiet", "--message", "Theirs.")
        (top / f"ours-{allowed}").write_text("x")
        git(top, "add", "--all")
        git(top, "-c", "core.hooksPath=/dev/null", "commit", "--quiet", "--message", "Ours.")
        sha = await worktrees.resolve(str(top), name)
        assert sha is not None and (await merge.check(str(top), sha)).kind == "merge"
        await merge.merge(str(top), sha, f"Merge {allowed}.")
        assert git(top, "log", "-1", "--format=%s %p").split(" ")[:2] == ["Merge", f"{allowed}."]
        assert len(git(top, "log", "-1", "--format=%P").split()) == 2
        assert git(top, "status", "--porcelain") == "" and (top / f"theirs-{allowed}").exists()
        assert ran.exists() == allowed
    assert set(ran.read_text().split()) == {"post-checkout", "prepare-commit-msg", "post-merge"}


async def test_a_fast_forward_needs_no_commit(tmp_path: Path) -> None:
    """B6: A racer that is only ahead is merged by moving the branch, and the reflog says so."""
    top = make_repo(tmp_path / "repo")
    git(top, "switch", "--quiet", "--create", "ahead")
    (top / "new").write_text("x")
    git(top, "add", "--all")
    git(top, "commit", "--quiet", "--message", "Ahead.")
    sha = git(top, "rev-parse", "HEAD").strip()
    git(top, "switch", "--quiet", "main")
    (top / "README.md").touch()
    await merge.merge(str(top), sha, "Unused.")
    assert git(top, "rev-parse", "main").strip() == sha and (top / "new").exists()
    assert git(top, "status", "--porcelain") == "" and "Fast-forward" in git(top, "reflog", "-1", "main")


@pytest.mark.parametrize("diverged", [False, True])
async def test_a_branch_that_cannot_be_moved_undoes_the_merge(tmp_path: Path, diverged: bool) -> None:
    """B6: With a lock that a killed git left behind, the merge is refused and no file changes."""
    top = make_repo(tmp_path / "repo")
    git(top, "switch", "--quiet", "--create", "ahead")
    (top / "new").write_text("x")
    (top / "README.md").write_text("theirs\n")
    git(top, "add", "--all")
    git(top, "commit", "--quiet", "--message", "Ahead.")
    sha = git(top, "rev-parse", "HEAD").strip()
    git(top, "switch", "--quiet", "main")
    if diverged:
        (top / "ours").write_text("x")
        git(top, "add", "--all")
        git(top, "commit", "--quiet", "--message", "Ours.")
    before, readme = git(top, "rev-parse", "HEAD"), (top / "README.md").read_text()
    lock = top / ".git/refs/heads/main.lock"
    lock.touch()
    with pytest.raises(BoughError, match="nothing was changed"):
        await merge.merge(str(top), sha, "Merge.")
    assert (git(top, "rev-parse", "HEAD"), (top / "README.md").read_text()) == (before, readme)
    assert git(top, "status", "--porcelain") == "" and not (top / "new").exists()
    lock.unlink()
    await merge.merge(str(top), sha, "Merge.")
    assert (top / "new").exists() and git(top, "status", "--porcelain") == ""


async def test_a_custom_merge_driver_refuses_the_merge(tmp_path: Path) -> None:
    """B6: Without its driver a merge is refused, and nothing changes."""
    top = make_repo(tmp_path / "repo")
    (top / ".gitattributes").write_text("merged merge=own\n")
    git(top, "config", "merge.own.driver", "true")
    for branch, text in (("main", "base\n"), ("other", "theirs\n"), ("main", "ours\n")):
        if branch == "other":
            git(top, "switch", "--quiet", "--create", branch)
        else:
            git(top, "switch", "--quiet", branch)
        (top / "merged").write_text(text)
        git(top, "add", "--all")
        git(top, "commit", "--quiet", "--message", text)
    sha = git(top, "rev-parse", "other").strip()
    before = git(top, "rev-parse", "HEAD")
    with pytest.raises(Conflict, match=r"merge driver.*[(]own[)].*`bough repo git REPO --allow filters`") as refused:
        await merge.check(str(top), sha)
    assert refused.value.code == "merge_blocked"
    assert git(top, "rev-parse", "HEAD") == before and (top / "merged").read_text() == "ours\n"
    allow_programs(top)
    assert (await merge.check(str(top), sha)).kind == "merge"


async def test_another_working_copy_in_the_configuration_is_not_used(tmp_path: Path) -> None:
    """W3: `core.worktree` cannot direct checkpoints and restores to files elsewhere."""
    top, elsewhere = make_repo(tmp_path / "repo"), tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "README.md").write_text("private\n")
    sha = git(top, "rev-parse", "HEAD").strip()
    git(top, "config", "core.worktree", str(elsewhere))
    for work in (lambda: take(str(top)), lambda: plan(str(top), sha)):
        with pytest.raises(GitFailed, match=r"core\.worktree"):
            await work()
    assert (elsewhere / "README.md").read_text() == "private\n"


async def test_the_users_own_configuration_counts(home: Path, tmp_path: Path) -> None:
    """W4: Identity, line ends and ignored files are the user's, as before."""
    (home / "ignore").write_text("*.private\n")
    user = "[user]\n\tname = Ada\n\temail = ada@example.invalid\n"
    (home / ".gitconfig").write_text(f"{user}[core]\n\tautocrlf = input\n\texcludesFile = {home}/ignore\n")
    top = make_repo(tmp_path / "repo")
    (top / "lines").write_bytes(b"one\r\ntwo\r\n")
    (top / "my.private").write_text("x")
    assert (await files(str(top))).untracked == ["lines"]
    assert content(top, (await take(str(top))).sha, "lines") == "one\ntwo\n"
    prepared = await merge.prepare(str(top), "Work.")
    assert git(top, "log", "-1", "--format=%an <%ae>", prepared.sha).strip() == "Ada <ada@example.invalid>"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to somebody else")
async def test_somebody_elses_repository_needs_safe_directory(home: Path, tmp_path: Path) -> None:
    """W3: Git's own check of a repository's owner still applies, and so does the user's exception from it."""
    top = make_repo(tmp_path / "repo")
    for path in (top, top / ".git"):
        os.chown(path, 4321, 4321)
    with pytest.raises(GitFailed, match="dubious ownership"):
        await files(str(top))
    (home / ".gitconfig").write_text(f"[safe]\n\tdirectory = {top}\n")
    assert (await files(str(top))).branch == "main"


async def report(server: Running, repo_id: str) -> Json:
    return await server.client.get(f"/api/repos/{repo_id}/git")


async def decide(server: Running, repo_id: str, expect: int = 200, **choice: bool) -> Json:
    return await server.client.call("PATCH", f"/api/repos/{repo_id}/git", json=choice, expect=expect)


async def test_a_person_decides_once(server: Running) -> None:
    """W3: The server tells what a repository has and nobody decided; the answer is stored and can be taken back."""
    top = server.repo()
    use_filters(top)
    write_hook(top, "post-checkout", top / "ran")
    repo = await server.client.repo(top)
    assert repo["gitPermissions"] is None
    answer = await report(server, repo["id"])
    assert (answer["hooks"], answer["programs"], answer["allowed"]) == (["post-checkout"], UPPER, None)
    assert answer["undecided"] == ["hooks", "filters"]
    answer = await decide(server, repo["id"], filters=True)
    assert answer["undecided"] == [] and answer["allowed"]["programs"] == UPPER and not answer["allowed"]["hooks"]
    (top / "a.up").write_text("word")
    assert content(top, (await take(str(top))).sha, "a.up") == "WORD"
    git(top, "config", "filter.up.clean", "cat")
    assert (await report(server, repo["id"]))["changed"] == ["filter.up.clean"]
    answer = await decide(server, repo["id"], filters=False)
    assert answer["allowed"]["programs"] == {}
    (top / "a.up").write_text("other")
    assert content(top, (await take(str(top))).sha, "a.up") == "other"


async def test_hidden_characters_of_commands_are_shown(server: Running) -> None:
    """W3: A person sees what they allow; git gets the original."""
    top = server.repo()
    git(top, "config", "filter.up\u200b.clean", "tr a-z A-Z #\u202e")
    (top / ".gitattributes").write_text("*.up filter=up\u200b\n")
    repo = await server.client.repo(top)
    answer = await decide(server, repo["id"], filters=True)
    shown = {"filter.up\\u200b.clean": "tr a-z A-Z #\\u202e"}
    assert (answer["programs"], answer["allowed"]["programs"], answer["changed"]) == (shown, shown, [])
    (top / "a.up").write_text("word")
    assert content(top, (await take(str(top))).sha, "a.up") == "WORD"


async def test_what_a_person_allowed_outlives_the_server(server: Running) -> None:
    """W3: The next server applies it before it calls git."""
    top = server.repo()
    use_filters(top)
    repo = await server.client.repo(top)
    await decide(server, repo["id"], filters=True)
    permissions.forget(str(top))
    await server.services.git_permissions.load()
    (top / "a.up").write_text("word")
    assert content(top, (await take(str(top))).sha, "a.up") == "WORD"


def test_permissions_end_with_the_repository(tmp_path: Path) -> None:
    """W3: Also if its `.git` is a file."""
    top = make_repo(tmp_path / "repo")
    git(top, "worktree", "add", "--quiet", str(tmp_path / "linked"))
    permissions.allow(str(top / ".git"), AllowedPrograms(hooks=True))
    permissions.forget(str(tmp_path / "linked"))
    assert permissions.allowed(find(str(top))) == permissions.NOTHING


async def test_an_agent_cannot_allow_anything(server: Running) -> None:
    """W3: Only people decide what git runs."""
    repo = await server.client.repo(server.repo())
    session = await server.client.session(repo["id"])
    with pytest.raises(Denied) as refused:
        await server.services.git_permissions.patch(
            Caller("session", session["id"]), repo["id"], GitPermissionsPatch(hooks=True)
        )
    assert refused.value.code == "git_permissions_for_people"
    assert (await report(server, repo["id"]))["allowed"] is None
    await decide(server, repo["id"], 400)
