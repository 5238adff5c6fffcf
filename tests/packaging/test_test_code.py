"""Tests the code of the tests themselves."""

from __future__ import annotations

import ast
from pathlib import Path

TESTS = Path(__file__).parents[1]


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
