"""The settings folder that Bough creates for an agent: which of the user's settings it contains."""

from __future__ import annotations

import json
import os
import subprocess
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from bough.agents.catalog import load_catalog
from bough.agents.catalog.entry import SettingsFolder
from bough.agents.catalog.settings_folder import make_home, merged
from bough.errors import Invalid

USER = """
model = "gpt-5.5"
model_provider = "mine"
profile = "wild"
sandbox_mode = "danger-full-access"
default_permissions = "wild"
approval_policy = "never"

[model_providers.mine]
base_url = "http://127.0.0.1:1/v1"

[projects."/work"]
trust_level = "trusted"

[hooks]
start = "evil"

[permissions.wild]
extends = ":danger"

[mcp_servers.theirs]
command = "theirs"
"""


@pytest.fixture
def user(tmp_path: Path) -> Path:
    """Creates a user with settings for Codex."""
    folder = tmp_path / "user" / ".codex"
    (folder / "rules").mkdir(parents=True)
    (folder / "rules" / "default.rules").write_text("allow all")
    (folder / "config.toml").write_text(USER)
    (folder / "auth.json").write_text('{"key": "k"}')
    return folder


@pytest.fixture
def home(tmp_path: Path) -> SettingsFolder:
    """Returns Codex's settings folder as the catalog describes it."""
    home = load_catalog(tmp_path).get("codex").home
    assert home is not None
    return home


def test_the_users_settings_are_kept(tmp_path: Path, user: Path, home: SettingsFolder) -> None:
    """P3: The user's model, provider and servers stay; trust, hooks, profiles and permissions do not."""
    made = make_home(home, tmp_path / "home", {"HOME": str(user.parent)})
    config = tomllib.loads((made / "config.toml").read_text())
    assert (config["model"], config["model_provider"]) == ("gpt-5.5", "mine")
    assert config["model_providers"]["mine"]["base_url"] == "http://127.0.0.1:1/v1"
    assert config["mcp_servers"] == {"theirs": {"command": "theirs"}}
    assert config.keys().isdisjoint({"projects", "hooks", "profile", "sandbox_mode"})
    assert set(config["permissions"]) == {"boughro"}
    assert config["default_permissions"] == "boughro"
    assert config["approval_policy"]["granular"]["sandbox_approval"] is False
    assert (made / "config.toml").stat().st_mode & 0o777 == 0o600
    assert made.stat().st_mode & 0o777 == 0o700
    assert (user / "config.toml").read_text() == USER


def test_the_login_is_linked_and_rules_are_not(tmp_path: Path, user: Path, home: SettingsFolder) -> None:
    """P3: A renewed login is shared through a link; permissions that were granted in Codex itself are left out."""
    made = make_home(home, tmp_path / "home", {"HOME": str(user.parent)})
    assert os.readlink(made / "auth.json") == str(user / "auth.json")
    assert {path.name for path in made.iterdir()} == {"auth.json", "config.toml", "codex"}
    (user / "auth.json").unlink()
    (user / "AGENTS.md").write_text("Be kind.")
    make_home(home, made, {"HOME": str(user.parent)})
    assert not os.path.lexists(made / "auth.json")
    assert (made / "AGENTS.md").read_text() == "Be kind."


def test_the_users_variable_names_the_folder(tmp_path: Path, user: Path, home: SettingsFolder) -> None:
    """P3: Settings in another folder are found by the user's variable; without any, only Bough's are used."""
    made = make_home(home, tmp_path / "home", {"HOME": "/nowhere", "CODEX_HOME": str(user)})
    assert tomllib.loads((made / "config.toml").read_text())["model"] == "gpt-5.5"
    alone = make_home(home, tmp_path / "other", {"HOME": str(tmp_path / "nobody")})
    assert tomllib.loads((alone / "config.toml").read_text()).keys() == home.merge["config.toml"].keys()


def test_a_change_by_the_user_is_applied(tmp_path: Path, user: Path, home: SettingsFolder) -> None:
    """P3: The folder is refreshed at each start, and left alone if nothing has changed."""
    made = make_home(home, tmp_path / "home", {"HOME": str(user.parent)})
    before = (made / "config.toml").stat().st_ino
    make_home(home, made, {"HOME": str(user.parent)})
    assert (made / "config.toml").stat().st_ino == before
    (user / "config.toml").write_text('model = "other"')
    make_home(home, made, {"HOME": str(user.parent)})
    assert tomllib.loads((made / "config.toml").read_text())["model"] == "other"


def test_files_of_the_agent_stay(tmp_path: Path, user: Path, home: SettingsFolder) -> None:
    """P3: A file that the agent put in place of a link is kept."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "auth.json").write_text("its own")
    make_home(home, tmp_path / "home", {"HOME": str(user.parent)})
    assert (tmp_path / "home" / "auth.json").read_text() == "its own"


def test_unreadable_settings_are_reported(tmp_path: Path, user: Path, home: SettingsFolder) -> None:
    """P3: Unreadable settings are never silently replaced by ours alone."""
    (user / "config.toml").write_text("model = ")
    with pytest.raises(Invalid, match=r"config\.toml cannot be read") as caught:
        make_home(home, tmp_path / "home", {"HOME": str(user.parent)})
    assert caught.value.code == "bad_agent_settings"


def test_many_at_once(tmp_path: Path, user: Path, home: SettingsFolder) -> None:
    """P3: Sessions that start at the same time create the same folder, which is complete at every moment."""
    texts = [USER + f"\n[tui]\nnumber = {number}\n" for number in range(2)]

    def make(number: int) -> dict[str, Any]:
        (user / f"{number}.new").write_text(texts[number % 2])
        (user / f"{number}.new").replace(user / "config.toml")
        made = make_home(home, tmp_path / "home", {"HOME": str(user.parent)})
        return tomllib.loads((made / "config.toml").read_text())

    with ThreadPoolExecutor(8) as pool:
        folders = list(pool.map(make, range(200)))
    assert all(item["default_permissions"] == "boughro" and item["model"] == "gpt-5.5" for item in folders)
    assert {path.name for path in (tmp_path / "home").iterdir()} == {"auth.json", "config.toml", "codex"}


def test_json_files_and_programs(tmp_path: Path) -> None:
    """P3: JSON settings are merged too, and our program passes its arguments on."""
    user = tmp_path / "user"
    user.mkdir()
    (user / "settings.json").write_text('{"a": {"x": 1, "y": 2}, "b": 3, "gone": 1}')
    home = SettingsFolder(
        user=str(user),
        merge={"settings.json": {"a": {"x": 9}}},
        drop={"settings.json": ["gone"]},
        files={"sub/policy.txt": "no"},
        programs={"say": ["echo", "a b"]},
    )
    made = make_home(home, tmp_path / "home", {})
    assert json.loads((made / "settings.json").read_text()) == {"a": {"x": 9, "y": 2}, "b": 3}
    assert (made / "sub" / "policy.txt").read_text() == "no"
    run = subprocess.run([made / "say", "c  d"], capture_output=True, text=True, check=True)
    assert run.stdout == "a b c  d\n"


def test_merged_values_win_and_come_last() -> None:
    """P3: Agents read rules in order, so the last one counts."""
    together = merged({"*": "allow", "deep": {"a": 1, "b": 2}, "c": {"x": 1}}, {"deep": {"a": 3}, "*": "ask", "c": 5})
    assert together == {"deep": {"b": 2, "a": 3}, "*": "ask", "c": 5}
    assert list(together) == ["deep", "*", "c"] and list(together["deep"]) == ["b", "a"]
