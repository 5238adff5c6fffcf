"""Tests `bough db` and `bough doctor`, which work without a server and refuse to interfere with a running one."""

from __future__ import annotations

import asyncio
import json
import logging
import sqlite3
from pathlib import Path

import pytest
import structlog

from bough import __version__
from bough.agents.catalog import load_catalog
from bough.storage import migrate
from tests.api.cli.cli_program import Cli, run_here
from tests.support.server import Running, serving

NEWEST = len(migrate.read_folder(migrate.FOLDER))


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    monkeypatch.setenv("BOUGH_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("BOUGH_WORKSPACE_ROOT", str(tmp_path))


def test_up_and_down(tmp_path: Path) -> None:
    """R6: `bough db` upgrades and downgrades the schema, and copies the existing file before each change."""
    missing = run_here(["db", "status"])
    assert missing.code == 1 and "no data folder" in missing.err
    assert not (tmp_path / "data").exists()
    made = run_here(["db", "upgrade", "--json"])
    assert json.loads(made.out)["applied"] == list(range(1, NEWEST + 1))
    assert json.loads(run_here(["db", "status", "--json"]).out)["pending"] == []
    assert run_here(["db", "upgrade"]).out == f"Schema {NEWEST} is up to date.\n"
    asked = run_here(["db", "downgrade", "--to", "0"], "n\n")
    assert asked.code == 1 and json.loads(run_here(["db", "status", "--json"]).out)["version"] == NEWEST
    assert run_here(["db", "downgrade", "--to", "0", "--yes"]).out == "The database is at schema 0.\n"
    shown = run_here(["db", "status"])
    assert "Pending: 1 " in shown.out and "bough db upgrade" in shown.out
    assert len(list((tmp_path / "data").glob("*.bak"))) == 1
    assert run_here(["db", "downgrade", "--to", "99", "--yes"]).code == 1
    assert run_here(["db", "downgrade"]).code == 2


def test_copy_is_complete(tmp_path: Path) -> None:
    """R6: `db copy` prints the path of the copy, which is a complete database."""
    run_here(["db", "upgrade"])
    made = Path(run_here(["db", "copy"]).out.strip())
    assert made.parent == tmp_path / "data" and made.stat().st_mode & 0o077 == 0
    copied = sqlite3.connect(made)
    assert copied.execute("SELECT count(*) FROM schema_migrations").fetchone() == (NEWEST,)
    copied.close()


async def test_a_running_server_is_left_alone(server: Running, cli: Cli) -> None:
    """L1: `bough db` refuses changes while a server runs on the data folder; reading is allowed."""
    looked = json.loads((await cli("db", "status", "--json")).out)
    assert (looked["version"], looked["pending"]) == (NEWEST, [])
    for command in (("upgrade",), ("downgrade", "--to", "0", "--yes"), ("copy",)):
        refused = await cli("db", *command)
        assert (refused.code, refused.out) == (1, "") and str(server.data) in refused.err
    assert (await server.client.get("/api/health"))["status"] == "ok"


async def test_a_server_on_another_data_folder_is_left_alone(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """L1: `bough db` refuses changes while any server uses the database, whatever its data folder."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    monkeypatch.setenv("BOUGH_DATABASE", database_url)
    async with serving(tmp_path / "other", database=database_url) as server:
        for command in (["upgrade"], ["downgrade", "--to", "0", "--yes"]):
            refused = await asyncio.to_thread(run_here, ["db", *command])
            assert (refused.code, refused.out) == (1, "") and "Stop it and try again" in refused.err
        assert (await server.client.get("/api/health"))["status"] == "ok"
    assert (await asyncio.to_thread(run_here, ["db", "downgrade", "--to", "0", "--yes"])).code == 0
    structlog.reset_defaults()


@pytest.mark.postgres
def test_postgres(postgres_url: str, tmp_path: Path) -> None:
    """R6: The same works on PostgreSQL; its password is not shown, and backups are left to its own tools."""
    upgraded = run_here(["db", "upgrade", "--database", postgres_url, "--json"])
    assert json.loads(upgraded.out)["version"] == NEWEST
    assert f"schema    {NEWEST}" in run_here(["db", "status", "--database", postgres_url]).out
    refused = run_here(["db", "copy", "--database", postgres_url])
    assert refused.code == 1 and "pg_dump" in refused.err


def _checks(*arguments: str) -> tuple[int, dict[str, dict[str, str]]]:
    ran = run_here(["doctor", "--json", *arguments])
    return ran.code, {check["name"]: check for check in json.loads(ran.out)["checks"]}


def test_doctor_before_the_first_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """O5: On a new machine nothing is a problem, the missing server is a warning, and the check creates nothing."""
    # A new machine has none of the agents that the developer is logged in to.
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in {name for entry in load_catalog(tmp_path).entries() for name in entry.login.env}:
        monkeypatch.delenv(name, raising=False)
    code, checks = _checks()
    assert (code, checks["server"]["state"]) == (0, "warning")
    fine = ("python", "git", "data folder", "database", "workspace root")
    assert all(checks[name]["state"] == "ok" for name in fine)
    assert not (tmp_path / "data").exists()
    assert (
        f"{tmp_path}/data/agents/NAME.toml" in checks["agents"]["fix"]
        and "docs/how-to/add-an-agent.md" in checks["agents"]["fix"]
    )


def test_doctor_finds_problems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """O5: Names each problem and its fix, and exits with 1."""
    run_here(["db", "upgrade"])
    data = tmp_path / "data"
    (data / "token").write_text("secret")
    (data / "token").chmod(0o644)
    (data / "server.json").write_text(json.dumps({"url": "http://127.0.0.1:1", "token": "x", "pid": 1}))
    (data / "server.json").chmod(0o600)
    (data / "agents").mkdir()
    (data / "agents" / "mine.toml").write_text("command = 3")
    monkeypatch.setenv("BOUGH_WORKSPACE_ROOT", str(tmp_path / "nowhere"))
    code, checks = _checks()
    problems = {name for name, check in checks.items() if check["state"] == "problem"}
    assert (code, problems) == (1, {"token", "agent file", "workspace root"})
    assert checks["token"]["fix"] == f"Run: chmod 600 {data / 'token'}"
    # A stale file of a server that died is not a problem.
    assert checks["server"]["state"] == "warning"
    (data / "bough.db").write_bytes(b"this is not a database" * 100)
    (data / "config.toml").write_text("colour = 1")
    code, checks = _checks()
    assert checks["database"]["state"] == checks["settings"]["state"] == "problem"
    result = run_here(["doctor"])
    assert result.code == 1 and "✗ database" in result.out and "colour" in result.out


async def test_doctor_of_a_running_server(server: Running, cli: Cli) -> None:
    """O5: Shows the version and the workspace root of a running server."""
    report = json.loads((await cli("doctor", "--json")).out)
    checks = {check["name"]: check for check in report["checks"]}
    assert report["problems"] == 0 and f"Bough {__version__} answers at {server.url}" in checks["server"]["text"]
    assert checks["workspace root"]["text"] == str(server.root)
    wrong = json.loads((await cli("doctor", "--json", "--url", server.url, "--token", "wrong")).out)
    assert {check["name"] for check in wrong["checks"] if check["state"] == "problem"} == {"server"}
