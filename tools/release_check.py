"""Builds the files of a release and proves that they work: the wheel is installed into a new environment, and its
server must answer with the right version and the page."""

from __future__ import annotations

import http.cookiejar
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
import venv
import zipfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urljoin

# Generous, because a release may be built on a loaded machine.
INSTALL_TIMEOUT = 600
COMMAND_TIMEOUT = 120
ANSWER_TIMEOUT = 60

IN_WHEEL = (
    "bough/__init__.py",
    "bough/main.py",
    "bough/py.typed",
    "bough/web/third-party-notices.md",
    "bough/web/index.html",
)
IN_ARCHIVE = (
    "pyproject.toml",
    "hatch_build.py",
    "src/bough/__init__.py",
    "src/bough/web/index.html",
    "web/package.json",
)
PAGE_MARK = '<div id="root">'


class ReleaseError(Exception):
    """The release cannot be built; the message says why."""


def build(root: Path, folder: Path) -> tuple[Path, Path]:
    """Builds a wheel and a source archive into an empty folder and returns them."""
    shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)]
    result = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise ReleaseError(f"The build failed: {result.stderr.strip()}")
    (wheel,), (archive,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, archive


def check_files(wheel: Path, archive: Path) -> None:
    """Raises `ReleaseError` if a file is missing, or if the wheel holds anything besides the package."""
    with zipfile.ZipFile(wheel) as opened:
        in_wheel = set(opened.namelist())
    with tarfile.open(archive) as opened_archive:
        # A source archive puts everything into one folder.
        in_archive = {name.partition("/")[2] for name in opened_archive.getnames()}
    missing = [
        *(name for name in IN_WHEEL if name not in in_wheel),
        *(name for name in IN_ARCHIVE if name not in in_archive),
    ]
    if missing:
        raise ReleaseError(f"The release lacks {', '.join(missing)}. Run `make web` and try again.")
    strange = sorted(name for name in in_wheel if not name.startswith("bough/") and ".dist-info/" not in name)
    if strange:
        raise ReleaseError(f"The wheel holds files outside the package: {', '.join(strange)}.")


def try_wheel(wheel: Path, version: str, constraints: Path) -> None:
    """Installs the wheel into a new environment, runs the program and a server, and checks what they report."""
    with tempfile.TemporaryDirectory(prefix="bough-release-") as folder:
        environment = Path(folder, "venv")
        venv.create(environment, with_pip=True)
        run(environment / "bin/python", "-m", "pip", "install", "--quiet", "--constraint", str(constraints), str(wheel))
        bough = environment / "bin/bough"
        reported = run(bough, "--version").strip()
        if reported != f"bough {version}":
            raise ReleaseError(f"`bough --version` prints {reported!r} instead of 'bough {version}'.")
        with running_server(bough, Path(folder)) as link:
            check_server(link, version)


def run(program: Path, *arguments: str) -> str:
    """Runs a program of the new environment, outside the clone so that it cannot import from there."""
    command = [str(program), *arguments]
    try:
        result = subprocess.run(
            command, cwd=program.parent, capture_output=True, text=True, timeout=INSTALL_TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise ReleaseError(f"{program.name} {' '.join(arguments)} did not end in {INSTALL_TIMEOUT} s.") from error
    if result.returncode != 0:
        raise ReleaseError(f"{program.name} {' '.join(arguments)} failed: {result.stderr.strip()[-2000:]}")
    return result.stdout


@contextmanager
def running_server(bough: Path, folder: Path) -> Generator[str]:
    """Runs `bough serve` on a free port and a new data folder, yields its link and stops it."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("BOUGH_", "PYTHON"))}
    command = [str(bough), "serve", "--port", "0", "--data", str(folder / "data")]
    with (
        open(folder / "errors.txt", "w+", encoding="utf-8") as errors,
        subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as server,
    ):
        assert server.stdout is not None
        try:
            link = server.stdout.readline().strip()
            if not link.startswith("http://"):
                errors.seek(0)
                raise ReleaseError(f"`bough serve` did not start: {errors.read()[-2000:]}")
            yield link
            server.terminate()
            if (code := server.wait(COMMAND_TIMEOUT)) != 0:
                raise ReleaseError(f"`bough serve` ended with {code} when it was stopped.")
        finally:
            server.kill()


def check_server(link: str, version: str) -> None:
    """Follows the server's link as a browser would, and asks for its version."""
    # Bypasses any proxy of the machine, because the server is local.
    browser = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
    )
    page: str = browser.open(link, timeout=ANSWER_TIMEOUT).read().decode()
    if PAGE_MARK not in page:
        raise ReleaseError("The server answers, but not with the page.")
    health = json.loads(browser.open(urljoin(link, "/api/health"), timeout=ANSWER_TIMEOUT).read())
    if health != {"status": "ok", "version": version}:
        raise ReleaseError(f"The server's health is {health} instead of version {version}.")
