"""Tests that ARCHITECTURE.md describes the actual source tree."""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src/bough"
TEXT = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
DRAWING = TEXT.split("```")[1].strip("\n")
PROSE = "".join(TEXT.split("```")[::2])
# A file or folder, and a pattern of files such as `queries/*.sql`.
PATH = re.compile(r"(?<![\w/.*])(?:[a-z_]+/)*(?:[\w*]+\.(?:py|sql|toml)|[a-z_]+/)(?![\w/*])")
QUOTED = sorted({path for quoted in re.findall(r"`([^`]+)`", PROSE) for path in PATH.findall(quoted)})
# Rooms, but those of our own agents, whose docstrings list the words of their prompts.
ROOMS = [path.parent for path in sorted(SOURCE.rglob("__init__.py")) if path.parent.name not in ("demo", "terminal")]
MODULES = {path.stem for path in SOURCE.rglob("*.py")} | {path.parent.name for path in SOURCE.rglob("__init__.py")}
PROGRAMS = {"bwrap", "gh", "glab", "web"}
# Packages whose own packages the drawing lists completely.
LISTED_IN_FULL = ("api", "api/acp", "api/cli", "api/mcp", "agents", "core")


def _drawn() -> list[tuple[str, tuple[Path, ...]]]:
    """Returns every path of the drawing, with the folders that it can be relative to: the entries that enclose it."""
    entries: list[tuple[int, Path]] = [(-1, ROOT)]
    drawn: list[tuple[str, tuple[Path, ...]]] = []
    for line in DRAWING.splitlines():
        indent = len(line) - len(line.lstrip())
        names = PATH.findall(line)
        # A line that starts beyond the column of names continues the line before it.
        if indent < 8:
            while entries[-1][0] >= indent:
                entries.pop()
            first = line.split()[0]
            folder = entries[-1][1] / first.rstrip("/,")
            drawn.append((first.rstrip(","), (entries[-1][1],)))
            entries.append((indent, folder))
            names = names[1:]
        drawn += [(name, tuple(folder for _, folder in entries[1:])) for name in names]
    return drawn


def _exists(folder: Path, name: str) -> bool:
    matches = list(folder.glob(name.rstrip("/")))
    return bool(matches) and all(match.is_dir() == name.endswith("/") for match in matches)


def _documented() -> set[Path]:
    """Returns the folders that the drawing names."""
    return {folder / name for name, folders in _drawn() for folder in folders if (folder / name).is_dir()}


@pytest.mark.parametrize(("name", "folders"), _drawn(), ids=lambda value: value if isinstance(value, str) else "")
def test_every_path_of_the_drawing_exists(name: str, folders: tuple[Path, ...]) -> None:
    """O1: Every file and folder of the drawing exists, in the entry that it is drawn in."""
    assert [folder for folder in folders if _exists(folder, name)] != []


@pytest.mark.parametrize("path", QUOTED)
def test_every_path_in_the_flows_exists(path: str) -> None:
    """O1: Every path that the text names exists, written from the top of the package."""
    assert _exists(SOURCE, path)


@pytest.mark.parametrize("package", LISTED_IN_FULL)
def test_every_package_is_in_the_drawing(package: str) -> None:
    """O1: No package of the doors, of the agents and of core is missing from the drawing."""
    packages = {path.parent for path in (SOURCE / package).glob("*/__init__.py")}
    assert packages - _documented() == set()


def test_the_paths_were_read() -> None:
    """O1: The tests above see the paths of the drawing and those of all three flows."""
    headings = [match.start() for match in re.finditer(r"^## ", PROSE, re.MULTILINE)]
    flows = [PROSE[start:end] for start, end in pairwise(headings) if "1. `" in PROSE[start:end]]
    assert [len(PATH.findall(flow)) > 5 for flow in flows] == [True] * 3
    names = {name for name, _ in _drawn()}
    assert {"main.py", "settings.py", "ws/", "keeper_client/", "queries/*.sql", "bench/"} <= names


@pytest.mark.parametrize("room", ROOMS, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_room_names_modules_that_exist(room: Path) -> None:
    """O1: The modules that a room's docstring names exist."""
    docstring = ast.get_docstring(ast.parse((room / "__init__.py").read_text("utf-8"))) or ""
    assert set(re.findall(r"`([a-z_]+)/?`", docstring)) - MODULES - PROGRAMS == set()
