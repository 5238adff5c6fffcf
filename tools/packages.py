"""Lists the packages that Bough needs at run time, as installed in this environment, and those that its page is built
from, as its lock file names them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

NAME = "bough"
# Classifiers of packages that name their license in no other way.
CLASSIFIERS = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "MIT No Attribution License (MIT-0)": "MIT-0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "The Unlicense (Unlicense)": "Unlicense",
}
# What packages write into the field instead of an identifier.
SPELLINGS = {
    "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD": "BSD-3-Clause",
    "3-Clause BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "The MIT License (MIT)": "MIT",
    "PSFL": "PSF-2.0",
    "PSF": "PSF-2.0",
}


@dataclass(frozen=True, order=True)
class Package:
    """A package that is part of Bough. `license` is an SPDX expression, or empty if the package does not say."""

    kind: str
    name: str
    version: str
    license: str

    @property
    def url(self) -> str:
        """The package's URL in the form of the purl specification."""
        name = self.name.replace("@", "%40") if self.kind == "npm" else self.name
        return f"pkg:{self.kind}/{name}@{self.version}"


def python_packages(root: str = NAME) -> list[Package]:
    """Returns the packages that an installed one needs on this machine, directly or indirectly, without itself."""
    seen: dict[str, Package] = {}
    left = [(root, frozenset[str]())]
    visited: set[tuple[str, frozenset[str]]] = set()
    while left:
        name, extras = left.pop()
        if (name, extras) in visited:
            continue
        visited.add((name, extras))
        distribution = metadata.distribution(name)
        if name != root:
            seen[name] = Package("pypi", name, distribution.version, license_of(distribution))
        for text in distribution.requires or []:
            requirement = Requirement(text)
            if _is_needed(requirement, extras):
                left.append((normalized(requirement.name), frozenset(requirement.extras)))
    return sorted(seen.values())


def page_packages(lock_file: Path) -> list[Package]:
    """Returns the packages of the page's lock file."""
    packages: dict[str, dict[str, Any]] = json.loads(lock_file.read_text("utf-8"))["packages"]
    return sorted(
        {
            Package("npm", path.rpartition("node_modules/")[2], entry["version"], entry.get("license", ""))
            for path, entry in packages.items()
            if path
        }
    )


def license_of(distribution: metadata.Distribution) -> str:
    """Returns the license that a package declares."""
    about = distribution.metadata
    if expressions := about.get_all("License-Expression"):
        return expressions[0]
    named = " ".join(" ".join(about.get_all("License") or []).split())
    if named.startswith("MIT License Copyright"):
        return "MIT"  # Its whole text.
    if named in SPELLINGS or re.fullmatch(r"[A-Za-z0-9.+-]{2,40}( (OR|AND|WITH) [A-Za-z0-9.+-]{2,40})*", named):
        return SPELLINGS.get(named, named)
    classifiers = [text.rpartition(" :: ")[2] for text in about.get_all("Classifier") or [] if "License ::" in text]
    known = [CLASSIFIERS[text] for text in classifiers if text in CLASSIFIERS]
    return " OR ".join(dict.fromkeys(known))


def normalized(name: str) -> str:
    """Returns a package's name as registries compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _is_needed(requirement: Requirement, extras: frozenset[str]) -> bool:
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in (extras or {""}))
