"""Tests that adding an agent is adding a file: the policy understands a tool vocabulary that only a TOML file
describes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import bough
from bough.agents.catalog import Catalog, load_catalog
from bough.core.policy.decide import decide
from bough.core.policy.tool_use.read import read
from bough.core.transcripts.fold import Fold
from bough.model.tool import ToolUse
from tests.core.policy.policies import rule

CWD = "/repo/x"
FILE = """
title = "Heron"
command = ["heron", "--acp"]

[login]
secrets = [".heron/key"]

[repository]
protect = [".heron", "heron/rules*"]

[quirks]
mode-tools = ["stop_planning"]

[tools]
name-meta = ["heron.tool"]
kinds = { run_script = "execute", rewrite = "edit" }
command-arguments = ["script"]
path-arguments = ["document"]
patch-arguments = ["rewriting"]

[tools.mcp]
recognized = true
name = "ext::{tool}@{server}"
title = "{server} > {tool}"
"""


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "heron.toml").write_text(FILE, "utf-8")
    return load_catalog(tmp_path)


def use_of(catalog: Catalog, update: dict[str, Any], tool: str = "", agent: str = "heron") -> ToolUse:
    meta = {"_meta": {"heron": {"tool": tool}}} if tool else {}
    body = Fold().tool({"toolCallId": "c", **update, **meta}).body
    return read(catalog, agent, CWD, body, ["search", "far"])


def test_commands(catalog: Catalog) -> None:
    """P3: A tool that the file calls a command is one: rules about commands match its script."""
    use = use_of(catalog, {"rawInput": {"script": "rm -rf build"}}, "run_script")
    assert (use.kind, use.name, use.command) == ("execute", "run_script", "rm -rf build")
    assert decide("allow-all", use, [rule("deny", command="rm *")], []).effect == "deny"
    assert decide("default", use, [rule("allow", command="rm *")], []).effect == "allow"
    stranger = use_of(catalog, {"rawInput": {"script": "rm -rf build"}}, "run_script", agent="stranger")
    assert (stranger.kind, stranger.command) == ("other", None)


def test_edits(catalog: Catalog) -> None:
    """P3: Finds files in the arguments that the file names, and protects its settings folders from every agent."""
    inside = use_of(catalog, {"rawInput": {"document": "src/a.py"}}, "rewrite")
    assert (inside.kind, inside.paths) == ("edit", (f"{CWD}/src/a.py",))
    assert decide("acceptEdits", inside, [], []).effect == "allow"
    patch = use_of(catalog, {"rawInput": {"rewriting": "--- a/src/a.py\n+++ b/src/b.py\n"}}, "rewrite")
    assert patch.paths == (f"{CWD}/src/a.py", f"{CWD}/src/b.py")
    for path in (".heron/settings", "sub/heron/rules.toml", "/etc/hosts", ".git/config"):
        for update in ({"rawInput": {"document": path}}, {"kind": "edit", "locations": [{"path": path}]}):
            assert decide("acceptEdits", use_of(catalog, update, "rewrite"), [], []).effect == "ask"
        demo = use_of(catalog, {"kind": "edit", "locations": [{"path": path}]}, agent="demo")
        assert decide("acceptEdits", demo, [], []).effect == "ask"


def test_mcp_tools(catalog: Catalog) -> None:
    """P3: Recognizes tools of MCP servers by the forms in the file; an ambiguous name belongs to no server."""
    use = use_of(catalog, {}, "ext::find@search")
    assert (use.kind, use.server, use.name) == ("mcp", "search", "find")
    assert decide("default", use, [rule("allow", tool="search/find")], []).effect == "allow"
    titled = use_of(catalog, {"title": "far > shout"})
    assert (titled.kind, titled.server, titled.name) == ("mcp", "far", "shout")
    own = use_of(catalog, {}, "ext::agor_sessions_list@bough")
    assert decide("default", own, [], []).effect == "allow"
    for update, tool in (({}, "ext::a@b@unknown"), ({"title": "bough > agor_sessions_list"}, "")):
        unclear = use_of(catalog, update, tool)
        assert (unclear.server, unclear.kind, unclear.unsure_server) == (None, "other", True)
        assert decide("default", unclear, [], []).effect == "ask"


def test_changes_of_mode(catalog: Catalog) -> None:
    """P3: A tool that the file lists changes the mode, whatever kind the agent reports; mode plan asks a person about
    it."""
    use = use_of(catalog, {"kind": "think"}, "stop_planning")
    assert use.kind == "switch_mode"
    assert decide("plan", use, [], []).effect == "ask"


def test_a_form_without_server_and_tool_is_refused(tmp_path: Path) -> None:
    """P3: A file with a form that cannot be parsed is reported as broken."""
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "heron.toml").write_text(FILE.replace("{server} > {tool}", "{tool} only"), "utf-8")
    (broken,) = load_catalog(tmp_path).broken
    assert broken.name == "heron"


def test_keys(catalog: Catalog) -> None:
    """P3: A person decides about reading the file that holds the agent's key, whichever agent reads it."""
    use = use_of(catalog, {"kind": "read", "rawInput": {"document": "/home/me/.heron/key"}})
    assert [hit.path for hit in use.protected] == ["/home/me/.heron/key"]


def test_no_agent_is_named_outside_the_catalog() -> None:
    """P3: What differs by agent is in its file, so core, model and api name no agent that Bough does not come with."""
    names = [entry.name for entry in load_catalog(Path("/nowhere")).entries() if not entry.comes_with_bough]
    spelled = re.compile(rf"\b({'|'.join(names)}|claude)\b", re.IGNORECASE)
    package = Path(bough.__file__).parent
    files = [file for room in ("core", "model", "api") for file in (package / room).rglob("*.py")]
    assert [str(file.relative_to(package)) for file in files if spelled.search(file.read_text("utf-8"))] == []
