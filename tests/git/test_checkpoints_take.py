"""W4, B2: A checkpoint holds the exact files, and taking it changes nothing in the repository."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from bough.git.run import GitFailed
from bough.git.working_copy import snapshot
from bough.git.working_copy.snapshot import (
    Memory,
    Snapshot,
    SnapshotLimits,
    SnapshotTooLarge,
    scratch_index,
    take,
    working_copy,
)
from tests.git.checkpoint_files import files, remembered
from tests.support.repos import allow_programs, git, make_repo


def shot(path: Path, **how: object) -> Snapshot:
    return asyncio.run(take(str(path), **how))  # type: ignore[arg-type]


def held(path: Path, sha: str) -> dict[str, str]:
    """Returns mode and content of every path of a commit."""
    contents: dict[str, str] = {}
    for line in git(path, "ls-tree", "-r", "-z", sha).split("\0"):
        if line:
            about, name = line.split("\t", 1)
            mode, kind, blob = about.split(" ")
            contents[name] = f"{mode} {git(path, 'cat-file', 'blob', blob) if kind == 'blob' else blob}"
    return contents


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repo(tmp_path / "repo")


def test_a_clean_working_copy_uses_its_commit(repo: Path) -> None:
    """W4: Uses HEAD and writes nothing if there are no uncommitted changes."""
    before = sorted((repo / ".git/objects").rglob("*"))
    checkpoint = shot(repo)
    head = git(repo, "rev-parse", "HEAD").strip()
    assert checkpoint == Snapshot(head, git(repo, "rev-parse", "HEAD^{tree}").strip(), head, "main")
    assert sorted((repo / ".git/objects").rglob("*")) == before


def test_every_kind_of_change_is_included(repo: Path) -> None:
    """B2: Contains changed, staged, deleted, renamed, untracked and executable files and links as they are on disk."""
    for name in ("changed", "gone", "staged", "moved", "folder/deep", "typed"):
        (repo / name).parent.mkdir(exist_ok=True)
        (repo / name).write_text(name)
    git(repo, "add", "--all")
    git(repo, "commit", "--quiet", "--message", "Files.")
    (repo / "changed").write_text("now")
    (repo / "gone").unlink()
    (repo / "staged").write_text("staged")
    git(repo, "add", "staged")
    (repo / "staged").write_text("and changed")
    git(repo, "mv", "moved", "there")
    (repo / "folder/deep").unlink()
    (repo / "folder").rmdir()
    (repo / "folder").symlink_to("/etc")
    (repo / "typed").unlink()
    (repo / "typed").mkdir()
    (repo / "typed/inner").write_text("")
    (repo / "new\nline ü").write_text("new")
    (repo / "run").write_text("#!/bin/sh\n")
    (repo / "run").chmod(0o755)
    (repo / "half").write_text("half")
    git(repo, "add", "--intent-to-add", "half")
    checkpoint = shot(repo)
    assert held(repo, checkpoint.sha) == {
        "README.md": "100644 # A repository\n",
        "changed": "100644 now",
        "folder": "120000 /etc",
        "half": "100644 half",
        "new\nline ü": "100644 new",
        "run": "100755 #!/bin/sh\n",
        "staged": "100644 and changed",
        "there": "100644 moved",
        "typed/inner": "100644 ",
    }
    assert git(repo, "rev-parse", f"{checkpoint.sha}^").strip() == checkpoint.head
    assert (checkpoint.dirty, checkpoint.note) == (True, None)


def test_taking_a_checkpoint_changes_nothing(repo: Path, tmp_path: Path) -> None:
    """W4: Index, branch, stash, logs and configuration stay byte for byte the same; no hook runs, and nothing is left
    behind."""
    (repo / "kept").write_text("stashed")
    git(repo, "stash", "push", "--quiet", "--include-untracked")
    for hook in ("pre-commit", "post-commit", "post-index-change", "reference-transaction", "post-checkout"):
        path = repo / ".git/hooks" / hook
        path.write_text(f"#!/bin/sh\necho {hook} >> {tmp_path}/hooks-ran\n")
        path.chmod(0o755)
    git(repo, "config", "commit.gpgSign", "true")
    git(repo, "config", "gpg.program", "false")
    git(repo, "config", "core.fsmonitor", f"touch {tmp_path}/hooks-ran; false")
    (repo / "README.md").write_text("changed")
    (repo / "new").write_text("new")
    git(repo, "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "add", "new")
    before = remembered(repo), files(repo)
    (tmp_path / "hooks-ran").unlink(missing_ok=True)
    checkpoint = shot(repo)
    assert not (tmp_path / "hooks-ran").exists()
    assert (remembered(repo), files(repo)) == before
    assert (
        git(repo, "log", "-1", "--format=%an <%ae> %at %s", checkpoint.sha)
        == "Bough <bough@localhost> 0 Files as Bough found them.\n"
    )


def test_the_same_files_are_the_same_commit(repo: Path) -> None:
    """W4: A checkpoint contains neither its time nor its author, so nothing is stored twice."""
    (repo / "new").write_text("new")
    first = shot(repo)
    os.utime(repo / "new", (1, 1))
    assert shot(repo) == first


def test_ignored_files_on_request(repo: Path) -> None:
    """B2: Leaves ignored files out unless they are requested; includes named ones always."""
    (repo / ".gitignore").write_text("*.log\nbuild/\n")
    (repo / "x.log").write_text("log")
    (repo / "build/deep").mkdir(parents=True)
    (repo / "build/deep/out").write_text("out")
    assert set(held(repo, shot(repo).sha)) == {".gitignore", "README.md"}
    assert set(held(repo, shot(repo, also=("x.log",)).sha)) == {".gitignore", "README.md", "x.log"}
    everything = {".gitignore", "README.md", "x.log", "build/deep/out"}
    assert set(held(repo, shot(repo, ignored=True).sha)) == everything


def test_before_the_first_commit(tmp_path: Path) -> None:
    """W4: Works in a repository without a commit."""
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    empty = shot(tmp_path)
    assert (held(tmp_path, empty.sha), empty.head, empty.branch) == ({}, None, "main")
    (tmp_path / "first").write_text("1")
    assert held(tmp_path, shot(tmp_path).sha) == {"first": "100644 1"}


def test_a_merge_in_progress(repo: Path) -> None:
    """W4: Takes files in conflict with their markers and leaves removed ones out; the conflict stays."""
    for name in ("both", "dropped"):
        (repo / name).write_text("base\n")
    git(repo, "add", "--all")
    git(repo, "commit", "--quiet", "--message", "Base.")
    git(repo, "checkout", "--quiet", "-b", "other")
    (repo / "both").write_text("theirs\n")
    (repo / "dropped").write_text("theirs\n")
    git(repo, "commit", "--quiet", "--all", "--message", "Theirs.")
    git(repo, "checkout", "--quiet", "main")
    (repo / "both").write_text("ours\n")
    git(repo, "rm", "--quiet", "dropped")
    git(repo, "commit", "--quiet", "--all", "--message", "Ours.")
    with pytest.raises(Exception, match="merge"):
        git(repo, "merge", "--quiet", "other")
    (repo / "dropped").unlink()
    before = remembered(repo)
    contents = held(repo, shot(repo).sha)
    assert "<<<<<<<" in contents["both"] and "dropped" not in contents
    assert remembered(repo) == before and "both" in git(repo, "diff", "--name-only", "--diff-filter=U")


def test_linked_and_bare_backed_worktrees(repo: Path, tmp_path: Path) -> None:
    """W4: A worktree has its own index, whether or not its repository is bare."""
    git(repo, "worktree", "add", "--quiet", "-b", "side", str(tmp_path / "side"))
    git(tmp_path, "clone", "--quiet", "--bare", str(repo), "bare.git")
    git(tmp_path / "bare.git", "worktree", "add", "--quiet", "-b", "other", str(tmp_path / "other"))
    for name in ("side", "other"):
        (tmp_path / name / "new").write_text(name)
        checkpoint = shot(tmp_path / name)
        assert held(tmp_path / name, checkpoint.sha)["new"] == f"100644 {name}"
        assert checkpoint.branch == name
    assert "new" not in held(repo, shot(repo).sha)
    with pytest.raises(GitFailed, match="bare repository"):
        shot(tmp_path / "bare.git")


def test_repositories_inside_are_left_alone(repo: Path, tmp_path: Path) -> None:
    """W4: Records submodules as their current commit, and leaves other repositories inside alone."""
    inner = make_repo(tmp_path / "inner")
    git(repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "module")
    git(repo, "commit", "--quiet", "--message", "Module.")
    make_repo(repo / "nested")
    (repo / "unborn").mkdir()
    git(repo / "unborn", "init", "--quiet")
    git(repo / "module", "commit", "--quiet", "--allow-empty", "--message", "Ahead.")
    (repo / "module/dirty").write_text("not ours")
    contents = held(repo, shot(repo).sha)
    assert set(contents) == {".gitmodules", "README.md", "module"}
    assert contents["module"] == f"160000 {git(repo / 'module', 'rev-parse', 'HEAD').strip()}"


@pytest.mark.parametrize("sparse_index", ["false", "true"])
def test_a_sparse_checkout(repo: Path, sparse_index: str) -> None:
    """W4: Contains what a sparse checkout leaves out, and files on disk outside of it."""
    for name in ("in/one", "out/two", "far/three"):
        (repo / name).parent.mkdir()
        (repo / name).write_text(name)
    git(repo, "add", "--all")
    git(repo, "commit", "--quiet", "--message", "Files.")
    git(repo, "config", "index.sparse", sparse_index)
    git(repo, "sparse-checkout", "set", "--cone", "in")
    assert not (repo / "out").exists()
    (repo / "in/one").write_text("changed")
    (repo / "far").mkdir()
    (repo / "far/new").write_text("new")
    contents = held(repo, shot(repo).sha)
    assert contents == {
        "README.md": "100644 # A repository\n",
        "in/one": "100644 changed",
        "out/two": "100644 out/two",
        "far/three": "100644 far/three",
        "far/new": "100644 new",
    }


def test_filters_run_as_in_git(repo: Path) -> None:
    """W4: Uses git's line endings and clean filters, so a diff shows what git would show."""
    (repo / ".gitattributes").write_text("*.txt text eol=crlf\n*.up filter=up\n")
    git(repo, "config", "filter.up.clean", "tr a-z A-Z")
    git(repo, "config", "filter.up.smudge", "tr A-Z a-z")
    allow_programs(repo)
    git(repo, "config", "core.safecrlf", "true")
    (repo / "lines.txt").write_bytes(b"one\r\ntwo\r\n")
    (repo / "word.up").write_text("word")
    contents = held(repo, shot(repo).sha)
    assert contents["lines.txt"] == "100644 one\ntwo\n"
    assert contents["word.up"] == "100644 WORD"


