"""`make release` refuses a clone that is not ready, names every reason, and checks the files that it built."""

from __future__ import annotations

import json
import subprocess
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest

from tools import release, release_check
from tools.release_check import IN_ARCHIVE, IN_WHEEL, ReleaseError

CHANGELOG = """# Changelog

## [Unreleased]

## [1.2.3] - 2026-11-16

### Added

- Something.

## [1.2.2] - 2026-10-01

### Fixed

- Something else.
"""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Creates a small clone that is ready to release 1.2.3."""
    root = tmp_path / "clone"
    write(root / "src/bough/__init__.py", '"""Bough."""\n\n__version__ = "1.2.3"\n')
    write(root / "CHANGELOG.md", CHANGELOG)
    entry = {"version": "1.2.3", "distribution": {"uvx": {"package": "bough==1.2.3", "args": ["acp"]}}}
    write(root / "docs/acp-registry/agent.json", json.dumps(entry))
    run_git(root, "init", "--quiet", "--initial-branch", "main")
    commit(root)
    return root


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def run_git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.com", *arguments], cwd=root, check=True)


def commit(root: Path) -> None:
    run_git(root, "add", "--all")
    run_git(root, "commit", "--quiet", "--message", "test: Prepare.")


def test_a_clone_that_is_ready(clone: Path) -> None:
    assert release.find_problems(clone, "1.2.3") == []


@pytest.mark.parametrize(
    ("path", "old", "new", "problem"),
    [
        ("src/bough/__init__.py", "1.2.3", "1.2.4", "src/bough/__init__.py does not state 1.2.3"),
        ("docs/acp-registry/agent.json", "==1.2.3", "==1.2.2", "agent.json does not state 1.2.3"),
        ("CHANGELOG.md", "[1.2.3]", "[1.3.0]", "has no entries for 1.2.3"),
        ("CHANGELOG.md", "- Something.\n", "", "has no entries for 1.2.3"),
        ("CHANGELOG.md", "[1.2.3] - 2026-11-16", "[1.2.3]", "has no date"),
        ("CHANGELOG.md", "[Unreleased]\n", "[Unreleased]\n\n- More.\n", "has entries under Unreleased"),
    ],
)
def test_files_that_are_not_ready(clone: Path, path: str, old: str, new: str, problem: str) -> None:
    """Each file that names the version must name this one."""
    text = (clone / path).read_text("utf-8").replace("### Added\n\n", "")
    assert old in text
    write(clone / path, text.replace(old, new))
    commit(clone)
    (problems,) = release.find_problems(clone, "1.2.3")
    assert problem in problems


def test_a_clone_that_is_not_ready(clone: Path) -> None:
    """Uncommitted changes, another branch and an existing tag are all named at once."""
    run_git(clone, "tag", "v1.2.3")
    run_git(clone, "switch", "--quiet", "--create", "feature")
    write(clone / "new.txt", "")
    problems = release.find_problems(clone, "1.2.3")
    assert len(problems) == 3
    assert (
        "uncommitted changes" in problems[0] and "branch is feature" in problems[1] and "already exists" in problems[2]
    )


@pytest.mark.parametrize("version", ["1.2", "v1.2.3", "1.2.3-rc1", ""])
def test_versions_have_one_form(clone: Path, version: str) -> None:
    assert "is not a version" in release.find_problems(clone, version)[0]


def test_a_release_with_problems_builds_nothing(
    clone: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A refused release leaves no files and no tag; a dry run still builds, and then fails."""
    built = stub_build(monkeypatch)
    assert release.release(clone, "1.2.4", dry_run=False) == 1
    assert built == [] and "Nothing was built" in capsys.readouterr().out
    assert release.release(clone, "1.2.4", dry_run=True) == 1
    assert built == ["1.2.4"] and release.git(clone, "tag") == ""


def test_only_a_real_release_is_tagged(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stub_build(monkeypatch)
    monkeypatch.setenv("GIT_COMMITTER_NAME", "t")
    monkeypatch.setenv("GIT_COMMITTER_EMAIL", "t@example.com")
    assert release.release(clone, "1.2.3", dry_run=True) == 0
    assert release.git(clone, "tag") == ""
    assert release.release(clone, "1.2.3", dry_run=False) == 0
    assert release.git(clone, "tag", "--points-at", "HEAD") == "v1.2.3"
    assert release.release(clone, "1.2.3", dry_run=False) == 1


def stub_build(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replaces the build, which takes a minute, and returns the versions that would have been tested."""
    tried: list[str] = []

    def build(_root: Path, folder: Path) -> tuple[Path, Path]:
        return folder / "bough.whl", folder / "bough.tar.gz"

    def check_files(_wheel: Path, _archive: Path) -> None: ...

    def try_wheel(_wheel: Path, version: str, _constraints: Path) -> None:
        tried.append(version)

    for replacement in (build, check_files, try_wheel):
        monkeypatch.setattr(release, replacement.__name__, replacement)
    return tried


def test_files_of_a_release_are_complete(tmp_path: Path) -> None:
    """A wheel without the page, or with unexpected files, is not released."""
    metadata = "bough-1.2.3.dist-info/METADATA"
    release_check.check_files(wheel(tmp_path, [*IN_WHEEL, metadata]), archive(tmp_path, IN_ARCHIVE))
    with pytest.raises(ReleaseError, match=r"lacks bough/web/index\.html"):
        release_check.check_files(wheel(tmp_path, IN_WHEEL[:-1]), archive(tmp_path, IN_ARCHIVE))
    with pytest.raises(ReleaseError, match=r"lacks web/package\.json"):
        release_check.check_files(wheel(tmp_path, IN_WHEEL), archive(tmp_path, IN_ARCHIVE[:-1]))
    with pytest.raises(ReleaseError, match=r"outside the package: tests/conftest\.py"):
        release_check.check_files(wheel(tmp_path, [*IN_WHEEL, "tests/conftest.py"]), archive(tmp_path, IN_ARCHIVE))


def wheel(folder: Path, names: Iterable[str]) -> Path:
    path = folder / "bough-1.2.3-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as opened:
        for name in names:
            opened.writestr(name, "")
    return path


def archive(folder: Path, names: Iterable[str]) -> Path:
    path = folder / "bough-1.2.3.tar.gz"
    with tarfile.open(path, "w:gz") as opened:
        for name in names:
            opened.addfile(tarfile.TarInfo(f"bough-1.2.3/{name}"))
    return path


def test_a_program_that_fails_stops_the_release(tmp_path: Path) -> None:
    program = tmp_path / "bough"
    write(program, "#!/bin/sh\necho broken >&2\nexit 3\n")
    program.chmod(0o755)
    with pytest.raises(ReleaseError, match="bough --version failed: broken"):
        release_check.run(program, "--version")
    with (
        pytest.raises(ReleaseError, match="did not start: broken"),
        release_check.running_server(program, tmp_path),
    ):
        pytest.fail("a server that failed is not used")
