"""Tests habits of the code that no linter knows."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).parents[1]
# Locals that do not say what they hold.
VAGUE = frozenset({"one", "found", "told", "kept", "said", "wanted", "given", "who", "which"})
# The same in the page's code: a declaration or the parameter of an arrow function.
NAMES = "|".join(sorted(VAGUE))
VAGUE_ON_PAGE = re.compile(rf"\b(?:const|let) (?:{NAMES})\b|[(,] ?(?:{NAMES})(?:[,)][^=]*)? =>")


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
    """O1: No local variable is called `one`, `found`, `told`, `given` or the like."""
    folders = [TESTS.parent / name for name in ("src", "tests", "bench", "tools")]
    paths = [path for folder in folders for path in folder.rglob("*.py")]
    assert len(paths) > 500
    assert [where for path in paths for where in _vague_names(path)] == []


def test_the_pages_locals_say_what_they_hold() -> None:
    """O1: The same holds for the page."""
    paths = [path for path in (TESTS.parent / "web/src").rglob("*.ts*") if path.name != "schema.ts"]
    assert len(paths) > 200
    lines = [(path, number, line) for path in paths for number, line in enumerate(path.read_text().splitlines(), 1)]
    assert [f"{path.name}:{number} {line}" for path, number, line in lines if VAGUE_ON_PAGE.search(line)] == []


def test_a_class_has_a_name_of_its_own() -> None:
    """O1: No two modules of the package define a public class with the same name."""
    paths = list((TESTS.parent / "src").rglob("*.py"))
    nodes = [node for path in paths for node in ast.walk(ast.parse(path.read_text("utf-8")))]
    names = Counter(node.name for node in nodes if isinstance(node, ast.ClassDef) and not node.name.startswith("_"))
    assert len(names) > 500
    assert [name for name, count in names.items() if count > 1] == []