def test_a_filter_that_fails_is_left_out(repo: Path) -> None:
    """W4: Stores files unfiltered if a filter's program is missing, and a note says so."""
    (repo / ".gitattributes").write_text("*.bin filter=lfs\n")
    (repo / "old.bin").write_text("old")
    git(repo, "add", "--all")
    git(repo, "commit", "--quiet", "--message", "Files.")
    git(repo, "config", "filter.lfs.clean", "false")
    git(repo, "config", "filter.lfs.process", "no-such-program-anywhere")
    git(repo, "config", "filter.lfs.required", "true")
    allow_programs(repo)
    (repo / "new.bin").write_text("new")
    (repo / "old.bin").write_text("odd")
    checkpoint = shot(repo)
    assert {held(repo, checkpoint.sha)[name] for name in ("new.bin", "old.bin")} == {"100644 new", "100644 odd"}
    assert checkpoint.note == "The filter lfs failed; its files are stored unfiltered."


def test_an_unreadable_file_is_named(repo: Path) -> None:
    """W4: One unreadable file does not prevent the checkpoint of all others."""
    (repo / "whole").write_text("whole")
    (repo / "tracked").write_text("1")
    git(repo, "add", "tracked")
    (repo / "tracked").unlink()
    os.mkfifo(repo / "tracked")
    checkpoint = shot(repo)
    assert held(repo, checkpoint.sha)["whole"] == "100644 whole"
    assert checkpoint.note is not None and "tracked" in checkpoint.note


