"""P1: Tests use what users are asked to install: the real agents of the tests are those of the catalog."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from bough.agents.catalog.load import BUILT_IN
from tests.support.real_agents.actions import actions_of
from tests.support.real_agents.homes import foreign_variables, make_home
from tests.support.real_agents.packages import PACKAGES, USUAL, chosen, install, installed


@pytest.mark.parametrize("name", PACKAGES)
def test_the_catalog_names_the_same_package(name: str) -> None:
    entry = tomllib.loads((BUILT_IN / f"{name}.toml").read_text("utf-8"))
    package = PACKAGES[name]
    assert entry["package"] == {"npm": package.npm, "version": package.version}
    assert entry["command"] == list(package.command)


def test_agents_are_chosen_by_name() -> None:
    assert chosen("") == chosen([]) == USUAL
    assert chosen("codex qwen") == ("codex", "qwen")
    with pytest.raises(ValueError, match="There is no agent codec"):
        chosen("codec")


@pytest.mark.parametrize("name", PACKAGES)
def test_an_agent_counts_as_installed_in_its_version_only(name: str, tmp_path: Path) -> None:
    package = PACKAGES[name]
    manifest = tmp_path / name / "node_modules" / package.npm / "package.json"
    program = tmp_path / name / "node_modules/.bin" / package.command[0]
    for file in (manifest, program):
        file.parent.mkdir(parents=True, exist_ok=True)
    assert not installed(name, tmp_path)
    manifest.write_text(f'{{"version": "{package.version}"}}')
    assert not installed(name, tmp_path)
    program.touch()
    assert installed(name, tmp_path) and install(name, tmp_path) is None
    manifest.write_text('{"version": "0.0.1"}')
    assert not installed(name, tmp_path)


@pytest.mark.parametrize("name", PACKAGES)
def test_a_home_has_a_login_and_no_permissions(name: str, tmp_path: Path) -> None:
    """P1: A home sets no permissions, so a test of permissions cannot pass because of them."""
    home = make_home(tmp_path / "home", "http://127.0.0.1:1", name)
    files = [path.read_text() for path in home.folder.rglob("*") if path.is_file() and not path.is_symlink()]
    settings = " ".join([*files, *(f"{name}={value}" for name, value in home.env.items() if name != "PATH")])
    assert "http://127.0.0.1:1" in settings
    for word in ("permission", "approval", "sandbox", "INITIAL_AGENT_MODE", "trust"):
        assert word.lower() not in settings.lower().replace(str(tmp_path).lower(), ""), word


def test_a_developers_own_settings_are_known() -> None:
    assert foreign_variables({"IS_SANDBOX": "1", "https_proxy": "x", "CLAUDECODE": "1", "HOME": "/"}) == [
        *("IS_SANDBOX", "https_proxy", "CLAUDECODE")
    ]


@pytest.mark.parametrize("name", PACKAGES)
def test_every_agent_knows_every_action(name: str, tmp_path: Path) -> None:
    """P1: Each action is one script for every agent, with absolute paths where its tools need them."""
    actions = actions_of(name, tmp_path)
    outside = Path("/elsewhere/file")
    scripts = [
        *(
            actions.write(),
            actions.edit("a", "b", "c"),
            actions.read("a"),
            actions.echo(),
            actions.plan(),
            actions.question(),
        ),
        *(actions.shell_write(), actions.shell_outside(outside), actions.slow_shell(mark="pid"), actions.mcp("probe")),
        *(
            actions.say("x"),
            actions.think("x"),
            actions.recall(),
            actions.tools(),
            actions.slow(),
            actions.hang(),
            actions.http(),
        ),
    ]
    assert all(script.startswith("[[") and script.endswith("]]") for script in scripts)
    assert str(outside) in actions.shell_outside(outside) and str(tmp_path) not in actions.shell_outside(outside)
