"""A repository's files for agents are found, recognized after a change, and passed on within bounds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bough.agents.catalog.repository_files import LONGEST_INSTRUCTIONS, digest, find_files, read_instructions


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """Returns a repository below a folder with files of its own, which do not belong to the repository."""
    put(tmp_path / ".agent" / "plugin" / "outside.js")
    put(tmp_path / "AGENTS.md", "outside")
    folder = tmp_path / "repo"
    put(folder / ".git" / "HEAD")
    for name in ("objects", "refs"):
        (folder / ".git" / name).mkdir()
    return folder


def put(path: Path, text: str = "x") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


def found(cwd: Path, *patterns: str) -> list[str]:
    return [os.path.relpath(path, cwd) for path in find_files(str(cwd), patterns)]


def test_up_to_the_root_of_the_repository(repo: Path) -> None:
    """P3: Agents also read the folders above, so files count up to the repository's own folder and no further."""
    put(repo / ".agent" / "plugin" / "a.js")
    put(repo / "sub" / "deep" / ".agent" / "plugin" / "b.js")
    put(repo / "sub" / ".env")
    cwd = repo / "sub" / "deep"
    expected = [".agent/plugin/b.js", "../.env", "../../.agent/plugin/a.js"]
    assert found(cwd, ".agent/plugin", ".env") == expected
    assert found(cwd) == found(cwd, "nothing") == []


def test_a_folder_that_is_not_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P3: Outside a repository every folder above counts, up to but not including the home folder."""
    monkeypatch.setenv("HOME", str(tmp_path))
    put(tmp_path / ".env")
    put(tmp_path / "above" / ".env")
    (tmp_path / "above" / "plain").mkdir()
    assert found(tmp_path / "above" / "plain", ".env") == ["../.env"]
    assert found(tmp_path, ".env") == []


def test_agents_that_look_beyond_the_repository(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P3: For these agents, the folders above the repository count too."""
    monkeypatch.setenv("HOME", str(repo.parents[1]))
    put(repo / ".agent" / "plugin" / "a.js")
    assert found(repo, ".agent/plugin") == [".agent/plugin/a.js"]
    beyond = find_files(str(repo), [".agent/plugin"], beyond=True)
    assert beyond == [f"{repo}/.agent/plugin/a.js", f"{repo.parent}/.agent/plugin/outside.js"]


def test_a_worktree_has_a_file_for_git(repo: Path) -> None:
    """P3: A linked worktree is a repository of its own."""
    put(repo / ".env")
    put(repo / ".worktrees" / "w" / ".git", "gitdir: elsewhere")
    assert found(repo / ".worktrees" / "w", ".env") == []


def test_links_are_followed(repo: Path, tmp_path: Path) -> None:
    """P3: A link to a folder stands for the files in it, so a change there is a change; loops end."""
    real = tmp_path / "elsewhere"
    put(real / "a.js")
    put(real / "sub" / "b.js")
    (real / "sub" / "loop").symlink_to(real)
    (real / "sub" / "again").symlink_to(real)
    (repo / ".agent").mkdir()
    (repo / ".agent" / "plugin").symlink_to(real)
    files = found(repo, ".agent/plugin")
    assert files == [".agent/plugin/a.js", ".agent/plugin/sub/b.js"]
    whole = [str(repo / file) for file in files]
    before = digest(whole)
    put(real / "sub" / "b.js", "other")
    assert digest(whole) != before


def test_a_link_below_a_folder_is_followed(repo: Path, tmp_path: Path) -> None:
    """P3: A link further down cannot hide a file."""
    put(tmp_path / "elsewhere" / "a.js")
    (repo / ".agent" / "plugin").mkdir(parents=True)
    (repo / ".agent" / "plugin" / "sub").symlink_to(tmp_path / "elsewhere")
    assert found(repo, ".agent/plugin") == [".agent/plugin/sub/a.js"]


def test_many_files_are_all_found(repo: Path) -> None:
    """P3: Many files cannot hide one: each is found, and counts."""
    files = [str(put(repo / ".agent" / "plugin" / f"{number:04}.js")) for number in range(300)]
    assert len(found(repo, ".agent/plugin", ".agent/*")) == 300
    before = digest(files)
    put(repo / ".agent" / "plugin" / "0299.js", "changed")
    assert digest(files) != before


def test_instructions_do_not_lead_out_of_the_repository(repo: Path, tmp_path: Path) -> None:
    """C3: A link to a file outside the repository is not passed to the model; one inside is."""
    (tmp_path / "secret").write_text("the key")
    (repo / "AGENTS.md").symlink_to(tmp_path / "secret")
    assert read_instructions(str(repo), ["AGENTS.md"]) == ""
    (repo / "AGENTS.md").unlink()
    (repo / "notes.md").write_text("be kind")
    (repo / "AGENTS.md").symlink_to("notes.md")
    assert "be kind" in read_instructions(str(repo), ["AGENTS.md"])


def test_a_fingerprint_covers_names_and_contents(repo: Path) -> None:
    """P3: An allowed repository is asked about again when a file changes, appears, disappears or becomes unreadable."""
    first, second = put(repo / "one", "1"), put(repo / "two", "2")
    seen = {digest([first, second]), digest([first]), digest([second])}
    assert digest([first, second]) == digest([first, second])
    put(repo / "two", "3")
    seen.add(digest([first, second]))
    os.unlink(second)
    seen.add(digest([first, second]))
    assert len(seen) == 5


def test_instructions_go_from_general_to_specific(repo: Path) -> None:
    """C1: Of several names in one folder the first counts; files above the repository do not."""
    put(repo / "CLAUDE.md", "  top claude \n")
    put(repo / "AGENTS.md", "top agents")
    put(repo / "sub" / "AGENTS.md", "sub agents")
    instructions = read_instructions(str(repo / "sub"), ["CLAUDE.md", "AGENTS.md"])
    assert instructions == (
        f"Instructions from {repo}/CLAUDE.md:\n\ntop claude\n\nInstructions from {repo}/sub/AGENTS.md:\n\nsub agents"
    )
    assert read_instructions(str(repo / "sub"), []) == read_instructions(str(repo / "sub"), ["NONE.md"]) == ""


def test_instructions_have_a_limit(repo: Path) -> None:
    """C1: The combined text is cut at a limit; an empty file and invalid bytes do no harm."""
    put(repo / "AGENTS.md", "a" * (LONGEST_INSTRUCTIONS + 10))
    put(repo / "sub" / "AGENTS.md", "more")
    instructions = read_instructions(str(repo / "sub"), ["AGENTS.md"])
    assert instructions.count("a" * 100) > 0 and "more" not in instructions
    assert len(instructions) < LONGEST_INSTRUCTIONS + 200
    put(repo / "AGENTS.md", " \n ")
    (repo / "sub" / "AGENTS.md").write_bytes(b"odd \xff")
    assert read_instructions(str(repo / "sub"), ["AGENTS.md"]).endswith("odd \ufffd")
    assert read_instructions(str(repo / "sub"), ["AGENTS.md"]).count("Instructions from") == 1