def test_limits(repo: Path) -> None:
    """W4: Does not copy large amounts of uncommitted data into the repository."""
    (repo / "large").write_bytes(b"x" * 100)
    with pytest.raises(SnapshotTooLarge, match="100 bytes in 1 files"):
        shot(repo, limits=SnapshotLimits(10, 99))
    assert shot(repo, limits=SnapshotLimits(1, 100)).dirty
    (repo / "more").write_text("")
    with pytest.raises(SnapshotTooLarge, match="2 files"):
        shot(repo, limits=SnapshotLimits(1, 1000))


def test_an_unchanged_folder_reuses_the_last_checkpoint(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """W4: Returns the last checkpoint again if nothing has changed since; notices any change."""
    for name in ("new", "README.md"):
        (repo / name).write_text("once")
        os.utime(repo / name, (1, 1))
    # A recent change may be followed by another with the same time, so files must be at least this old.
    monkeypatch.setattr(snapshot, "FRESH", -time.time_ns())
    memory = Memory()
    first = shot(repo, memory=memory)
    assert memory.seen is not None
    commands: list[str] = []
    real = snapshot.git

    async def counting(cwd: str, *words: str, **how: object) -> str:
        commands.append(words[-1])
        return await real(cwd, *words, **how)  # type: ignore[arg-type]

    monkeypatch.setattr(snapshot, "git", counting)
    assert shot(repo, memory=memory) is first and commands == []
    (repo / "new").write_text("more")
    second = shot(repo, memory=memory)
    assert second.tree != first.tree and commands
    (repo / "new").chmod(0o755)
    third = shot(repo, memory=memory)
    assert third.tree != second.tree
    git(repo, "add", "--all")
    git(repo, "commit", "--quiet", "--message", "All.")
    fourth = shot(repo, memory=memory)
    assert (fourth.tree, fourth.sha) == (third.tree, git(repo, "rev-parse", "HEAD").strip())
    assert shot(repo, memory=memory) is fourth


def test_a_recent_change_time_is_not_trusted(repo: Path) -> None:
    """W4: A file can change twice within one clock tick, so a recent time proves nothing."""
    memory = Memory()
    (repo / "new").write_text("1")
    first = shot(repo, memory=memory)
    assert memory.seen is None
    times = (repo / "new").stat()
    (repo / "new").write_text("2")
    os.utime(repo / "new", ns=(times.st_atime_ns, times.st_mtime_ns))
    assert shot(repo, memory=memory).tree != first.tree


def test_each_process_has_its_own_index(repo: Path) -> None:
    """W4: Each index has its own name, so that processes never wait for each other, and is removed after use."""

    def look(first: Path, other: Path) -> Path:
        assert first != other and not other.exists()
        assert first.stat().st_mtime_ns == (repo / ".git/index").stat().st_mtime_ns
        return first

    async def work() -> Path:
        where = await working_copy(str(repo))
        async with scratch_index(where, seeded=True) as env, scratch_index(where, seeded=False) as others:
            return look(Path(env["GIT_INDEX_FILE"]), Path(others["GIT_INDEX_FILE"]))

    assert not asyncio.run(work()).exists()


def test_many_at_once(repo: Path) -> None:
    """W4: Checkpoints that are taken at the same moment are the same."""
    (repo / "new").write_text("new")

    async def all_at_once() -> list[Snapshot]:
        return await asyncio.gather(*(take(str(repo)) for _ in range(8)))

    checkpoints = asyncio.run(all_at_once())
    assert len(set(map(str, checkpoints))) == 1 and checkpoints[0].dirty


def test_a_plain_folder(tmp_path: Path) -> None:
    """W4: A folder without git has no checkpoint."""
    with pytest.raises(GitFailed, match="not a git repository"):
        shot(tmp_path)
