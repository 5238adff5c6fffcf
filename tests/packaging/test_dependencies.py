"""The package declares the distributions that it imports, and no others."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
# uvicorn needs it for the protocol class that the server extends, but does not require it.
FOR_UVICORN = {"httptools"}


def distribution(requirement: str) -> str:
    """Returns the name that a requirement starts with, as an import would spell it."""
    name = re.match(r"[A-Za-z0-9_.-]+", requirement)
    assert name is not None
    return name[0].lower().replace("-", "_")


def imported(folder: Path) -> set[str]:
    """Returns the packages outside the standard library that any module in the folder imports."""
    modules = (name for path in folder.rglob("*.py") for name in imports(ast.parse(path.read_text("utf-8"))))
    return {name.partition(".")[0] for name in modules} - set(sys.stdlib_module_names)


def imports(tree: ast.AST) -> Iterable[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module is not None:
            yield node.module


def test_imported_packages_are_declared() -> None:
    """O4: A fresh install has every package that the code imports, and none that only tests import."""
    declared = {distribution(requirement) for requirement in PROJECT["project"]["dependencies"]}
    needed = imported(ROOT / "src/bough") - {"bough"} | FOR_UVICORN
    assert declared == needed


def test_every_dependency_is_pinned() -> None:
    """O4: `make setup` installs the same versions everywhere."""
    groups = [PROJECT["project"]["dependencies"], *PROJECT["dependency-groups"].values()]
    # A group can also include another one, which is not a text.
    declared = {distribution(entry) for group in groups for entry in group if isinstance(entry, str)}
    pinned = {distribution(line) for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines()}
    assert declared <= pinned
