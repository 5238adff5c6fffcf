"""Runs real agents behind a real server, with a scripted model. These tests run only when they are named (`make
test-agents`): the agents are 1.3 GB, and each test starts processes of hundreds of MB."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest

from tests.real_agents.helpers.agent_under_test import FULL, SEED, Real
from tests.real_agents.helpers.measurements_table import AGENT, MEASURED, Record, Table
from tests.support import client, eventually
from tests.support.acp import acp_driver
from tests.support.real_agents.homes import Home, foreign_variables, make_home
from tests.support.real_agents.mcp_probe import http_probe
from tests.support.real_agents.packages import CACHE, PACKAGES, chosen, installed
from tests.support.repos import git, make_repo
from tests.support.scripted_model.running import ScriptedModel, scripted_model_process
from tests.support.server import ServerProcess

HERE = Path(__file__).parent
# A real agent starts in a few seconds; on a busy machine, with another one running, it may take several times that.
TIMEOUT = 180
PATIENCE = 60.0
# OpenCode takes seconds for each start. These tests run with it only with FULL=1 (or AGENTS=opencode): in the core
# run, its other tests or other agents' tests show the same.
SLOW_WITH_OPENCODE = frozenset(
    {
        "test_a_fork_into_a_worktree",
        "test_a_fork_at_an_earlier_task",
        "test_a_mode_outlives_agent_and_server",
        "test_a_new_mode_holds_from_the_next_prompt_on",
        "test_a_side_question",
        "test_a_repository_grants_nothing_in_plan",
        "test_always_is_remembered_by_bough_alone",
        "test_an_agent_manages_its_own_session",
        "test_another_agent",
        "test_choices",
        "test_mcp_servers_come_and_go",
        "test_prompts_wait_their_turn",
        "test_rules_hold_in_every_mode",
        "test_an_idle_agent_is_suspended",
        "test_tools_of_mcp_servers",
        "test_context_files_reach_the_model",
        "test_user_settings_of_the_agent_do_not_count",
    }
)
# These agents ask Bough about everything in every mode except plan, so one mode that asks represents the others.
ALIKE = {"gemini": ("acceptEdits", "auto"), "opencode": ("acceptEdits", "auto")}


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skips this folder unless it, or something in it, was named."""
    named = [config.invocation_params.dir / argument.partition("::")[0] for argument in config.args]
    return None if any(path.resolve().is_relative_to(HERE) for path in named) else True


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "only(NAME, …): is about these agents alone")
    config.pluginmanager.register(Table(config), "measured")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not FULL and not os.environ.get("AGENTS"):
        skipped = [item for item in items if item.path.is_relative_to(HERE) and _is_for_later(item)]
        config.hook.pytest_deselected(items=skipped)
        items[:] = [item for item in items if item not in skipped]
    for item in items:
        if item.path.is_relative_to(HERE) and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(TIMEOUT))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Removes the empty folder `.git` that Codex's own sandbox leaves beside temporary files: with it, everything there
    would look like a part of a repository."""
    if not hasattr(session.config, "workerinput"):
        with contextlib.suppress(OSError):
            (Path(tempfile.gettempdir()) / ".git").rmdir()


def _is_for_later(item: pytest.Item) -> bool:
    """Tells whether the core run does without a test."""
    params: dict[str, str] = getattr(getattr(item, "callspec", None), "params", {})
    agent, name = params.get("agent", ""), getattr(item, "originalname", "")
    if agent == "opencode" and name in SLOW_WITH_OPENCODE:
        return True
    return name == "test_a_mode_grants_what_it_says" and params.get("mode") in ALIKE.get(agent, ())


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Runs a test that takes `agent` with each of the usual agents, or with those of `AGENTS="codex gemini"`."""
    if "agent" in metafunc.fixturenames:
        names = chosen(os.environ.get("AGENTS", ""))
        if (only := metafunc.definition.get_closest_marker("only")) is not None:
            # Agents beyond the usual ones run with FULL=1.
            available = PACKAGES if FULL and not os.environ.get("AGENTS") else names
            names = [name for name in available if name in only.args]
        metafunc.parametrize("agent", names, indirect=True)


@pytest.fixture
def agent(request: pytest.FixtureRequest) -> str:
    """The name of the agent in the catalog."""
    name: str = request.param
    if not installed(name):
        pytest.skip(f"{name} {PACKAGES[name].version} is not installed: `make test-agents` does that")
    request.node.user_properties.append((AGENT, name))
    return name


@pytest.fixture
def record(request: pytest.FixtureRequest, agent: str) -> Record:
    """Returns `record(behaviour, result)`, which adds a cell to the table of what the agents do."""

    def note(behaviour: str, result: str) -> None:
        request.node.user_properties.append((MEASURED, (behaviour, result)))

    return note


@pytest.fixture(scope="session", autouse=True)
def bare_environment() -> Generator[None]:
    """Keeps the developer's own logins and settings away from the agents, and gives the agents more time."""
    with pytest.MonkeyPatch.context() as patch:
        for name in foreign_variables(os.environ):
            patch.delenv(name)
        for waiting in (acp_driver, client, eventually):
            patch.setattr(waiting, "PATIENCE", PATIENCE)
        yield


@pytest.fixture(scope="session")
def shared_model(bare_environment: None) -> Generator[ScriptedModel]:
    """One model for each worker, because it keeps no conversation."""
    with scripted_model_process() as model:
        yield model


@pytest.fixture
async def model(shared_model: ScriptedModel) -> ScriptedModel:
    """The scripted model, with an empty log."""
    await shared_model.reset()
    return shared_model


@pytest.fixture(scope="session")
def http_tools(bare_environment: None) -> Generator[str]:
    """The address of an MCP server on HTTP with the tools `shout` and `whoami`."""
    with http_probe("http") as url:
        yield url


@pytest.fixture
def place() -> Generator[Path]:
    """A new folder outside the temporary folder, which agents' sandboxes leave open to them."""
    temporary = Path("/tmp").resolve()
    homes = CACHE / "homes" if temporary not in CACHE.resolve().parents else Path("/var/tmp/bough-homes")
    homes.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=homes)).resolve()
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def home(agent: str, model: ScriptedModel, place: Path) -> Home:
    """The home in which the agent is installed and logged in."""
    return make_home(place / "home", model.url, agent)


@pytest.fixture
def repo(place: Path) -> Path:
    """A git repository with a file `seed.txt`."""
    repo = make_repo(place / "work/repo")
    (repo / "seed.txt").write_text(SEED, "utf-8")
    git(repo, "add", "seed.txt")
    git(repo, "commit", "--quiet", "--message", "Seed.")
    return repo


@pytest.fixture
async def real(agent: str, home: Home, model: ScriptedModel, place: Path, repo: Path) -> AsyncGenerator[Real]:
    """The agent behind a `bough serve` of its own."""
    server = ServerProcess(place / "data", place / "work", env=home.env)
    async with server, server.client() as person:
        repo_id = (await person.repo(repo))["id"]
        yield Real(agent, home, model, server, person, repo, repo_id)
