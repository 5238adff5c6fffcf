"""Tests habits of the code that no linter knows."""

from __future__ import annotations

import ast
from pathlib import Path

TESTS = Path(__file__).parents[1]
# Locals that do not say what they hold.
VAGUE = frozenset({"one", "found", "told", "kept", "said"})


def _conditional_asserts(path: Path) -> list[str]:
    """Returns where tests of a file assert only under a condition; such a test passes if the condition never holds."""
    tree = ast.parse(path.read_text("utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    tests = [node for node in tree.body if isinstance(node, functions) and node.name.startswith("test_")]
    conditions = [node for test in tests for node in ast.walk(test) if isinstance(node, ast.If)]
    branches = [statement for node in conditions for statement in (*node.body, *node.orelse)]
    asserts = [node for branch in branches for node in ast.walk(branch) if isinstance(node, ast.Assert)]
    return [f"{path.relative_to(TESTS)}:{node.lineno}" for node in asserts]


def test_no_test_asserts_under_a_condition() -> None:
    """O1: No test has an `assert` behind an `if`."""
    paths = list(TESTS.rglob("test_*.py"))
    assert len(paths) > 100
    assert [where for path in paths for where in _conditional_asserts(path)] == []


def _vague_names(path: Path) -> list[str]:
    """Returns where a file binds a local variable or a parameter to a vague name. Fields of structs are not meant."""
    tree = ast.parse(path.read_text("utf-8"))
    fields = {
        id(item.target)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for item in node.body
        if isinstance(item, ast.AnnAssign)
    }
    names = [
        (node.lineno, node.id)
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in fields
    ]
    names += [(node.lineno, node.arg) for node in ast.walk(tree) if isinstance(node, ast.arg)]
    return [f"{path.relative_to(TESTS.parent)}:{line} {name}" for line, name in names if name in VAGUE]


def test_locals_say_what_they_hold() -> None:
    """O1: No local variable is called `one`, `found`, `told`, `kept` or `said`."""
    folders = [TESTS.parent / name for name in ("src", "tests", "bench", "tools")]
    paths = [path for folder in folders for path in folder.rglob("*.py")]
    assert len(paths) > 500
    assert [where for path in paths for where in _vague_names(path)] == []
