"""Finding an agent: on the PATH, in the data folder, through npx, or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bough import __version__
from bough.agents.catalog import Catalog, CatalogEntry, load_catalog
from bough.agents.catalog.entry import Login, Package
from bough.agents.catalog.find_program import find, install_hint, npm_folder, startable
from bough.agents.catalog.login import is_set_up, login_command
from bough.errors import Invalid

PACKAGE = Package(npm="@some/tiny", version="1.2.3")


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns the only folder on the PATH, which is still empty."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def entry(package: Package | None = PACKAGE) -> CatalogEntry:
    return CatalogEntry(name="tiny", title="Tiny", command=["tiny", "--acp"], package=package)


def program(file: Path) -> str:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    return str(file)


def test_on_the_path(path: Path, tmp_path: Path) -> None:
    """O1: A program on the PATH comes first; its version is that of its package, with links followed."""
    package = tmp_path / "lib" / "tiny"
    real = program(package / "dist" / "main.js")
    (package / "package.json").write_text(json.dumps({"version": "9.9.9"}))
    (path / "tiny").symlink_to(real)
    program(npm_folder(tmp_path, entry()) / "node_modules" / ".bin" / "tiny")
    program(path / "npx")
    located = find(entry(), tmp_path)
    assert located is not None
    assert (located.how, located.version) == ("installed", "9.9.9")
    assert located.command == [str(path / "tiny"), "--acp"]


def test_in_the_data_folder(path: Path, tmp_path: Path) -> None:
    """O1: Next comes a package in the data folder, under the package's program name."""
    program(path / "npx")
    renamed = entry(Package(npm="@some/tiny", version="1.2.3", bin="tiny-acp"))
    there = program(npm_folder(tmp_path, renamed) / "node_modules" / ".bin" / "tiny-acp")
    located = find(renamed, tmp_path)
    assert located is not None and (located.how, located.command) == ("installed", [there, "--acp"])


def test_through_npx(path: Path, tmp_path: Path) -> None:
    """O1: Next comes npx, with exactly the tested version."""
    npx = program(path / "npx")
    located = find(entry(), tmp_path)
    assert located is not None and (located.how, located.version) == ("npx", "1.2.3")
    assert located.command == [npx, "--yes", "--package", "@some/tiny@1.2.3", "--", "tiny", "--acp"]
    assert find(entry(package=None), tmp_path) is None


def test_not_installed(path: Path, tmp_path: Path) -> None:
    """O1: Otherwise it cannot be started, and the error says how to install it."""
    assert find(entry(), tmp_path) is None
    with pytest.raises(Invalid, match=r"'tiny' was not found\. Install it with: bough agents install tiny") as caught:
        startable(entry(), tmp_path)
    assert caught.value.code == "agent_missing"
    alone = entry(package=None)
    assert install_hint(alone) == ""
    alone.install = "Ask your friends."
    with pytest.raises(Invalid, match=r"Ask your friends\.$"):
        startable(alone, tmp_path)
    # A file that is not executable is not a program.
    (path / "tiny").write_text("no")
    assert find(entry(), tmp_path) is None


def test_versions_of_our_own_agents(tmp_path: Path) -> None:
    """A2: Agents that come with Bough have its version; a user's agent that is not a package has none."""
    catalog = load_catalog(tmp_path)
    for name in ("demo", "terminal"):
        located = catalog.find(catalog.get(name))
        assert located is not None and (located.version or "").startswith(__version__)
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "mine.toml").write_text('extends = "demo"')
    catalog = load_catalog(tmp_path)
    located = catalog.find(catalog.get("mine"))
    assert located is not None and located.version is None


