"""`python -m tools.licenses LOCK_FILE` prints the license of every package that is part of Bough or its page, and fails
if one is unknown or not among those that Bough's own license goes together with."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tools.packages import Package, page_packages, python_packages

ALLOWED = frozenset(
    {"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BlueOak-1.0.0", "CC0-1.0", "ISC", "MIT", "MIT-0"}
    | {"MPL-2.0", "PSF-2.0", "Python-2.0", "Unlicense", "Zlib"}
)
"""Licenses that allow use in any program. Those of MPL-2.0 stay as they are: Bough changes none of their files."""


def is_allowed(expression: str) -> bool:
    """Returns whether an SPDX expression lets Bough use a package: one side of an OR, and every side of an AND."""
    text = re.sub(r"[()]", " ", expression).strip()
    if not text:
        return False
    return any(
        all(part.strip() in ALLOWED for part in re.split(r"\bAND\b", side)) for side in re.split(r"\bOR\b", text)
    )


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
