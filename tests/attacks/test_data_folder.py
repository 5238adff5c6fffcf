"""Attacks on files: a data folder that others can read or change, and passwords that others can see."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from bough import data_folder
from bough.errors import Invalid
from bough.setting_values import has_password, with_password
from bough.settings import Settings
from tests.api.cli.cli_program import bough
from tests.support.server import ServerProcess, serving

SERVE = ("serve", "--port", "0")


@pytest.fixture
async def used(tmp_path: Path) -> Path:
    """Returns a data folder that a server has used."""
    async with serving(tmp_path):
        pass
    return tmp_path / "data"


async def test_a_new_folder_simply_works(tmp_path: Path) -> None:
    """L1: A new folder, also one that was made with the usual mode, becomes private without a word."""
    for name, mode in (("missing", None), ("usual", 0o755), ("shared", 0o777)):
        data = tmp_path / name
        if mode is not None:
            data.mkdir()
            data.chmod(mode)
        data_folder.prepare(data)
        assert data.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o750, 0o705, 0o770, 0o707, 0o755, 0o777])
async def test_a_folder_that_others_reach_is_refused(used: Path, mode: int) -> None:
    """L1: The refusal has the command that corrects the folder, and the command works."""
    os.chmod(used, mode)
    refused = await bough(*SERVE, "--data", str(used))
    assert (refused.code, f"chmod 700 {used}" in refused.err) == (1, True)
    assert "Traceback" not in refused.err
    os.chmod(used, 0o700)
    data_folder.prepare(used)


async def test_files_restored_with_wrong_modes_are_refused(used: Path) -> None:
    """L1: The token and the database must be private, too, for example after they were restored from a copy."""
    for name, mode in (("token", 0o644), ("token", 0o602), ("bough.db", 0o640)):
        (used / name).chmod(mode)
        with pytest.raises(Invalid) as caught:
            data_folder.prepare(used)
        assert f"chmod 600 {used / name}" in caught.value.message
        (used / name).chmod(0o600)
    (used / "keepers").mkdir(exist_ok=True)
    (used / "keepers").chmod(0o755)
    with pytest.raises(Invalid) as caught:
        data_folder.prepare(used)
    assert f"chmod 700 {used / 'keepers'}" in caught.value.message


async def test_symbolic_links_are_refused(used: Path, tmp_path: Path) -> None:
    """L1: A link may lead to a place that somebody else controls."""
    link = tmp_path / "link"
    link.symlink_to(used)
    refused = await bough(*SERVE, "--data", str(link))
    assert (refused.code, f"--data {used}" in refused.err) == (1, True)
    (used / "token").rename(tmp_path / "elsewhere")
    (used / "token").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Invalid) as caught:
        data_folder.prepare(used)
    assert "symbolic link" in caught.value.message


def test_a_foreign_folder_with_contents_is_refused(tmp_path: Path) -> None:
    """L1: What others could have planted before the first start is not used."""
    data = tmp_path / "data"
    (data / "agents").mkdir(parents=True)
    data.chmod(0o777)
    with pytest.raises(Invalid, match="Check its contents"):
        data_folder.prepare(data)


def test_the_password_is_read_from_a_file(tmp_path: Path) -> None:
    """L1, R6: The URL needs no password if a file has it."""
    file = tmp_path / "password"
    file.write_text("p@ss/w:rd%\n")
    settings = Settings(database="postgresql://me@host:5433/db?x=1", database_password_file=str(file))
    assert settings.database_url == "postgresql://me:p%40ss%2Fw%3Ard%25@host:5433/db?x=1"
    assert with_password("postgresql://me:old@h/db", "new") == "postgresql://me:new@h/db"
    assert Settings(data=str(tmp_path), database_password_file=str(file)).database_url == f"{tmp_path}/bough.db"
    with pytest.raises(Invalid, match="cannot read"):
        _ = Settings(database="postgresql://h/db", database_password_file=str(tmp_path / "gone")).database_url
    for url in (
        "postgresql://u:p@h/d",
        "postgresql://u:a@b@h/d",
        "postgresql://h/d?password=p",
        "postgres://h/d?a=1&password=p",
    ):
        assert has_password(url)
    for url in ("", "/a:b@c/d", "postgresql://u@h:1/d", "sqlite:///x"):
        assert not has_password(url)


@pytest.mark.postgres
async def test_the_password_is_not_visible(tmp_path: Path, postgres_url: str) -> None:
    """L1: A password given on the command line is not on the server's own, nor in its settings, health, logs and
    doctor."""
    secret = "hunter2secret"
    url = (
        with_password(postgres_url, secret)
        if "@" in postgres_url
        else f"{postgres_url}{'&' if '?' in postgres_url else '?'}password={secret}"
    )
    server = ServerProcess(tmp_path / "data", tmp_path / "work", ("--database", url))
    async with server, server.client() as client:
        assert server.process is not None
        command = await asyncio.to_thread(Path(f"/proc/{server.process.pid}/cmdline").read_bytes)
        assert secret.encode() not in command
        assert b"serve" in command
        texts = [str(await client.get(path)) for path in ("/api/settings", "/api/health")]
        texts.append((server.data / "server.log").read_text())
        assert not [text for text in texts if secret in text]
    result = await bough("doctor", "--data", str(server.data), BOUGH_DATABASE=url)
    assert secret not in result.out + result.err


async def test_errors_do_not_quote_the_password(tmp_path: Path) -> None:
    """L1: A malformed URL is refused without any part of its password."""
    refused = await bough(*SERVE, "--data", str(tmp_path / "data"), BOUGH_DATABASE="postgresql://u:hun#ter2@h:x/d")
    assert refused.code == 1
    assert "ter2" not in refused.out + refused.err
    assert "hun" not in refused.out + refused.err
    assert os.environ.get("BOUGH_DATABASE") is None
