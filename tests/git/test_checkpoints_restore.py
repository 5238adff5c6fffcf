"""W4: Restores files byte for byte and touches nothing else."""

from __future__ import annotations

import asyncio
import os
import subprocess
import threading
from pathlib import Path

import pytest
from hypothesis import example, given, settings

from bough.errors import Conflict, Invalid
from bough.git.refs.checkpoint_refs import drop, held, keep, ref_name, sweep
from bough.git.threads import in_thread
from bough.git.working_copy.restore import RestorePlan, apply, checked_path, plan
from bough.git.working_copy.snapshot import scratch_index, take, working_copy
from tests.git.checkpoint_files import Entry, Step, change, files, histories, remembered
from tests.support.repos import allow_programs, git, make_repo


def restore(path: Path, sha: str, only: list[str] | None = None) -> RestorePlan:
    async def work() -> RestorePlan:
        planned = await plan(str(path), sha, only)
        await apply(planned)
        return planned

    return asyncio.run(work())


def shot(path: Path) -> str:
    return asyncio.run(take(str(path))).sha


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repo(tmp_path / "repo")


DEEP: list[Step] = [("write", "a/b/c.txt", b"one\n"), ("stage", "a", b"")]
LINKED: list[Step] = [("link", "a", b"1"), ("write", "b", b"")]


@settings(max_examples=30)
@given(histories, histories, histories)
@example(DEEP, LINKED, [])
@example(LINKED, DEEP, [])
@example([("write", "a", b"one\n"), ("commit", "a", b"")], [("write", "a/b", b"")], [("remove", "a", b"")])
def test_restore_undoes_any_change(
    tmp_path_factory: pytest.TempPathFactory, first: list[Step], mess: list[Step], then: list[Step]
) -> None:
    """W4: Restores the files whatever has changed since; index, branch and refs stay; the restore can be undone."""
    repo = make_repo(tmp_path_factory.mktemp("any") / "repo")
    change(repo, first)
    state = remembered(repo)
    before, sha = files(repo), shot(repo)
    assert remembered(repo) == state and files(repo) == before
    change(repo, mess)
    messed, state = files(repo), remembered(repo)
    undo = restore(repo, sha)
    assert files(repo) == before and remembered(repo) == state
    restore(repo, undo.now.sha)
    assert files(repo) == messed and remembered(repo) == state
    change(repo, then)
    restore(repo, sha)
    assert files(repo) == before
    assert restore(repo, sha).paths == []


def test_a_link_where_a_folder_was_is_removed(repo: Path) -> None:
    """W4: Removes a link where a folder was, and leaves its target as it is."""
    (repo / "a/b").mkdir(parents=True)
    (repo / "a/b/c").write_text("then")
    sha = shot(repo)
    (repo / "a/b/c").unlink()
    (repo / "a/b").rmdir()
    (repo / "a").rmdir()
    (repo / "other").mkdir()
    (repo / "other/b").write_text("now")
    (repo / "a").symlink_to("other")
    assert restore(repo, sha).writes == ["a/b/c"]
    assert (repo / "a/b/c").read_text() == "then" and not (repo / "a").is_symlink()


def test_files_that_no_checkpoint_could_hold_are_not_overwritten(repo: Path) -> None:
    """W4: Refuses to overwrite and names what nothing could restore; other paths are still restored."""
    for name in ("one", "two"):
        (repo / name).write_text("then")
    sha = shot(repo)
    for name in ("one", "two"):
        (repo / name).write_text("now")
    git(repo, "add", "--all")
    git(repo, "commit", "--quiet", "--message", "More.")
    (repo / "one").unlink()
    os.mkfifo(repo / "one")
    assert asyncio.run(take(str(repo))).left_out == ("one",)
    with pytest.raises(Conflict, match="one") as caught:
        restore(repo, sha)
    assert (caught.value.code, caught.value.details["paths"]) == ("files_not_kept", ["one"])
    assert (repo / "one").is_fifo() and (repo / "two").read_text() == "now"
    assert restore(repo, sha, ["two"]).writes == ["two"]
    assert (repo / "one").is_fifo() and (repo / "two").read_text() == "then"


