"""`python -m tools.licenses LOCK_FILE` prints the license of every package that is part of Bough or its page, and fails
if one is unknown or not compatible with Bough's license."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tools.packages import Package, page_packages, python_packages

ALLOWED = frozenset(
    {"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BlueOak-1.0.0", "CC0-1.0", "ISC", "MIT", "MIT-0"}
    | {"MPL-2.0", "PSF-2.0", "Python-2.0", "Unlicense", "Zlib"}
)
"""Licenses that allow use in any program. Files under MPL-2.0 are used unmodified."""


def is_allowed(expression: str) -> bool:
    """Returns whether an SPDX expression lets Bough use a package: one side of an OR, and every side of an AND."""
    words = re.findall(r"[()]|[^\s()]+", expression)
    try:
        allowed = _any_side(words)
    except (IndexError, ValueError):
        return False
    return allowed and not words


def _any_side(words: list[str]) -> bool:
    """Takes an expression off the beginning of the words. AND binds more tightly than OR."""
    allowed = _every_side(words)
    while words[:1] == ["OR"]:
        words.pop(0)
        allowed = _every_side(words) or allowed
    return allowed


def _every_side(words: list[str]) -> bool:
    allowed = _license(words)
    while words[:1] == ["AND"]:
        words.pop(0)
        allowed = _license(words) and allowed
    return allowed


def _license(words: list[str]) -> bool:
    word = words.pop(0)
    if word == "(":
        allowed = _any_side(words)
        if words.pop(0) != ")":
            raise ValueError("a parenthesis stays open")
        return allowed
    if words[:1] == ["WITH"]:  # An exception only adds permissions.
        del words[:2]
    return word in ALLOWED


def table(packages: list[Package]) -> str:
    """Returns one line per package."""
    return "\n".join(
        f"{package.kind:5} {package.name:45} {package.version:15} {package.license or 'unknown'}"
        for package in packages
    )


def main(lock_file: str) -> int:
    packages = [*python_packages(), *page_packages(Path(lock_file))]
    print(table(packages))
    refused = [package for package in packages if not is_allowed(package.license)]
    if refused:
        print(f"\nThe licenses of these are not allowed or not known:\n{table(refused)}", file=sys.stderr)
    return 1 if refused else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
