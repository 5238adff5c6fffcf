"""`python -m tools.audit` looks up every package that is part of Bough or its page in the OSV database of
vulnerabilities, and fails if one has a known one.

One database serves both kinds of packages; it holds the advisories that `pip-audit` and `npm audit` report. Without a
network it says so within seconds and passes, because nothing can be fixed there."""

from __future__ import annotations

import json
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tools.packages import Package, page_packages, python_packages

ADDRESS = "https://api.osv.dev/v1/querybatch"
WITHIN = 10.0
"""Seconds to wait for an answer."""
MOST = 1000
"""Packages in one request."""
LOCK_FILE = Path("web/package-lock.json")
IGNORED: dict[str, str] = {}
"""Advisories that do not concern Bough, each with the reason."""

Json = dict[str, Any]
Ask = Callable[[Json], Json]


class Unreachable(Exception):
    """Raised when the database cannot be asked."""


def ask(body: Json) -> Json:
    """Sends one request to the database. Raises `Unreachable`."""
    request = urllib.request.Request(
        ADDRESS, json.dumps(body).encode(), {"Content-Type": "application/json"}, method="POST"
    )
    try:
        with urllib.request.urlopen(request, timeout=WITHIN) as answer:
            return json.loads(answer.read())
    except (OSError, ValueError) as error:
        raise Unreachable(str(error)) from error


def vulnerabilities(packages: list[Package], ask: Ask = ask) -> dict[Package, list[str]]:
    """Returns the advisories about each package that has some, without the ignored ones."""
    found: dict[Package, list[str]] = {}
    for start in range(0, len(packages), MOST):
        part = packages[start : start + MOST]
        answer = ask({"queries": [{"package": {"purl": package.url}} for package in part]})
        results: list[Json] = answer.get("results", [])
        for package, result in zip(part, results, strict=True):
            names = {entry["id"] for entry in result.get("vulns", [])} - IGNORED.keys()
            if names:
                found[package] = sorted(names)
    return found


def main(ask: Ask = ask) -> int:
    packages = [*python_packages(), *page_packages(LOCK_FILE)]
    try:
        found = vulnerabilities(packages, ask)
    except (Unreachable, ValueError) as error:
        print(f"NOTICE: nothing was audited, because the database of advisories cannot be asked: {error}")
        return 0
    for package, names in found.items():
        print(f"{package.kind} {package.name} {package.version}: {', '.join(names)}", file=sys.stderr)
    print(f"{len(packages)} packages audited, {len(found)} with known vulnerabilities.")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
