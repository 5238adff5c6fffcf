"""`python -m tools.audit` looks up every package that is part of Bough or its page in the OSV database of
vulnerabilities, and fails if one has a known one.

One database serves both kinds of packages; it holds the advisories that `pip-audit` and `npm audit` report. If the
database is unreachable, it says so within seconds and passes; with `--strict`, as before a release, it fails."""

from __future__ import annotations

import json
import sys
import urllib.error
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
    """Raised when the database cannot be reached or is out of order."""


class Unusable(Exception):
    """Raised when the database refuses a question, or its answer makes no sense."""


def ask(body: Json) -> Json:
    """Sends one request to the database. Raises `Unreachable` or `Unusable`."""
    request = urllib.request.Request(
        ADDRESS, json.dumps(body).encode(), {"Content-Type": "application/json"}, method="POST"
    )
    try:
        with urllib.request.urlopen(request, timeout=WITHIN) as answer:
            return json.loads(answer.read())
    except urllib.error.HTTPError as error:
        kind = Unreachable if error.code >= 500 or error.code == 429 else Unusable
        raise kind(str(error)) from error
    except OSError as error:
        raise Unreachable(str(error)) from error
    except ValueError as error:
        raise Unusable(str(error)) from error


def vulnerabilities(packages: list[Package], ask: Ask = ask) -> dict[Package, list[str]]:
    """Returns the advisories about each package that has some, without the ignored ones."""
    advisories: dict[Package, list[str]] = {}
    for start in range(0, len(packages), MOST):
        part = packages[start : start + MOST]
        answer = ask({"queries": [{"package": {"purl": package.url}} for package in part]})
        results: list[Json] = answer.get("results", [])
        if len(results) != len(part):
            raise Unusable(f"{len(part)} packages were asked about, and {len(results)} answers came")
        for package, result in zip(part, results, strict=True):
            names = {entry["id"] for entry in result.get("vulns", [])} - IGNORED.keys()
            if "next_page_token" in result:
                names.add("and more")
            if names:
                advisories[package] = sorted(names)
    return advisories


def main(ask: Ask = ask, *, strict: bool = False) -> int:
    packages = [*python_packages(), *page_packages(LOCK_FILE)]
    try:
        vulnerable = vulnerabilities(packages, ask)
    except Unreachable as error:
        print(f"NOTICE: Nothing was audited, because the advisory database is unreachable: {error}", file=sys.stderr)
        return 1 if strict else 0
    except Unusable as error:
        print(f"Nothing was audited, because the advisory database gave no usable answer: {error}", file=sys.stderr)
        return 1
    for package, names in vulnerable.items():
        print(f"{package.kind} {package.name} {package.version}: {', '.join(names)}", file=sys.stderr)
    print(f"{len(packages)} packages audited, {len(vulnerable)} with known vulnerabilities.")
    return 1 if vulnerable else 0


if __name__ == "__main__":
    raise SystemExit(main(strict="--strict" in sys.argv[1:]))
