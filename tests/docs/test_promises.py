"""Tests that docs/reference/promises.md explains the ids that the code uses."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ID = r"(?:[A-Z]\d[a-z]?|\d[a-z])"
IDS = rf"{ID}(?:(?:, | and |–){ID})*"
LISTED = re.findall(rf"^\| ({ID}) \| \S", (ROOT / "docs/reference/promises.md").read_text("utf-8"), re.MULTILINE)
TEXTS = {".py", ".md", ".sql", ".toml", ".ts", ".tsx", ".css"}


def _in_tests(path: Path) -> list[str]:
    """Returns the ids that docstrings of a file begin with."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, kinds)]
    docstrings = [ast.get_docstring(node) or "" for node in nodes]
    return [id for text in docstrings if (start := re.match(rf"({IDS}):", text)) for id in re.findall(ID, start[1])]


def _in_source(path: Path) -> list[str]:
    """Returns the ids in parentheses in a file."""
    return [id for ids in re.findall(rf"\(({IDS})\)", path.read_text("utf-8")) for id in re.findall(ID, ids)]


def test_every_id_in_tests_is_explained() -> None:
    """O1: Each id at the beginning of a test's docstring is a promise that the page lists."""
    used = {id: path for path in (ROOT / "tests").rglob("*.py") for id in _in_tests(path)}
    assert len(used) > 40
    assert {id: str(path) for id, path in used.items() if id not in LISTED} == {}


def test_every_id_in_source_and_docs_is_explained() -> None:
    """O1: Each id in parentheses in source and documentation is a promise that the page lists."""
    folders = [ROOT / name for name in ("src/bough", "docs", "bench", "tools", "web/src")]
    paths = [path for folder in folders for path in folder.rglob("*") if path.suffix in TEXTS and path.is_file()]
    used = {id: path for path in (*paths, *ROOT.glob("*.md")) for id in _in_source(path)}
    assert len(used) > 20
    assert {id: str(path) for id, path in used.items() if id not in LISTED} == {}


def test_every_id_is_listed_once() -> None:
    """O1: No promise is listed twice."""
    assert sorted(LISTED) == sorted(set(LISTED))
