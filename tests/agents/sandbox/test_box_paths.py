"""Tests which paths a session's box gets: git folders of every layout, the agent's files, worktrees and credentials."""

from __future__ import annotations

import pwd
import subprocess
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from bough.agents.sandbox import box_paths as module
from bough.agents.sandbox.box_paths import BoxRequest, box_env, gather
from bough.agents.sandbox.bwrap_arguments import Box, arguments
from bough.agents.sandbox.detect import Availability, SandboxProbe, explain
from bough.agents.sandbox.git_layout import GitLayout, find_layout
from bough.agents.sandbox.own_files import OwnFiles
from tests.support.repos import make_repo


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True)


def box(tmp_path: Path, cwd: Path, **fields: Any) -> Box:
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    values: dict[str, Any] = {
        "read_only": False,
        "data": tmp_path / "data",
        "env": {"HOME": str(home)},
        "command": ["x"],
    }
    return gather(BoxRequest(cwd=str(cwd), **(values | fields)))


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repo(tmp_path / "repo")


@pytest.fixture
def worktree(repo: Path) -> Path:
    git(repo, "worktree", "add", "-q", ".worktrees/one", "-b", "one")
    git(repo, "worktree", "add", "-q", ".worktrees/two", "-b", "two")
    return repo / ".worktrees" / "one"


def test_layouts_are_found(tmp_path: Path, repo: Path, worktree: Path) -> None:
    """S6: A repository's own folder, a subfolder, a worktree, a bare repository and a plain folder."""
    common = str(repo / ".git")
    (repo / "sub").mkdir()
    git(tmp_path, "clone", "-q", "--bare", str(repo), "bare.git")
    (tmp_path / "plain").mkdir()
    assert find_layout(str(repo)) == GitLayout(str(repo), common, common)
    assert find_layout(str(repo / "sub")) == GitLayout(str(repo), common, common)
    assert find_layout(str(worktree)) == GitLayout(str(worktree), f"{common}/worktrees/one", common)
    bare = str(tmp_path / "bare.git")
    assert find_layout(bare) == GitLayout(bare, bare, bare)
    assert find_layout(str(tmp_path / "plain")) is None


@pytest.mark.parametrize("name", ["/etc", "../../../.ssh", "../../.git/worktrees/two"])
def test_a_forged_git_file_opens_nothing(worktree: Path, name: str) -> None:
    """S6: A `.git` file counts only if the folder that it names belongs to this working copy."""
    (worktree / ".git").write_text(f"gitdir: {name}\n")
    assert find_layout(str(worktree)) is None


def test_a_worktree_writes_little_of_the_common_folder(tmp_path: Path, repo: Path, worktree: Path) -> None:
    """S6: Objects, refs, logs and its own part; the rest of the git folder is read-only."""
    paths, common = box(tmp_path, worktree, worktrees=[str(repo / ".worktrees" / "two")]), str(repo / ".git")
    assert sorted(paths.writable) == sorted(
        [str(worktree), *(f"{common}/{name}" for name in ("logs", "objects", "refs", "worktrees/one"))]
    )
    assert {common, str(repo)} <= set(paths.readable)
    assert {str(worktree / ".git"), f"{common}/worktrees/one/commondir", f"{common}/refs/bough"} <= set(paths.protected)
    assert str(repo / ".worktrees") in paths.hidden_folders


@pytest.mark.parametrize("name", ["logs", "refs", "reftable"])
def test_a_link_in_the_git_folder_opens_nothing(tmp_path: Path, repo: Path, worktree: Path, name: str) -> None:
    """S6: A link in place of a folder that commits write does not make its target writable."""
    (tmp_path / "data").mkdir()
    folder = repo / ".git" / name
    if folder.exists():
        folder.rename(repo / ".git" / "moved")
    folder.symlink_to(tmp_path / "data")
    paths = box(tmp_path, worktree)
    assert str(folder) not in paths.writable and str(tmp_path / "data") not in paths.writable


