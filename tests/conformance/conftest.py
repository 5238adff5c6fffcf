"""Runs the conformance suite only when it is named (`make test-mcp`), because it is fetched from the npm registry.
Prints its results as a table and, on request, writes them into the documentation."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from tests.conformance import suite

HERE = Path(__file__).parent
DOCUMENT = HERE.parents[1] / "docs/reference/mcp.md"
BEGIN, END = "<!-- conformance -->", "<!-- /conformance -->"
MEASURED = "conformance"
TIMEOUT = 200

Record = Callable[[str, int, int], None]
"""`record(scenario, passed, failed)`: records how many checks of a scenario passed and failed in this revision."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skips this folder unless it, or something in it, was named."""
    named = [config.invocation_params.dir / argument.partition("::")[0] for argument in config.args]
    return None if any(path.resolve().is_relative_to(HERE) for path in named) else True


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Table(), "conformance")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.timeout(TIMEOUT))


@pytest.fixture(autouse=True)
def installed() -> None:
    if not suite.installed():
        pytest.skip(f"{suite.NPM} {suite.VERSION} is not installed: `make test-mcp` does that")


@pytest.fixture
def record(request: pytest.FixtureRequest, revision: str) -> Record:
    def note(scenario: str, passed: int, failed: int) -> None:
        request.node.user_properties.append((MEASURED, (revision, scenario, passed, failed)))

    return note


class Table:
    """A pytest plugin that collects the results and prints them when all tests have ended."""

    def __init__(self) -> None:
        # Scenario → revision → results of its checks.
        self._seen: defaultdict[str, dict[str, str]] = defaultdict(dict)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "teardown":
            return
        for name, value in report.user_properties:
            if name == MEASURED:
                revision, scenario, passed, failed = cast("tuple[str, str, int, int]", value)
                result = f"{passed} passed" if passed else "does not apply"
                self._seen[scenario][revision] = f"{result}, {failed} need a fixture" if failed else result

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
        if not self._seen:
            return
        rows = [
            ["", *suite.REVISIONS],
            *(
                [name, *(seen.get(revision, "·") for revision in suite.REVISIONS)]
                for name, seen in sorted(self._seen.items())
            ),
        ]
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        terminalreporter.section(f"conformance, {suite.VERSION}")
        for row in rows:
            terminalreporter.write_line("  ".join(map(str.ljust, row, widths)).rstrip())
        if os.environ.get("WRITE"):
            whole = exitstatus == 0 and all(
                any(revision in seen for seen in self._seen.values()) for revision in suite.REVISIONS
            )
            if whole:
                _write(rows)
            terminalreporter.write_line("Written into mcp.md." if whole else "Not written: not all was run and passed.")


def _write(rows: list[list[str]]) -> None:
    cells = [f"| {' | '.join(row)} |" for row in rows]
    cells.insert(1, "|" + "---|" * len(rows[0]))
    text = f"By `make test-mcp WRITE=1`, with `{suite.NPM}` {suite.VERSION}.\n\n" + "\n".join(cells)
    marked = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    document = DOCUMENT.read_text("utf-8")
    DOCUMENT.write_text(marked.sub(lambda _: f"{BEGIN}\n{text}\n{END}", document, count=1), "utf-8")
