"""5: Runs the published conformance suite of every revision against Bough's endpoint, except for scenarios that need
tools, prompts or resources made for the suite."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.conformance import suite
from tests.conformance.conftest import Record
from tests.conformance.proxy import proxy
from tests.support.server import Running

PROVEN = frozenset(
    {
        "caching",
        "dns-rebinding-protection",
        "http-header-validation",
        "input-required-result-unsupported-methods",
        "ping",
        "prompts-list",
        "resources-list",
        "sep-2164-resource-not-found",
        "server-initialize",
        "server-session-lifecycle",
        "server-sse-multiple-streams",
        "server-stateless",
        "tools-list",
    }
)
"""Scenarios that any server can run. The others need tools, prompts and resources made for the suite, or features that
Bough does not offer; some of them pass anyway, which proves nothing."""
FIXTURES = (
    "elicitation-sep",
    "http-custom-header-server-validation",
    "input-required-result-",
    "json-schema-2020-12",
    "prompts-get-",
    "resources-read-",
    "resources-templates-read",
    "server-sse-polling",
    "tools-call-",
)
NOT_OFFERED = ("completion-complete", "logging-set-level", "resources-subscribe", "resources-unsubscribe")
# Two of its 25 checks call a tool made for the suite.
FIXTURE_CHECKS = {"sep-2575-server-rejects-undeclared-capability", "sep-2575-missing-capability-http-400"}
WIRE = "wire-schema-valid"
# The number of scenarios per revision.
SCENARIOS = {"2025-03-26": 1, "2025-06-18": 6, "2025-11-25": 8, "2026-07-28": 10}


@pytest.fixture
async def address(server: Running) -> AsyncGenerator[str]:
    async with proxy(server.url, server.token) as url:
        yield f"{url}/mcp/"


@pytest.mark.parametrize("revision", suite.REVISIONS)
async def test_conformance(revision: str, address: str, tmp_path: Path, record: Record) -> None:
    """5, 5c: Passes every scenario of every revision that a server without the suite's fixtures can pass, and every
    message that Bough sends matches that revision's schema."""
    result = await suite.run(address, revision, tmp_path / "results")
    unknown = [name for name in result if name not in PROVEN and not name.startswith(FIXTURES + NOT_OFFERED)]
    assert not unknown, "The suite has scenarios that nobody has looked at."
    proven = {name: checks for name, checks in result.items() if name in PROVEN}
    failed = {
        f"{name}: {check.id}": check.errorMessage
        for name, checks in result.items()
        for check in checks
        if check.failed and check.id not in FIXTURE_CHECKS and (name in proven or check.id == WIRE)
    }
    for name, checks in proven.items():
        record(name, sum(check.status == "SUCCESS" for check in checks), sum(check.failed for check in checks))
    assert not failed
    assert len(proven) == SCENARIOS[revision]
