"""Collects what was measured into one table of agents and behaviours from the reports of all workers, prints it at the
end, and writes it into the documentation on request."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from tests.support.real_agents.packages import PACKAGES, USUAL

AGENT, MEASURED = "agent", "measured"
"""Properties of a report: the agent of a test, and what it has recorded, as a pair."""
FAILED, NOTHING = "✗", "·"
DOCUMENT = Path(__file__).parents[3] / "docs/reference/agent-measurements.md"
BEGIN, END = "<!-- measured -->", "<!-- /measured -->"

Record = Callable[[str, str], None]
"""`record(behaviour, result)`: says in a few words what the agent of this test does."""


class Table:
    """A pytest plugin that collects all reports and prints the recorded results when all tests have ended."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        # Behaviour → agent → observed results, usually one.
        self._seen: defaultdict[str, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        # The behaviours of each test, from its runs with all agents; and the agents with which it failed.
        self._about: defaultdict[str, set[str]] = defaultdict(set)
        self._failed: list[tuple[str, str]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        agent = next((str(value) for name, value in report.user_properties if name == AGENT), None)
        if agent is None:
            return
        test = report.nodeid.replace(agent, "*")
        if report.failed:
            self._failed.append((test, agent))
        if report.when != "teardown":
            return
        for name, value in report.user_properties:
            if name == MEASURED:
                behaviour, result = cast("tuple[str, str]", value)
                self._about[test].add(behaviour)
                if result not in self._seen[behaviour][agent]:
                    self._seen[behaviour][agent].append(result)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        rows = self.rows()
        if len(rows) < 2:
            return
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        terminalreporter.section("what the agents do")
        for row in rows:
            terminalreporter.write_line("  ".join(map(str.ljust, row, widths)).rstrip())
        if os.environ.get("WRITE"):
            terminalreporter.write_line(self._write(rows))

    def rows(self) -> list[list[str]]:
        """Returns a header of agents, then a row for each behaviour, in order."""
        seen_by_behavior = {behaviour: dict(seen) for behaviour, seen in self._seen.items()}
        for test, agent in self._failed:
            # A failed test leaves out results; its behaviours are known from its runs with other agents.
            name = test.rpartition("::")[2].removeprefix("test_").removesuffix("[*]").replace("_", " ")
            silent = [item for item in self._about[test] if agent not in seen_by_behavior[item]]
            for behaviour in silent or [name]:
                seen_by_behavior.setdefault(behaviour, {})[agent] = [FAILED]
        agents = [name for name in PACKAGES if any(name in seen for seen in seen_by_behavior.values())]
        lines = [
            [behaviour, *(" / ".join(sorted(seen.get(agent, [NOTHING]))) for agent in agents)]
            for behaviour, seen in sorted(seen_by_behavior.items())
        ]
        return [["", *agents], *lines]

    def _write(self, rows: list[list[str]]) -> str:
        """Writes the table into the documentation and returns a sentence about that. A run of all tests with all usual
        agents replaces it; any other run replaces the cells that it measured, if the versions are still the same."""
        config = self._config
        asked = {(config.invocation_params.dir / arg).resolve() for arg in config.args}
        picked = config.getoption("keyword") or config.getoption("markexpr")
        if picked or asked != {Path(__file__).parents[1].resolve()} or not set(USUAL) <= set(rows[0]):
            before = rows_of(DOCUMENT.read_text("utf-8"))
            if outdated := [
                agent for agent in before[0][1:] if f"{agent} {_version(agent)}" not in _versions_of(DOCUMENT)
            ]:
                return f"Not written: the table is about another version of {', '.join(outdated)}; run all tests."
            rows = merged(before, rows)
        versions = ", ".join(f"{agent} {_version(agent)}" for agent in rows[0][1:])
        cells = [f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in rows]
        cells.insert(1, "|" + "---|" * len(rows[0]))
        put_into(DOCUMENT, f"Measured with {versions}.\n\n" + "\n".join(cells))
        return f"Written into {DOCUMENT.name}."


def _version(agent: str) -> str:
    return PACKAGES[agent].version if agent in PACKAGES else "?"


def _versions_of(document: Path) -> list[str]:
    """Returns `AGENT VERSION` for each agent of the written table."""
    line = re.search(r"^Measured with (.*)\.$", document.read_text("utf-8"), re.MULTILINE)
    return line.group(1).split(", ") if line else []


def rows_of(text: str) -> list[list[str]]:
    """Reads the table from a document; one without a table has no agents and no rows."""
    lines = [line for line in text.splitlines() if line.startswith("|") and not line.startswith("|---")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return rows or [[""]]


def merged(before: list[list[str]], after: list[list[str]]) -> list[list[str]]:
    """Returns a table with all rows and agents of both; a cell that `after` has measured is taken from it."""
    cells: dict[str, dict[str, str]] = {}
    for header, *rows in (before, after):
        for behaviour, *results in rows:
            known = cells.setdefault(behaviour, {})
            known |= {agent: cell for agent, cell in zip(header[1:], results, strict=True) if cell != NOTHING}
    agents = [name for name in PACKAGES if any(name in known for known in cells.values())]
    lines = [
        [behaviour, *(known.get(agent, NOTHING) for agent in agents)] for behaviour, known in sorted(cells.items())
    ]
    return [["", *agents], *lines]


def put_into(document: Path, text: str) -> None:
    """Replaces the text between the markers; a document without markers gets them at its end."""
    known = document.read_text("utf-8")
    section = f"{BEGIN}\n{text}\n{END}"
    marked = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    if marked.search(known):
        changed = marked.sub(lambda _: section, known, count=1)
    else:
        changed = f"{known.rstrip()}\n\n## Measured\n\n{section}\n"
    document.write_text(changed, "utf-8")
