"""Tests the lists of packages: bill of materials, licenses, and the audit."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tools import audit
from tools.audit import Unreachable
from tools.licenses import is_allowed
from tools.packages import Package, normalized, page_packages, python_packages
from tools.sbom import document

ROOT = Path(__file__).parents[2]
LOCK_FILE = ROOT / "web" / "package-lock.json"
Json = dict[str, Any]


def test_every_dependency_is_listed() -> None:
    """O4: The bill of materials holds everything that the package declares, with a version and a license."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    declared = {normalized(re.split(r"[^A-Za-z0-9_.-]", text)[0]) for text in project["dependencies"]}
    packages = python_packages()
    assert declared <= {package.name for package in packages}
    assert "pytest" not in {package.name for package in packages}, "only tests need it"
    listed = document(packages, "1.2.3")
    assert {entry["purl"] for entry in listed["components"]} == {package.url for package in packages}
    assert all(entry["version"] and entry["licenses"] for entry in listed["components"])


def test_every_license_is_allowed() -> None:
    """O4: Nothing that is part of Bough or its page has a license that Bough cannot fulfill."""
    packages = [*python_packages(), *page_packages(LOCK_FILE)]
    assert [package for package in packages if not is_allowed(package.license)] == []


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT", True),
        ("GPL-3.0-only OR MIT", True),
        ("(MIT OR CC0-1.0)", True),
        ("MIT AND BSD-2-Clause", True),
        ("MIT AND GPL-3.0-only", False),
        ("(MIT OR Apache-2.0) AND GPL-3.0-only", False),
        ("(MIT OR GPL-3.0-only) AND (ISC OR GPL-3.0-only)", True),
        ("GPL-3.0-only AND MIT OR ISC", True),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("(MIT", False),
        ("MIT OR", False),
        ("MIT)", False),
        ("AGPL-3.0-or-later", False),
        ("UNLICENSED", False),
        ("", False),
    ],
)
def test_expressions(expression: str, allowed: bool) -> None:
    """O4: One side of an OR is enough; every side of an AND counts."""
    assert is_allowed(expression) is allowed


def test_the_audit_names_what_it_finds(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """O4: A package with an advisory fails the audit, unless the advisory is ignored with a reason."""
    monkeypatch.chdir(ROOT)

    def answer(body: Json) -> Json:
        return {
            "results": [
                {"vulns": [{"id": "GHSA-1"}]} if "/msgspec@" in query["package"]["purl"] else {}
                for query in body["queries"]
            ]
        }

    assert audit.main(answer) == 1
    assert "msgspec" in capsys.readouterr().err
    monkeypatch.setitem(audit.IGNORED, "GHSA-1", "It concerns another use.")
    assert audit.main(answer) == 0


def test_an_audit_without_a_network(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """O4: If the database is unreachable, the audit says so and passes, unless it is strict."""
    monkeypatch.chdir(ROOT)

    def nobody(_: Json) -> Json:
        raise Unreachable("no network")

    assert audit.main(nobody) == 0
    assert "NOTICE" in capsys.readouterr().err
    assert audit.main(nobody, strict=True) == 1


@pytest.mark.parametrize("results", [[], [{}]])
def test_an_answer_that_is_too_short(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, results: list[Json]
) -> None:
    """O4: An answer that leaves packages out does not pass for one that finds nothing."""
    monkeypatch.chdir(ROOT)

    def answer(_: Json) -> Json:
        return {"results": results}

    assert audit.main(answer) == 1
    assert "no usable answer" in capsys.readouterr().err


def test_names_of_packages() -> None:
    """O4: A package is named as the databases name it."""
    assert Package("npm", "@tanstack/react-query", "5.1.0", "MIT").url == "pkg:npm/%40tanstack/react-query@5.1.0"
    assert normalized("Prometheus_Client") == "prometheus-client"