def test_a_cancelled_caller_waits_for_the_thread() -> None:
    """W4: A cancelled caller returns only after the thread has stopped changing files."""
    begun, may_end, done = threading.Event(), threading.Event(), threading.Event()

    def at_work() -> None:
        begun.set()
        may_end.wait(10)
        done.set()

    async def work() -> None:
        job = asyncio.create_task(in_thread(at_work))
        assert await asyncio.to_thread(begun.wait, 10)
        job.cancel()
        done_early, _ = await asyncio.wait([job], timeout=0.05)
        assert not done_early
        may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await job
        assert done.is_set()

    asyncio.run(work())


def test_only_some_paths(repo: Path) -> None:
    """W4: Restores a single file or folder."""
    for name in ("one", "folder/two", "folder/three", "folders"):
        (repo / name).parent.mkdir(exist_ok=True)
        (repo / name).write_text("then")
    sha = shot(repo)
    for name in ("one", "folder/two", "folder/three", "folders", "folder/new"):
        (repo / name).write_text("now")
    planned = restore(repo, sha, ["folder/"])
    assert (planned.writes, planned.removes) == (["folder/three", "folder/two"], ["folder/new"])
    assert {name: entry.content for name, entry in files(repo).items() if name != "README.md"} == {
        "one": b"now",
        "folders": b"now",
        "folder/two": b"then",
        "folder/three": b"then",
    }


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../../b", ".git/config", "a\0b"])
def test_paths_outside_are_refused(path: str) -> None:
    """W3: Refuses paths that lead out of the folder or into git's own."""
    with pytest.raises(Invalid, match="not a path inside"):
        checked_path(path)


def test_ignored_files_stay(repo: Path) -> None:
    """W4: Leaves ignored files alone, even if only the checkpoint's own .gitignore ignores them."""
    (repo / ".gitignore").write_text(".env\nbuild/\n")
    (repo / ".env").write_text("secret")
    (repo / "build").mkdir()
    (repo / "build/out").write_text("out")
    sha = shot(repo)
    (repo / ".gitignore").write_text("")
    (repo / "new").write_text("new")
    planned = restore(repo, sha)
    assert (planned.removes, sorted(planned.left)) == (["new"], [".env", "build/out"])
    assert (repo / ".env").read_text() == "secret" and (repo / "build/out").exists()
    assert (repo / ".gitignore").read_text() == ".env\nbuild/\n"


def test_new_ignore_rules_hide_nothing(repo: Path) -> None:
    """W4: Also restores files that have become ignored since, and saves their current contents for recovery."""
    (repo / "x.log").write_text("then")
    sha = shot(repo)
    (repo / ".gitignore").write_text("*.log\n")
    (repo / "x.log").write_text("now")
    planned = restore(repo, sha)
    assert (repo / "x.log").read_text() == "then" and not (repo / ".gitignore").exists()
    restore(repo, planned.now.sha)
    assert (repo / "x.log").read_text() == "now" and (repo / ".gitignore").exists()


def test_ignored_files_in_the_way(repo: Path) -> None:
    """W4: Refuses the whole restore if ignored files are where a file has to be, and touches nothing."""
    (repo / ".gitignore").write_text("*.o\n")
    (repo / "thing").write_text("file")
    sha = shot(repo)
    (repo / "thing").unlink()
    (repo / "thing").mkdir()
    (repo / "thing/a.o").write_text("object")
    (repo / "other").write_text("other")
    before = files(repo)
    with pytest.raises(Conflict, match=r"thing/a\.o") as error:
        restore(repo, sha)
    assert error.value.code == "files_in_the_way" and error.value.details["paths"] == ["thing/a.o"]
    assert files(repo) == before


def test_an_ignored_file_where_a_folder_was(repo: Path) -> None:
    """W4: Also refuses if an ignored file is where a folder has to be."""
    (repo / ".gitignore").write_text("/thing\n")
    (repo / "thing").mkdir()
    (repo / "thing/inner").write_text("inner")
    git(repo, "add", "--force", "--all")
    sha = shot(repo)
    git(repo, "rm", "--quiet", "-r", "--cached", "thing")
    (repo / "thing/inner").unlink()
    (repo / "thing").rmdir()
    (repo / "thing").write_text("mine")
    with pytest.raises(Conflict, match="thing"):
        restore(repo, sha)
    assert (repo / "thing").read_text() == "mine"


