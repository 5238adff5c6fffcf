"""The entry for the registry from which editors install agents is valid and names this version."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from bough import __version__
from bough.api.acp.protocol import wire

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs/reference/acp-registry"
ENTRY: dict[str, Any] = json.loads((FOLDER / "agent.json").read_text("utf-8"))
REQUIRED = {"id", "name", "version", "description", "distribution"}
OPTIONAL = {"repository", "website", "authors", "license", "license_url", "icon"}


def test_entry_fits_the_registry() -> None:
    """C2: The entry has every field that the registry requires, and none that it does not know."""
    assert set(ENTRY) >= REQUIRED and set(ENTRY) <= REQUIRED | OPTIONAL
    assert re.fullmatch(r"[a-z][a-z0-9-]*", ENTRY["id"])
    assert re.fullmatch(r"\d+\.\d+\.\d+", ENTRY["version"])
    assert all(isinstance(ENTRY[name], str) and ENTRY[name] for name in ("name", "description", "license"))
    assert list(ENTRY["distribution"]) == ["uvx"]
    package = ENTRY["distribution"]["uvx"]
    assert set(package) <= {"package", "args", "env", "cmd"}
    assert all(isinstance(argument, str) for argument in package["args"])
    # The registry's checks require an authentication method.
    assert wire.AUTH


def test_entry_names_this_version() -> None:
    """C2: The entry starts this version of this package, under its license, by a command that it has."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert (ENTRY["version"], ENTRY["license"]) == (__version__, project["license"])
    assert ENTRY["description"] == project["description"]
    assert ENTRY["distribution"]["uvx"] == {"package": f"{project['name']}=={__version__}", "args": ["acp"]}
    assert ENTRY["id"] in project["scripts"]


def test_icon_takes_the_editors_color() -> None:
    """C2: The icon is 16 by 16 and takes its color from the editor."""
    icon = ElementTree.parse(FOLDER / "icon.svg").getroot()
    assert (icon.get("width"), icon.get("height"), icon.get("viewBox")) == ("16", "16", "0 0 16 16")
    colors = {element.get(name) for element in icon.iter() for name in ("fill", "stroke")} - {None}
    assert colors == {"currentColor", "none"}
    assert not any(element.get("style") for element in icon.iter())
