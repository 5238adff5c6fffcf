"""Tests finding files of a session's folder for prompts that mention them."""

from __future__ import annotations

from pathlib import Path

import pytest

from bough.core.worktrees import file_names
from tests.support.repos import git, make_repo
from tests.support.server import Running


async def test_files_are_found_by_parts_of_their_names(
    server: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """O4: files that git tracks or would track are found by their names, by parts of their paths and by letters in
    order, the best matches first; ignored files are left out, and the list is bounded."""
    monkeypatch.setattr(file_names, "REMEMBERED", -1.0)
    repo = make_repo(server.root / "named")
    for name in ("src/main.py", "src/domain.py", "docs/remain.md", "build/main.o", "café menu.txt"):
        (repo / name).parent.mkdir(exist_ok=True)
        (repo / name).write_text("text\n")
    (repo / ".gitignore").write_text("build/\n")
    git(repo, "add", "src/main.py")
    session = await server.client.session((await server.client.repo(repo))["id"])

    async def find(match: str) -> list[str]:
        params = {"match": match}
        return (await server.client.get(f"/api/sessions/{session['id']}/files", params=params))["files"]

    assert await find("main") == ["src/main.py", "src/domain.py", "docs/remain.md"]
    assert await find("SRC/") == ["src/main.py", "src/domain.py"]
    assert await find("dcsrm") == ["docs/remain.md"]
    assert await find("café") == ["café menu.txt"]
    assert await find("nothing like it") == []
    assert not any("build" in name for name in await find(""))
    monkeypatch.setattr(file_names, "MOST_FILES", 2)
    answer = await server.client.get(f"/api/sessions/{session['id']}/files")
    assert (len(answer["files"]), answer["more"]) == (2, True)
    monkeypatch.setattr(file_names, "MOST_BYTES", 3)
    assert await find("main") == []


async def test_files_of_a_replaced_folder_are_not_listed(server: Running, tmp_path: Path) -> None:
    """W3: if a session's folder leads outside the workspace by now, no name in it is told."""
    repo = make_repo(server.root / "swapped")
    session = await server.client.session((await server.client.repo(repo))["id"])
    outside = make_repo(tmp_path / "outside")
    (outside / "secret-plan.txt").write_text("text\n")
    repo.rename(repo.with_name("moved"))
    repo.symlink_to(outside)
    error = await server.client.call("GET", f"/api/sessions/{session['id']}/files", expect=403)
    assert "secret" not in str(error)