def test_never_through_a_link(repo: Path, tmp_path: Path) -> None:
    """W3, W4: Neither follows nor replaces an ignored link that leads out of the folder."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "inner").write_text("theirs")
    (repo / "data").mkdir()
    (repo / "data/inner").write_text("then")
    sha = shot(repo)
    (repo / "data/inner").unlink()
    (repo / "data").rmdir()
    (repo / "data").symlink_to(outside)
    (repo / ".git/info/exclude").write_text("/data\n")
    with pytest.raises(Conflict, match="data is a link") as error:
        restore(repo, sha)
    assert error.value.code == "link_in_the_way"
    assert (outside / "inner").read_text() == "theirs" and (repo / "data").is_symlink()
    (repo / ".git/info/exclude").write_text("")
    restore(repo, sha)
    assert (repo / "data/inner").read_text() == "then" and not (repo / "data").is_symlink()
    assert (outside / "inner").read_text() == "theirs"


def test_a_link_that_appears_after_planning(repo: Path, tmp_path: Path) -> None:
    """W3: Checks the plan again before carrying it out."""
    (repo / "folder").mkdir()
    (repo / "folder/file").write_text("then")
    sha = shot(repo)
    (repo / "folder/file").write_text("now")
    planned = asyncio.run(plan(str(repo), sha))
    (repo / "folder").rename(tmp_path / "elsewhere")
    (repo / "folder").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Conflict, match="is a link"):
        asyncio.run(apply(planned))
    assert (tmp_path / "elsewhere/file").read_text() == "now"


def test_all_or_nothing(repo: Path) -> None:
    """W4: Undoes everything if it fails midway."""
    git(repo, "config", "filter.odd.clean", "cat")
    git(repo, "config", "filter.odd.smudge", "cat")
    git(repo, "config", "filter.odd.required", "true")
    allow_programs(repo)
    (repo / ".gitattributes").write_text("*.odd filter=odd\n")
    (repo / "z.odd").write_text("then")
    (repo / "a").write_text("then")
    sha = shot(repo)
    for name in ("z.odd", "a", "new"):
        (repo / name).write_text("now!\n")
    git(repo, "config", "filter.odd.smudge", "grep now")
    allow_programs(repo)
    before = files(repo)
    with pytest.raises(Conflict, match="could not be restored") as error:
        restore(repo, sha)
    assert error.value.code == "restore_failed"
    assert files(repo) == before


def test_filters_are_undone(repo: Path) -> None:
    """W4: Smudge filters and line endings restore the original bytes."""
    (repo / ".gitattributes").write_text("*.txt text eol=crlf\n*.up filter=up\n")
    git(repo, "config", "filter.up.clean", "tr a-z A-Z")
    git(repo, "config", "filter.up.smudge", "tr A-Z a-z")
    allow_programs(repo)
    (repo / "lines.txt").write_bytes(b"one\r\ntwo\r\n")
    (repo / "word.up").write_text("word")
    sha = shot(repo)
    before = files(repo)
    (repo / "lines.txt").unlink()
    (repo / "word.up").write_text("other")
    restore(repo, sha)
    assert files(repo) == before


def test_a_filter_that_was_off_stays_off(repo: Path) -> None:
    """W4: Files that were stored unfiltered come back unfiltered."""
    (repo / ".gitattributes").write_text("*.bin filter=lfs\n")
    git(repo, "config", "filter.lfs.clean", "false")
    git(repo, "config", "filter.lfs.smudge", "false")
    git(repo, "config", "filter.lfs.required", "true")
    allow_programs(repo)
    (repo / "new.bin").write_bytes(b"\0raw")
    sha = shot(repo)
    (repo / "new.bin").unlink()
    restore(repo, sha)
    assert (repo / "new.bin").read_bytes() == b"\0raw"


def test_submodules_stay(repo: Path, tmp_path: Path) -> None:
    """W4: Leaves a submodule, which has its own history, where it is."""
    inner = make_repo(tmp_path / "inner")
    git(repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "module")
    sha = shot(repo)
    git(repo / "module", "commit", "--quiet", "--allow-empty", "--message", "Ahead.")
    ahead = git(repo / "module", "rev-parse", "HEAD")
    assert restore(repo, sha).left == ["module"]
    assert git(repo / "module", "rev-parse", "HEAD") == ahead


def test_a_sparse_checkout_stays_sparse(repo: Path) -> None:
    """W4: Does not write files that a sparse checkout leaves out."""
    for name in ("in/one", "out/two"):
        (repo / name).parent.mkdir()
        (repo / name).write_text("then")
    git(repo, "add", "--all")
    git(repo, "commit", "--quiet", "--message", "Files.")
    git(repo, "config", "index.sparse", "true")
    git(repo, "sparse-checkout", "set", "--cone", "in")
    sha = shot(repo)
    git(repo, "sparse-checkout", "disable")
    for name in ("in/one", "out/two"):
        (repo / name).write_text("now")
    git(repo, "commit", "--quiet", "--all", "--message", "Now.")
    git(repo, "sparse-checkout", "set", "--cone", "in")
    planned = restore(repo, sha)
    assert (planned.writes, planned.left) == (["in/one"], ["out/two"])
    assert (repo / "in/one").read_text() == "then" and not (repo / "out").exists()


def test_empty_folders_go_with_their_last_file(repo: Path) -> None:
    """W4: Removes folders that a task created with their files; folders that hold something stay."""
    sha = shot(repo)
    (repo / ".gitignore").write_text("*.o\n")
    (repo / "deep/er").mkdir(parents=True)
    (repo / "deep/er/new").write_text("new")
    (repo / "mixed").mkdir()
    (repo / "mixed/new").write_text("new")
    (repo / "mixed/x.o").write_text("object")
    restore(repo, sha)
    assert not (repo / "deep").exists()
    assert files(repo)["mixed/x.o"] == Entry("file", b"object", False)


def test_refs_protect_checkpoints_from_garbage_collection(repo: Path) -> None:
    """W4: A checkpoint's ref protects it from git's garbage collection and is hidden from branches, tags and logs."""

    async def work() -> tuple[str, str]:
        (repo / "kept").write_text("kept")
        sha = (await take(str(repo))).sha
        await keep(str(repo), {ref_name("s", "t", "before"): sha, ref_name("s", "t", "after"): sha})
        (repo / "kept").write_text("lost")
        return sha, (await take(str(repo))).sha

    state = remembered(repo)
    sha, other = asyncio.run(work())
    (repo / "kept").unlink()
    git(repo, "gc", "--quiet", "--prune=now")
    assert asyncio.run(held(str(repo), sha)) and not asyncio.run(held(str(repo), other))
    assert git(repo, "branch", "--all").split() == ["*", "main"] and git(repo, "tag") == ""
    assert remembered(repo)["logs"] == state["logs"] and remembered(repo)["refs"] == state["refs"]
    assert sha not in git(repo, "log", "--format=%H", "--branches", "--tags", "--remotes")
    both = [ref_name("s", "t", moment) for moment in ("before", "after")]
    asyncio.run(drop(str(repo), [*both, *both, ref_name("s", "t", "never")]))
    assert "refs/bough" not in git(repo, "for-each-ref")
    asyncio.run(drop(str(repo), []))


def test_abandoned_indexes_are_removed(repo: Path) -> None:
    """W4: Removes indexes that killed processes left behind, and keeps those in use, whatever their dates are."""
    dead = subprocess.Popen(["true"])
    dead.wait()
    names = (f"{dead.pid}-left", f"{dead.pid}-left.lock", f"{os.getpid()}-of-an-earlier-server", "1-of-another")
    for name in names:
        (repo / ".git" / f"bough-index-{name}").write_text("")

    async def work() -> None:
        async with scratch_index(await working_copy(str(repo)), seeded=True) as env:
            os.utime(env["GIT_INDEX_FILE"], (1, 1))
            assert sweep(str(repo / ".git")) == 3
            os.stat(env["GIT_INDEX_FILE"])

    asyncio.run(work())
    assert [path.name for path in (repo / ".git").glob("bough-index-*")] == ["bough-index-1-of-another"]
