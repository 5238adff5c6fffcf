"""The documentation lists what editors can ask for, and the entry for the registry of agents is valid."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec

from bough import __version__
from bough.api.acp.protocol import wire
from bough.api.acp.protocol.editor import MOST_REQUESTS
from bough.api.acp.sessions.methods import PAGE
from bough.api.acp.sessions.slash_commands import COMMANDS

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs/how-to/connect-an-editor.md").read_text("utf-8")
REFERENCE = (ROOT / "docs/reference/acp.md").read_text("utf-8")
ENTRY: dict[str, Any] = json.loads((ROOT / "docs/reference/acp-registry/agent.json").read_text("utf-8"))
REQUIRED = {"id", "name", "version", "description", "distribution"}
OPTIONAL = {"repository", "website", "authors", "license", "license_url", "icon"}


def table(name: str) -> dict[str, str]:
    """First and second column of a table of the page."""
    part = REFERENCE.partition(f"<!-- {name} -->")[2].partition(f"<!-- end of {name} -->")[0]
    return dict(re.findall(r"^\| `([^`]+)` \| (.+) \|$", part, re.MULTILINE))


def test_every_field_is_documented() -> None:
    """C2: the page names all that `_meta.bough` may hold, and nothing else."""
    assert list(table("fields")) == [field.encode_name for field in msgspec.structs.fields(wire.Wishes)]


def test_every_command_is_documented() -> None:
    """C2: the page has every command in the words in which editors are told of it."""
    told = {name: about for name, (about, _, _) in COMMANDS.items()}
    assert {name[1:].split()[0]: about for name, about in table("commands").items()} == told


def test_numbers_are_those_of_the_source() -> None:
    """C2: the page's numbers are true."""
    assert f"At most {MOST_REQUESTS} requests" in REFERENCE and f"{PAGE} at a time" in REFERENCE


def test_examples_can_be_read() -> None:
    """C2: what is to be copied out of the page is well-formed."""
    examples = re.findall(r"^```(json|python)\n(.*?)^```", GUIDE + REFERENCE, re.MULTILINE | re.DOTALL)
    assert [kind for kind, _ in examples] == ["json", "json", "json", "python", "json"]
    for kind, example in examples:
        if kind == "json":
            json.loads(example)
        else:
            compile(example, "docs/how-to/connect-an-editor.md", "exec")


def test_the_entry_fits_the_registry() -> None:
    """C2: all that the registry demands of an entry, and nothing that it does not know."""
    assert set(ENTRY) >= REQUIRED and set(ENTRY) <= REQUIRED | OPTIONAL
    assert re.fullmatch(r"[a-z][a-z0-9-]*", ENTRY["id"])
    assert re.fullmatch(r"\d+\.\d+\.\d+", ENTRY["version"])
    assert all(isinstance(ENTRY[name], str) and ENTRY[name] for name in ("name", "description", "license"))
    assert list(ENTRY["distribution"]) == ["uvx"]
    package = ENTRY["distribution"]["uvx"]
    assert set(package) <= {"package", "args", "env", "cmd"} and all(isinstance(one, str) for one in package["args"])
    # Its checks want a way to authenticate.
    assert wire.AUTH


def test_the_entry_is_of_this_version() -> None:
    """C2: the entry starts this version of this package, under its licence, by a command that it has."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert (ENTRY["version"], ENTRY["license"]) == (__version__, project["license"])
    assert ENTRY["distribution"]["uvx"] == {"package": f"{project['name']}=={__version__}", "args": ["acp"]}
    assert ENTRY["id"] in project["scripts"]


def test_the_icon_takes_the_editors_colour() -> None:
    """C2: the icon is 16 by 16 and has no colour of its own."""
    icon = ElementTree.parse(ROOT / "docs/reference/acp-registry/icon.svg").getroot()
    assert (icon.get("width"), icon.get("height"), icon.get("viewBox")) == ("16", "16", "0 0 16 16")
    colours = {one.get(name) for one in icon.iter() for name in ("fill", "stroke")} - {None}
    assert colours == {"currentColor", "none"}
    assert not any(one.get("style") for one in icon.iter())