def test_later_worktrees_are_closed(tmp_path: Path, repo: Path) -> None:
    """S6: A box in a repository without worktrees neither sees nor writes those that are added while it runs."""
    paths, common = box(tmp_path, repo), str(repo / ".git")
    assert str(repo / ".worktrees") in paths.hidden_folders
    assert {f"{common}/worktrees", f"{common}/modules"} <= set(paths.protected)
    status = subprocess.run(["git", "-C", repo, "status", "--short"], check=True, capture_output=True)
    assert status.stdout == b""


def test_nothing_is_writable_read_only(tmp_path: Path, worktree: Path) -> None:
    """S6: In `plan` only the agent's state is writable."""
    state = tmp_path / "state"
    paths = box(tmp_path, worktree, read_only=True, own=OwnFiles(write=[str(state)]))
    assert paths.writable == [str(state)] and str(worktree) in paths.readable and state.is_dir()


def test_missing_settings_are_created(tmp_path: Path, repo: Path) -> None:
    """S6: An agent cannot create settings or instructions that the user's own agent would obey."""
    state = tmp_path / "state"
    names = [str(state / name) for name in ("settings.json", "AGENT.md", "hooks")]
    assert set(names) <= set(box(tmp_path, repo, own=OwnFiles(write=[str(state)], protect=names)).protected)
    assert (state / "settings.json").read_text() == "{}\n"
    assert (state / "AGENT.md").read_text() == ""


def test_nothing_is_created_that_changes_the_users_agent(tmp_path: Path, repo: Path) -> None:
    """S6: With an empty file of variables, the user's own agent would look for no other one."""
    state = tmp_path / "state"
    names = [str(state / name) for name in (".env", "local")]
    assert not set(names) & set(box(tmp_path, repo, own=OwnFiles(write=[str(state)], protect=names)).protected)
    assert not any(Path(name).exists() for name in names)


def test_missing_state_is_created(tmp_path: Path, repo: Path) -> None:
    """S6: A folder with a dot in its name and a settings file are writable at the first use; no login is made up."""
    folder, file, login = tmp_path / ".agent.work", tmp_path / ".agent.json", tmp_path / "auth.json"
    paths = box(tmp_path, repo, own=OwnFiles(write=[str(folder), str(file), str(login)]))
    assert folder.is_dir() and file.read_text() == "{}\n" and not login.exists()
    assert {str(folder), str(file)} <= set(paths.writable)


def test_a_home_folder_in_git_is_not_given_to_its_subfolders(tmp_path: Path) -> None:
    """S6: A session in a subfolder of a home folder that is a repository writes only the subfolder."""
    home = make_repo(tmp_path / "home")
    (home / "sub").mkdir()
    (home / ".bashrc").touch()
    assert str(home) not in box(tmp_path, home / "sub").writable
    assert str(home / ".bashrc") in box(tmp_path, home).protected


def test_credentials_behind_links_are_hidden(tmp_path: Path, repo: Path) -> None:
    """S6: A linked `.ssh` is hidden where it really is."""
    (tmp_path / "keys").mkdir()
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / ".ssh").symlink_to(tmp_path / "keys")
    (tmp_path / "home" / ".netrc").touch()
    paths = box(tmp_path, repo)
    assert str(tmp_path / "keys") in paths.hidden_folders
    assert str(tmp_path / "home" / ".netrc") in paths.hidden_files


