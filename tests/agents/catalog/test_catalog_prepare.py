"""Preparing a start: which variables win, what the agent gets, and what is hidden from it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bough.agents.catalog import load_catalog
from bough.agents.catalog.entry import (
    CatalogEntry,
    Login,
    ModeSettings,
    RepositoryFiles,
    SandboxNeeds,
    SettingsFolder,
    StartSettings,
)
from bough.agents.catalog.prepare import PreparedStart, prepare, server_env
from bough.errors import Invalid


def entry(**fields: Any) -> CatalogEntry:
    return CatalogEntry(name="tiny", title="Tiny", command=[sys.executable, "--acp"], **fields)


def prepared(
    tmp_path: Path,
    agent: CatalogEntry,
    own: dict[str, str] | None = None,
    mode: ModeSettings | None = None,
    added: Sequence[str] = (),
) -> PreparedStart:
    cwd = tmp_path / "cwd"
    cwd.mkdir(exist_ok=True)
    return prepare(agent, tmp_path / "data", str(cwd), mode or ModeSettings(), own or {}, added)


def test_which_variables_win(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P2: A session's variables override the server's and the catalog's, except variables about rights."""
    for name in ("SERVER", "ENTRY", "START", "TINY_HOME", "RESTRICT"):
        monkeypatch.setenv(name, "server")
    agent = entry(
        env={"ENTRY": "entry", "BOTH": "entry"},
        start={"default": StartSettings(env={"START": "start {cwd}"})},
        home=SettingsFolder(variable="TINY_HOME", user="~/.tiny"),
        repository=RepositoryFiles(restrict=[".tiny"], restrict_env={"RESTRICT": "on"}),
    )
    (tmp_path / "cwd" / ".tiny").mkdir(parents=True)
    (tmp_path / "cwd" / ".tiny" / "settings").write_text("")
    mine = {"SERVER": "mine", "BOTH": "mine", "START": "mine", "TINY_HOME": "mine", "RESTRICT": "mine"}
    env = prepared(tmp_path, agent, mine).env
    assert (env["SERVER"], env["ENTRY"], env["BOTH"]) == ("mine", "entry", "mine")
    assert env["START"] == f"start {tmp_path}/cwd"
    assert env["TINY_HOME"].startswith(f"{tmp_path}/data/homes/tiny-")
    assert prepared(tmp_path, agent, {}).env["TINY_HOME"] == f"{tmp_path}/data/homes/tiny"
    assert env["RESTRICT"] == "on"


def test_hidden_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P2, L2: Bough's own variables are not passed on, and hidden ones do not come back through a session."""
    monkeypatch.setenv("BOUGH_TOKEN", "secret")
    monkeypatch.setenv("AGENT_MAX_SESSIONS", "3")
    monkeypatch.setenv("TINY_RIGHTS", "all")
    monkeypatch.setenv("VISIBLE", "yes")
    own = {"TINY_RIGHTS": "all", "VISIBLE_TOO": "yes"}
    env = prepared(tmp_path, entry(hide=["TINY_RIGHTS"]), own, added=["*"]).env
    assert env.keys().isdisjoint({"BOUGH_TOKEN", "AGENT_MAX_SESSIONS", "TINY_RIGHTS"})
    assert (env["VISIBLE"], env["VISIBLE_TOO"]) == ("yes", "yes")


def test_inherited_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """L2: An agent inherits the usual variables, those that its file names and those that a person adds; no others."""
    usual = ("LANG", "LC_TIME", "XDG_CONFIG_HOME", "https_proxy", "SSL_CERT_FILE", "NODE_OPTIONS")
    secret = ("AWS_SECRET_ACCESS_KEY", "NODE_AUTH_TOKEN", "npm_config__auth", "GIT_CONFIG_VALUE_0", "SSH_AUTH_SOCK")
    named = ("TINY_KEY", "TINY_STYLE", "TINY_HOME", "TINY_CONFIG", "TINY_STATE", "USE_CLOUD", "CLOUD_KEY")
    for name in (*usual, *secret, *named, "OTHER_KEY", "MINE_A"):
        monkeypatch.setenv(name, "server")
    monkeypatch.setenv("TINY_CONFIG", "{}")
    agent = entry(
        inherit=["*_STYLE"],
        login=Login(env=["TINY_KEY"], also={"USE_CLOUD": ["CLOUD_*"], "USE_OTHER": ["OTHER_*"]}),
        start={"default": StartSettings(json_env={"TINY_CONFIG": {"a": 1}})},
        home=SettingsFolder(variable="TINY_HOME", user="~/.tiny"),
        sandbox=SandboxNeeds(write=["$TINY_STATE/x"]),
    )
    env = prepared(tmp_path, agent).env
    assert {*usual, *named} <= env.keys() and "PATH" in env
    assert env.keys().isdisjoint({*secret, "OTHER_KEY", "MINE_A"})
    added = prepared(tmp_path, agent, added=["MINE_*", "SSH_AUTH_SOCK"]).env
    assert added.keys() - env.keys() == {"MINE_A", "SSH_AUTH_SOCK"}
    monkeypatch.delenv("USE_CLOUD")
    assert "CLOUD_KEY" not in prepared(tmp_path, agent, {"USE_CLOUD": "1"}).env


