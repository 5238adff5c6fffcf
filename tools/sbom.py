"""`python -m tools.sbom FILE` writes the packages that Bough needs at run time as a CycloneDX document. The page's
document comes from `npm sbom`."""

from __future__ import annotations

import json
import sys
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bough import __version__
from tools.packages import NAME, Package, python_packages

Json = dict[str, Any]


def document(packages: list[Package], version: str = __version__) -> Json:
    """Returns the bill of materials of one version of Bough."""
    about = {"type": "application", "bom-ref": f"pkg:pypi/{NAME}@{version}", "name": NAME, "version": version}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid4()}",
        "version": 1,
        "metadata": {"timestamp": datetime.now(UTC).isoformat(timespec="seconds"), "component": about},
        "components": [_component(package) for package in packages],
    }


def _component(package: Package) -> Json:
    component: Json = {
        "type": "library",
        "bom-ref": package.url,
        "name": package.name,
        "version": package.version,
        "purl": package.url,
    }
    if package.license:
        component["licenses"] = [{"expression": package.license}]
    return component


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(document(python_packages()), indent=2) + "\n", "utf-8")
