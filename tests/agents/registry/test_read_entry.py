"""Tests which entries of an agent registry Bough takes, and how it writes them down."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from bough.agents.catalog.load import check_file
from bough.agents.registry import documents
from bough.agents.registry.entry_file import catalog_text
from bough.agents.registry.read_entry import read_entry, this_platform
from bough.errors import Invalid, NotFound

Json = dict[str, Any]
ENTRY: Json = {
    "id": "swift-agent",
    "name": "Swift Agent",
    "version": "1.2.3",
    "description": 'Writes "code" quickly.',
    "license": "MIT",
    "distribution": {"npx": {"package": "@swift/agent@1.2.3", "args": ["--acp"], "env": {"SWIFT_UPDATE": "off"}}},
}


def text(**changes: Any) -> bytes:
    return json.dumps(ENTRY | changes).encode()


def npx(**changes: Any) -> bytes:
    return text(distribution={"npx": {"package": "@swift/agent@1.2.3", **changes}})


def test_an_npm_package_is_pinned(tmp_path: Path) -> None:
    """A5: An entry becomes a catalog file with the pinned version, honest about what was not measured."""
    agent = read_entry(text())
    assert agent.command == ["npx", "--yes", "@swift/agent@1.2.3", "--acp"]
    written = catalog_text(agent, tmp_path)
    entry = check_file(written, tmp_path / "swift-agent.toml", tmp_path)
    assert (entry.title, entry.default_mode, entry.modes, entry.resume) == ("Swift Agent", "ask", {}, False)
    assert entry.registry is not None
    assert (entry.registry.version, entry.registry.distribution) == ("1.2.3", "npx")
    assert (entry.env, entry.command) == ({"SWIFT_UPDATE": "off"}, agent.command)
    assert "not measured" in entry.description
    assert tomllib.loads(written)["description"].startswith('Writes "code" quickly.')
    # A package without a version gets the entry's.
    assert read_entry(npx(package="agent")).command == ["npx", "--yes", "agent@1.2.3"]


def test_other_ways_to_start(tmp_path: Path) -> None:
    """A5: A Python package and an archive are pinned too; an archive is not downloaded, and its program is expected in
    a folder of Bough's own."""
    uvx = {"uvx": {"package": "swift[acp]==1.2.3", "args": ["acp"]}}
    assert read_entry(text(distribution=uvx)).command == ["uvx", "swift[acp]==1.2.3", "acp"]
    archive = {"archive": "https://example.com/swift.tar.gz", "cmd": "./bin/swift", "args": ["acp"], "sha256": "0" * 64}
    binary = {"binary": {this_platform(): archive}}
    agent = read_entry(text(distribution=binary))
    entry = check_file(catalog_text(agent, tmp_path), tmp_path / "swift-agent.toml", tmp_path)
    assert entry.command == [str(tmp_path / "programs/swift-agent/bin/swift"), "acp"]
    assert "https://example.com/swift.tar.gz" in entry.install and "0" * 64 in entry.install
    both = read_entry(text(distribution=uvx | binary), "binary")
    assert both.distribution == "binary"
    with pytest.raises(Invalid, match="does not come as npx"):
        read_entry(text(distribution=uvx), "npx")
    with pytest.raises(Invalid, match="nothing that"):
        read_entry(text(distribution={"binary": {"plan9-mips": archive}}))


@pytest.mark.parametrize(
    "entry",
    [
        b"[]",
        b"\xff{",
        b"[" * 100_000,
        b" " * 100_000,
        text(id="../demo"),
        text(id="Demo"),
        text(id=""),
        text(id="a" * 65),
        text(name="Claude\u202e Code"),
        text(name=" "),
        text(description="two\nlines"),
        text(description="\x1b]0;title\x07"),
        text(description="long" * 500),
        text(version="latest"),
        text(version="1.2.4"),
        text(distribution={}),
        npx(package="agent@latest"),
        npx(package="agent@^1.2.3"),
        npx(package="file:../evil"),
        npx(package="https://example.com/evil.tgz"),
        npx(package="--call=evil"),
        npx(package="agent@1.2.3 evil"),
        npx(args=["{data}/bough.db"]),
        npx(args=["~/.ssh/id_ed25519"]),
        npx(args=["\u200b"]),
        npx(args=["x"] * 50),
        npx(args="--acp"),
        npx(env={"LD_PRELOAD": "/tmp/evil.so"}),
        npx(env={"ld_preload": "/tmp/evil.so"}),
        npx(env={"NODE_OPTIONS": "--require=/tmp/evil.js"}),
        npx(env={"PATH": "/tmp"}),
        npx(env={"HOME": "/tmp"}),
        npx(env={"BOUGH_TOKEN": "x"}),
        npx(env={"npm_config_registry": "https://example.com"}),
        npx(env={"GIT_SSH_COMMAND": "evil"}),
        npx(env={"https_proxy": "http://example.com"}),
        npx(env={"A=B": "x"}),
        npx(env={"A": "a\0b"}),
        npx(env={"A": "{home}"}),
        text(distribution={"uvx": {"package": "git+https://example.com/evil"}}),
        text(distribution={"uvx": {"package": "agent>=1.2.3"}}),
        text(distribution={"uvx": {"package": "agent==1.2.*"}}),
    ],
)
def test_entries_that_are_refused(entry: bytes) -> None:
    """A5: Malformed and hostile entries are refused with a reason: names, hidden characters, loose versions, packages
    from elsewhere, placeholders, and variables that decide how programs run."""
    with pytest.raises(Invalid) as refusal:
        read_entry(entry)
    assert refusal.value.code == "bad_registry_entry"
    assert refusal.value.message.isprintable() or "\n" in refusal.value.message


@pytest.mark.parametrize("program", ["../evil", "/bin/sh", "bin/../../evil", "", ".", "a b", "-x", "bin\\x", "\u202ex"])
def test_paths_in_archives(program: str) -> None:
    """A5: The program of an archive is a path inside it."""
    archive = {"archive": "https://example.com/x.zip", "cmd": program}
    with pytest.raises(Invalid):
        read_entry(text(distribution={"binary": {this_platform(): archive}}))


@pytest.mark.parametrize("address", ["http://example.com/x.zip", "https://a:b@example.com/x", "file:///etc", "x"])
def test_addresses_of_archives(address: str) -> None:
    """A5: An archive has a plain encrypted address."""
    archive = {"archive": address, "cmd": "x"}
    with pytest.raises(Invalid):
        read_entry(text(distribution={"binary": {this_platform(): archive}}))


async def test_documents(tmp_path: Path) -> None:
    """A5: An agent is found by its id in a registry's document, which a path or an encrypted address names."""
    document = tmp_path / "registry.json"
    document.write_text(json.dumps({"version": "1.0.0", "agents": [ENTRY, {"id": "other"}]}))
    assert read_entry(await documents.find_agent(str(document), "swift-agent")).id == "swift-agent"
    with pytest.raises(NotFound, match="It has: other, swift-agent"):
        await documents.find_agent(str(document), "none")
    for where in ("", "http://example.com/r.json", "https://a:b@example.com/r.json", "ftp://localhost/x", "/none.json"):
        with pytest.raises(Invalid):
            await documents.find_agent(where, "swift-agent")
    document.write_text("{}")
    with pytest.raises(Invalid):
        await documents.find_agent(str(document), "swift-agent")