@pytest.mark.parametrize("name", ["/", "missing"])
def test_a_service_has_no_home(tmp_path: Path, repo: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """S6: A HOME that is missing or the root is not mounted, and the user's own keys are hidden whatever HOME says."""
    own = tmp_path / "own"
    (own / ".ssh").mkdir(parents=True)
    user = pwd.struct_passwd(("ada", "x", 1, 1, "", str(own), "/bin/sh"))
    monkeypatch.setattr(pwd, "getpwuid", Mock(return_value=user))
    home = name if name == "/" else str(tmp_path / name)
    paths = box(tmp_path, repo, env={"HOME": home})
    assert home not in paths.readable and str(own / ".ssh") in paths.hidden_folders


def test_a_home_that_is_the_data_folder_is_hidden(tmp_path: Path, repo: Path) -> None:
    """S6: A service whose home folder holds Bough's token does not show it."""
    (tmp_path / "data").mkdir()
    paths = box(tmp_path, repo, env={"HOME": str(tmp_path / "data")})
    assert str(tmp_path / "data") not in paths.readable and str(tmp_path / "data") in paths.hidden_folders


def test_names_of_the_machine_stay(tmp_path: Path, repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """S6: A link in /run keeps its name, and name servers are found behind a link into a private folder."""
    (tmp_path / "system").mkdir()
    (tmp_path / "current").symlink_to(tmp_path / "system")
    (tmp_path / "names").mkdir()
    (tmp_path / "names" / "resolv.conf").touch()
    (tmp_path / "resolv.conf").symlink_to(tmp_path / "names" / "resolv.conf")
    monkeypatch.setattr(module, "READABLE_RUN", (str(tmp_path / "current"),))
    monkeypatch.setattr(module, "RESOLV_CONF", str(tmp_path / "resolv.conf"))
    monkeypatch.setattr(module, "TEMPORARY", (str(tmp_path),))
    paths = box(tmp_path, repo)
    assert paths.links == [(str(tmp_path / "current"), str(tmp_path / "system"))]
    assert str(tmp_path / "names") in paths.readable
    words = arguments("bwrap", paths)
    place = words.index("--symlink")
    assert words[place + 1 : place + 3] == [str(tmp_path / "system"), str(tmp_path / "current")]


def test_bough_below_the_temporary_folder_is_seen(tmp_path: Path, repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """S6: The agents that come with Bough start inside, although `/tmp` is private there."""
    environment = tmp_path / "environment"
    environment.mkdir()
    assert str(environment) not in box(tmp_path, repo).readable
    monkeypatch.setattr(module.sys, "prefix", str(environment))
    monkeypatch.setattr(module, "TEMPORARY", (str(tmp_path),))
    assert str(environment) in box(tmp_path, repo).readable


def test_the_environment_inside(tmp_path: Path) -> None:
    """S6: Variables that lead to a person's programs are gone, and git's own settings are added to those that exist."""
    env = {"SSH_AUTH_SOCK": "/run/x", "TMPDIR": "/elsewhere", "KEY": "v", "npm_config_cache": "/c"}
    inside = box_env(env | {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "a.b", "GIT_CONFIG_VALUE_0": "c"}, tmp_path)
    assert "SSH_AUTH_SOCK" not in inside and "TMPDIR" not in inside
    assert (inside["KEY"], inside["npm_config_cache"], inside["GIT_CONFIG_KEY_0"]) == ("v", "/c", "a.b")
    assert inside["GIT_CONFIG_KEY_1"] == "gc.auto" and int(inside["GIT_CONFIG_COUNT"]) == 5


def test_the_reason_is_told() -> None:
    """S6: An error of bubblewrap is part of the reason, and a failed trial is not repeated at once."""
    assert "No permissions" in explain("bwrap: No permissions to create new namespace")
    trials: list[int] = []

    def look() -> Availability:
        trials.append(1)
        return Availability(None, "none")

    probe = SandboxProbe(look)
    assert probe.find() == probe.find() and len(trials) == 1


def test_a_strict_box_resolves_no_names(tmp_path: Path, repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """S6: The sockets of name services are files and would lead out of a network of its own."""
    service = tmp_path / "run" / "resolve"
    service.mkdir(parents=True)
    monkeypatch.setattr(module, "READABLE_RUN", (str(service),))
    assert str(service) in box(tmp_path, repo).readable
    strict = box(tmp_path, repo, own_network=True)
    assert str(service) not in strict.readable and strict.own_network
