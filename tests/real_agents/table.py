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

from .real import FULL

AGENT, MEASURED = "agent", "measured"
"""Properties of a report: the agent of a test, and what it has recorded, as a pair."""
FAILED, NOTHING = "✗", "·"
DOCUMENT = Path(__file__).parents[2] / "docs/reference/agent-measurements.md"
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
        """Writes the table into the documentation, if everything that belongs there was run, and returns a sentence
        about that."""
        config = self._config
        asked = {(config.invocation_params.dir / arg).resolve() for arg in config.args}
        picked = config.getoption("keyword") or config.getoption("markexpr")
        if picked or asked != {Path(__file__).parent.resolve()} or not set(USUAL) <= set(rows[0]):
            return "Not written: only a run of all tests with all usual agents tells the whole."
        versions = ", ".join(f"{agent} {PACKAGES[agent].version}" for agent in rows[0][1:])
        cells = [f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in rows]
        cells.insert(1, "|" + "---|" * len(rows[0]))
        how = "make test-agents FULL=1 WRITE=1" if FULL else "make test-agents WRITE=1"
        put_into(DOCUMENT, f"By `{how}`, with {versions}.\n\n" + "\n".join(cells))
        return f"Written into {DOCUMENT.name}."


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
