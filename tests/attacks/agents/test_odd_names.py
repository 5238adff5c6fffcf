"""Names of files, links and branches that a hostile agent chooses so that Bough stumbles over them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from bough.agents.catalog import load_catalog
from bough.agents.sandbox.git_layout import find_layout, paths_of, remove_forged_link
from bough.core.policy.decide import decide
from bough.core.policy.tool_use.read import read
from bough.git import worktree_recovery, worktrees
from bough.git.working_copy.folder_state import state
from bough.model.message import raw
from tests.support.repos import git, make_repo

# Python takes all of these for blanks or ends of lines; git allows them in the names of branches.
BLANKS = ("\u2028", "\u3000", "\u00a0", "\u0085")


def test_a_link_to_a_name_that_is_not_text(tmp_path: Path) -> None:
    """P3: A person is asked about a file behind such a link, and the question can be stored; two such names are two
    questions."""
    folder = tmp_path / "repo"
    folder.mkdir()
    keys: set[str] = set()
    for number in (b"\xfe", b"\xff"):
        link = os.path.join(os.fsencode(folder), b"link")
        os.symlink(os.path.join(os.fsencode(tmp_path), number), link)
        body: dict[str, Any] = {
            "kind": "edit",
            "title": "Edit link",
            "args": {},
            "result": {},
            "locations": [{"path": "link"}],
        }
        use = read(load_catalog(tmp_path / "data"), "demo", str(folder), body)
        verdict = decide("acceptEdits", use, [], [])
        assert verdict.effect == "ask"
        raw([use, verdict])
        keys.add(use.key)
        os.unlink(link)
    assert len(keys) == 2


@pytest.mark.timeout(20)
def test_a_pipe_where_the_sandbox_looks(tmp_path: Path) -> None:
    """S6: A pipe in the place of a git file makes nobody wait."""
    linked, own = tmp_path / "linked", tmp_path / "own"
    (linked / "git").mkdir(parents=True)
    (linked / ".git").write_text("gitdir: git\n")
    for name in ("commondir", "gitdir"):
        os.mkfifo(linked / "git" / name)
    assert find_layout(str(linked)) is None
    for name in ("objects", "refs"):
        (own / ".git" / name).mkdir(parents=True)
    (own / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    os.mkfifo(own / ".git" / "config")
    layout = find_layout(str(own))
    assert layout is not None
    assert str(own / ".git" / "config") in paths_of(layout).protected
    assert not remove_forged_link(str(own))


def test_a_git_file_with_a_name_that_is_too_long(tmp_path: Path) -> None:
    """S6: A folder whose git folder cannot exist is a plain folder."""
    (tmp_path / ".git").write_text(f"gitdir: {'x' * 300}\n")
    assert find_layout(str(tmp_path)) is None
    assert not remove_forged_link(str(tmp_path))


@pytest.mark.parametrize("blank", BLANKS, ids=ascii)
async def test_branches_with_odd_names(tmp_path: Path, blank: str) -> None:
    """W3: Whatever the branches of a nested repository are called, its worktree can be kept, kept again and dropped."""
    top = make_repo(tmp_path / "repo")
    inner = make_repo(top / "inner")
    branch = f"a{blank}b"
    git(inner, "checkout", "--quiet", "-b", branch)
    git(inner, "commit", "--quiet", "--allow-empty", "--message", "Only here.")
    assert (await state(str(inner))).branch == branch
    for number in (1, 2):
        refs = (await worktree_recovery.keep_all(str(top), "x", f"Kept {number}.")).inner
        for ref in refs:
            assert await worktrees.resolve(str(top), ref) is not None
    kept_refs = git(top, "for-each-ref", "--format=%(refname)", "refs/bough").split("\n")
    assert [ref for ref in kept_refs if ref.endswith(branch)]
    await worktree_recovery.drop(str(top), "x")
    assert git(top, "for-each-ref", "refs/bough") == ""


@pytest.mark.timeout(20)
async def test_a_pipe_where_git_keeps_what_it_ignores(tmp_path: Path) -> None:
    """W1: A pipe in the place of `info/exclude` makes nobody wait."""
    top = make_repo(tmp_path / "repo")
    exclude = top / ".git" / "info" / "exclude"
    exclude.unlink(missing_ok=True)
    exclude.parent.mkdir(exist_ok=True)
    worktrees._add_line(str(top / ".git"), "/first/")  # pyright: ignore[reportPrivateUsage]
    assert exclude.read_text() == "/first/\n"
    exclude.unlink()
    os.mkfifo(exclude)
    worktrees._add_line(str(top / ".git"), "/second/")  # pyright: ignore[reportPrivateUsage]