def test_a_login_is_detected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """O1: A non-empty variable or an existing file counts as a login; if an agent names neither, the answer is
    unknown."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("TINY_KEY", raising=False)
    agent = entry()
    assert is_set_up(agent) is None
    agent.login = Login(env=["TINY_KEY"], files=["~/.tiny/auth.json", "$TINY_HOME/auth.json"])
    assert is_set_up(agent) is False
    monkeypatch.setenv("TINY_KEY", "")
    assert is_set_up(agent) is False
    monkeypatch.setenv("TINY_KEY", "k")
    assert is_set_up(agent) is True
    monkeypatch.delenv("TINY_KEY")
    monkeypatch.setenv("TINY_HOME", str(tmp_path / "t"))
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "auth.json").write_text("{}")
    assert is_set_up(agent) is True


def test_a_login_inside_a_file_is_detected(tmp_path: Path) -> None:
    """O1: A file that the agent has anyway counts only if a login has left its mark in it."""
    agent = entry()
    file = tmp_path / "config.json"
    agent.login = Login(contents={str(file): ['"user": *"', "token"]})
    assert is_set_up(agent) is False
    file.write_text('{"theme": "dark"}')
    assert is_set_up(agent) is False
    file.write_text('{"theme": "dark", "user": "me"}')
    assert is_set_up(agent) is True


def test_copilots_settings_are_no_login(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """O1: Copilot writes its settings at its first start; only an account in them is a login."""
    monkeypatch.setenv("HOME", str(tmp_path))
    copilot = load_catalog(tmp_path).get("copilot")
    for name in (*copilot.login.env, "COPILOT_HOME"):
        monkeypatch.delenv(name, raising=False)
    file = tmp_path / ".copilot" / "config.json"
    file.parent.mkdir()
    file.write_text('// managed\n{"firstLaunchAt": "2026-01-01", "loggedInUsers": []}')
    assert is_set_up(copilot) is False
    file.write_text('// managed\n{"lastLoggedInUser": {"host": "https://github.com", "login": "me"}}')
    assert is_set_up(copilot) is True


def test_the_login_command(path: Path, tmp_path: Path) -> None:
    """O1: The login runs the program that the server would run: on the PATH, in the data folder, or through npx."""
    agent = entry()
    with pytest.raises(Invalid) as raised:
        login_command(agent, tmp_path)
    assert (raised.value.code, raised.value.message) == ("no_login", "Tiny needs no login.")
    agent.login = Login(command=["tiny", "login"], how="Log in.")
    with pytest.raises(Invalid) as raised:
        login_command(agent, tmp_path)
    assert raised.value.code == "agent_missing" and "bough agents install tiny" in raised.value.message
    npx = program(path / "npx")
    assert login_command(agent, tmp_path)[0] == [npx, "--yes", "--package", "@some/tiny@1.2.3", "--", "tiny", "login"]
    own = npm_folder(tmp_path, agent) / "node_modules" / ".bin"
    there = program(own / "tiny")
    command, env = login_command(agent, tmp_path)
    assert (command, env["PATH"]) == ([there, "login"], f"{path}:{own}")
    on_path = program(path / "tiny")
    assert login_command(agent, tmp_path)[0] == [on_path, "login"]


def test_a_login_is_attended(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """O1: A person logs in, so the agent is not told that it runs unattended; the rest of the environment is kept."""
    monkeypatch.setenv("CI", "true")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("CIRCLE", "round")
    program(path / "tiny")
    agent = entry()
    agent.login = Login(command=["tiny", "login"], how="Log in.")
    _, env = login_command(agent, tmp_path)
    assert {"CI", "GITHUB_ACTIONS"}.isdisjoint(env) and env["CIRCLE"] == "round"


def test_the_default_agent(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """O1: The default is the first preferred agent that is installed (not through npx) and logged in, or else the demo
    agent."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    catalog: Catalog = load_catalog(tmp_path)
    program(path / "npx")
    assert catalog.default() == "demo"
    program(path / "claude-agent-acp")
    program(path / "gemini")
    assert catalog.default() == "demo"
    monkeypatch.setenv("GEMINI_API_KEY", "k")
    assert catalog.default() == "gemini"
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    assert catalog.default() == "claude-code"
    assert catalog.default("terminal") == "terminal"
    with pytest.raises(Invalid):
        catalog.default("nobody")