def test_variables_that_settings_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """L2: An agent inherits the variables that the user's own settings name for its keys, but none of Bough's."""
    settings = tmp_path / "tiny.toml"
    settings.write_text('env_key = "ACME_KEY"\nother = "OTHER_KEY"\nenv_key = "BOUGH_TOKEN"\nenv_key = "A*"\n')
    for name in ("ACME_KEY", "OTHER_KEY", "BOUGH_TOKEN", "ABLE"):
        monkeypatch.setenv(name, "server")
    patterns = ['env_key = "(?P<variable>[^"]+)"', 'other = "(OTHER_KEY)"']
    login = Login(env=["TINY_KEY"], named_in={str(settings): patterns, str(tmp_path / "none"): ["x"]})
    start = prepared(tmp_path, entry(login=login))
    env = start.env
    assert env["ACME_KEY"] == "server" and start.keys == ["ACME_KEY"]
    assert env.keys().isdisjoint({"OTHER_KEY", "BOUGH_TOKEN", "ABLE"})


@pytest.mark.parametrize(
    ("agent", "passes", "stays"),
    [
        ("claude-code", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"),
        ("codex", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"),
        ("gemini", "GEMINI_API_KEY", "GOOGLE_CREDENTIALS"),
        ("opencode", "ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY"),
        ("copilot", "GH_TOKEN", "ANTHROPIC_API_KEY"),
        ("qwen", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY"),
        ("terminal", "LANG", "ANTHROPIC_API_KEY"),
    ],
)
def test_each_agent_gets_its_own_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: str, passes: str, stays: str
) -> None:
    """L2: The agents of the catalog inherit their own keys, and not those of others."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in (passes, stays):
        monkeypatch.setenv(name, "x")
    env = server_env(load_catalog(tmp_path).get(agent))
    assert passes in env and stays not in env


def test_the_start_of_a_mode(tmp_path: Path) -> None:
    """P1: A mode names its start settings, or uses those called default; placeholders are filled at any depth."""
    agent = entry(
        start={
            "default": StartSettings(args=["--careful"], meta={"deep": [{"where": "{cwd}"}]}),
            "free": StartSettings(args=["--free", "{home}/x"]),
        },
        home=SettingsFolder(files={"x": "y"}),
    )
    careful = prepared(tmp_path, agent, mode=ModeSettings(mode="a"))
    assert careful.command == [sys.executable, "--acp", "--careful"]
    assert careful.meta == {"deep": [{"where": f"{tmp_path}/cwd"}]}
    free = prepared(tmp_path, agent, mode=ModeSettings(mode="b", start="free"))
    assert free.command[-2:] == ["--free", f"{tmp_path}/data/homes/tiny/x"]
    assert (free.meta, free.fetched) == ({}, False)
    assert os.path.exists(free.command[-1])


def test_variables_that_hold_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P2: Values of the user or the session are kept, but ours win and come last."""
    ours = {"agent": {"a": {"rights": "ask"}}, "dir": "{cwd}", "*": "ask"}
    agent = entry(start={"default": StartSettings(json_env={"TINY_CONFIG": ours})})
    assert json.loads(prepared(tmp_path, agent).env["TINY_CONFIG"]) == ours | {"dir": f"{tmp_path}/cwd"}
    monkeypatch.setenv(
        "TINY_CONFIG", '{"*": "allow", "agent": {"a": {"rights": "all", "x": 1}, "b": {}}, "theme": "dark"}'
    )
    for own in ({}, {"TINY_CONFIG": os.environ["TINY_CONFIG"]}):
        config = json.loads(prepared(tmp_path, agent, own).env["TINY_CONFIG"])
        assert config["theme"] == "dark"
        assert config["agent"] == {"b": {}, "a": {"x": 1, "rights": "ask"}}
        assert list(config)[-1] == "*" and config["*"] == "ask"
    with pytest.raises(Invalid, match="TINY_CONFIG does not hold a JSON object") as caught:
        prepared(tmp_path, agent, {"TINY_CONFIG": "[]"})
    assert caught.value.code == "bad_agent_env"


def test_a_repository_with_settings(tmp_path: Path) -> None:
    """P3: A notice explains why an agent is restricted; without such files there is none."""
    repository = RepositoryFiles(
        restrict=[".env"],
        restrict_env={"TRUST": "no"},
        restrict_note="It trusts nothing.",
        restrict_instructions=["AGENTS.md"],
    )
    agent = entry(start={"default": StartSettings(env={"TRUST": "yes"})}, repository=repository)
    assert (prepared(tmp_path, agent).env["TRUST"], prepared(tmp_path, agent).notices) == ("yes", [])
    (tmp_path / "cwd" / "AGENTS.md").write_text("Be kind.")
    assert prepared(tmp_path, agent).instructions == ""
    (tmp_path / "cwd" / ".env").write_text("X=1")
    restricted = prepared(tmp_path, agent)
    assert restricted.env["TRUST"] == "no"
    assert restricted.notices == ["This repository has settings for Tiny: .env. It trusts nothing."]
    assert restricted.instructions.endswith("Be kind.")
