"""Tests `bough mcp`, and MCP servers, context files and callbacks of sessions."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bough.core.store.sql import MCP
from bough.model.repo import McpServer
from tests.api.cli.cli_program import Cli, Result, run_here
from tests.support.server import Running

PROGRAM = str(Path(__file__).parents[3] / "agents" / "demo" / "mcp_server.py")
ADDRESS = "https://ann:pass-1f@127.0.0.1:1/mcp?key=query-2e"
SECRETS = ("pass-1f", "query-2e", "header-3d", "env-4c", "env-5b")
REMOTE = ("--url", ADDRESS, "--header", "Authorization=Bearer header-3d==")


def made(result: Result) -> dict[str, Any]:
    assert result.code == 0, result.err
    return json.loads(result.out)


async def test_a_server_is_tested(server: Running, cli: Cli) -> None:
    """L4: Prints what the server offers, or one sentence and exit code 1."""
    await cli("mcp", "add", "tools", "--command", sys.executable, "--", PROGRAM, "stdio")
    works = await cli("mcp", "test", "tools")
    assert works.code == 0 and works.out.startswith("tools works: test") and ", 3 tools, in " in works.out
    assert made(await cli("mcp", "test", "tools", "--json"))["works"] is True
    await cli("mcp", "add", "gone", "--command", "/gone/away")
    fails = await cli("mcp", "test", "gone")
    assert (fails.code, fails.out) == (1, "")
    assert fails.err == "gone does not work: Its command /gone/away does not exist.\n"
    failed = await cli("mcp", "test", "gone", "--json")
    assert failed.code == 1 and json.loads(failed.out)["works"] is False


async def test_servers_are_added_and_shown(server: Running, cli: Cli) -> None:
    """L4, R1: A server with a command or a URL can be added, listed and shown by name or short id, without its
    secrets."""
    assert "bough mcp add NAME" in (await cli("mcp", "list")).out
    added = await cli("mcp", "add", "local", "--command", "/bin/cat", "-e", "KEY=env-4c", "--", "-u", "a b")
    assert added.code == 0 and "local" in added.out and "/bin/cat -u 'a b'" in added.out
    assert added.err == "Next: bough session new --mcp local\n"
    far = await cli("mcp", "add", "far", *REMOTE, "--sse", "--disabled")
    assert "far (disabled)  sse  https://ann:***@127.0.0.1:1/mcp?key=***" in far.out and far.err == ""
    near = made(await cli("mcp", "add", "near", *REMOTE, "--json"))
    assert (near["transport"], near["enabled"], near["headers"]) == ("http", True, {"Authorization": "***"})
    listed = await cli("mcp", "list")
    rows = {line.split()[1]: line.split() for line in listed.out.splitlines()[1:]}
    assert {name: row[2:4] for name, row in rows.items()} == {
        "local": ["stdio", "yes"],
        "far": ["sse", "no"],
        "near": ["http", "yes"],
    }
    assert "1 of 3 shown. For more, add --offset 1." in (await cli("mcp", "list", "-n", "1")).err
    for known in (near["id"], near["id"][-8:], rows["near"][0], "near"):
        assert made(await cli("mcp", "show", known, "--json"))["id"] == near["id"]
    shown = await cli("mcp", "show", "local")
    assert "KEY" in shown.out and "command" in shown.out and "url" not in shown.out
    shown_far = await cli("mcp", "show", "near")
    assert "Authorization" in shown_far.out and "key=***" in shown_far.out
    results = [added, far, listed, shown, shown_far]
    assert not any(secret in item.out + item.err for item in results for secret in SECRETS)
    answer = await server.client.http.get("/api/mcp-servers?limit=20&offset=0")
    assert (await cli("mcp", "list", "--json")).out == answer.text + "\n"
    unknown = await cli("mcp", "show", "nobody", "--json")
    assert unknown.code == 1 and json.loads(unknown.out)["error"]["code"] == "mcp_server_not_found"
    taken = await cli("mcp", "add", "near", "--command", "/bin/cat")
    assert taken.code == 1 and "(name_taken)" in taken.err


async def test_a_program_is_resolved_on_this_machine(
    server: Running, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """L4, R1: Resolves a program on this machine, unless the server is addressed by `--url` and may run elsewhere;
    Bough's own `--url` comes before the command."""
    monkeypatch.chdir(tmp_path)
    assert made(await cli("mcp", "add", "plain", "--command", "sh", "--json"))["command"] == shutil.which("sh")
    assert made(await cli("mcp", "add", "here", "--command", "./x", "--json"))["command"] == str(tmp_path / "x")
    assert (await cli("mcp", "add", "gone", "--command", "no-such-program")).err.endswith("(bad_mcp_server)\n")
    monkeypatch.delenv("BOUGH_DATA")
    monkeypatch.setenv("BOUGH_TOKEN", server.token)
    elsewhere = await cli("--url", server.url, "mcp", "add", "there", "--command", "sh")
    assert elsewhere.code == 1 and elsewhere.err.endswith("(bad_mcp_server)\n")
    assert made(await cli("--url", server.url, "mcp", "add", "far", *REMOTE, "--json"))["transport"] == "http"


async def test_servers_are_changed_and_removed(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """L4, R1: Changes only the given fields and keeps the rest, including secrets; removing a server asks for
    confirmation."""
    known = made(await cli("mcp", "add", "tool", "--command", "/bin/cat", "-e", "A=env-4c", "--json", "--", "-u"))["id"]
    made(await cli("mcp", "add", "far", *REMOTE, "--json"))
    values = ("-e", "A=***", "-e", "B=env-5b")
    changed = made(await cli("mcp", "set", "tool", "--name", "other", "--disabled", *values, "--json"))
    assert (changed["name"], changed["enabled"], changed["args"]) == ("other", False, ["-u"])
    assert changed["env"] == {"A": "***", "B": "***"}
    (private,) = await server.services.store.read(lambda tx: tx.all(MCP.private, McpServer, ids=[known]))
    assert msgspec.json.decode(private.env) == {"A": "env-4c", "B": "env-5b"}
    changed = made(await cli("mcp", "set", known[-8:], "--enabled", "--no-env", "--command", "/bin/echo", "--json"))
    assert (changed["enabled"], changed["env"], changed["command"], changed["args"]) == (True, {}, "/bin/echo", [])
    far = await cli("mcp", "set", "far", "--url", "http://127.0.0.1:2/x", "--header", "X-Key=header-3d")
    assert far.code == 0 and "http://127.0.0.1:2/x" in far.out and "X-Key" in far.out and "header-3d" not in far.out
    assert made(await cli("mcp", "set", "far", "--no-header", "--json"))["headers"] == {}
    await cli("session", "set", session["id"], "--mcp", "other")
    refusal = await cli("mcp", "rm", "other", stdin="n\n")
    assert (
        refusal.code == 1
        and "Forget MCP server other" in refusal.err
        and "Cancelled. Nothing was changed." in refusal.err
    )
    assert (await cli("mcp", "show", "other")).code == 0
    assert "is forgotten" in (await cli("mcp", "rm", "other", stdin="y\n")).out
    assert (await server.client.get(f"/api/sessions/{session['id']}"))["mcpServerIds"] == []
    assert made(await cli("mcp", "rm", "far", "--yes", "--json"))["name"] == "far"
    assert (await server.client.get("/api/mcp-servers"))["total"] == 0


async def test_usage_errors_reveal_no_secret(server: Running, cli: Cli) -> None:
    """L4, R1: Conflicting options are a usage error, and a malformed value is not repeated."""
    await cli("mcp", "add", "tool", "--command", "/bin/cat")
    await cli("mcp", "add", "far", *REMOTE)
    for wrong in (
        ("add", "x"),
        ("add", "x", "--command", "/bin/cat", "--url", ADDRESS),
        ("add", "x", "--command", "/bin/cat", "--sse"),
        ("add", "x", "--command", "/bin/cat", "--header", "A=header-3d"),
        ("add", "x", "--command", "/bin/cat", "--env", "env-4c"),
        ("add", "x", "--command", "/bin/cat", "--env", "=env-4c"),
        ("add", "x", "--url", ADDRESS, "--env", "A=env-4c"),
        ("add", "x", "--url", ADDRESS, "--header", "Authorization: Bearer header-3d"),
        ("add", "x", "--url", ADDRESS, "--header", "Authorization: Bearer header-3d=="),
        ("add", "x", *REMOTE, "--", "-u"),
        ("add", "none", "--command", "/bin/cat"),
        ("set", "tool"),
        ("set", "tool", "--name", "none"),
        ("set", "tool", "-u"),
        ("set", "tool", "--", "-u"),
        ("set", "tool", "--url", ADDRESS),
        ("set", "tool", "--no-env", "--env", "A=env-4c"),
        ("set", "far", "--command", "/bin/cat"),
        ("set", "far", "--no-header", "--header", "A=header-3d"),
    ):
        result = await cli("mcp", *wrong)
        assert (result.code, result.out) == (2, ""), wrong
        assert result.err and not any(secret in result.err for secret in SECRETS), wrong
    wrong = await cli("session", "new", "--repo", str(server.repo()), "--env", "env-5b")
    assert wrong.code == 2 and "env-5b" not in wrong.err
    assert (await server.client.get("/api/mcp-servers"))["total"] == 2


async def test_a_session_gets_servers_and_files(server: Running, cli: Cli) -> None:
    """L4, C1: `session new --mcp --context` passes servers with their secrets, and files, to the agent."""
    await cli("mcp", "add", "tools", "--command", sys.executable, "-e", "TEST_SECRET=env-4c", "--", PROGRAM, "stdio")
    second = made(await cli("mcp", "add", "second", "--command", "/bin/false", "--disabled", "--json"))["id"]
    folder = server.repo()
    (folder / "notes.md").write_text("remember")
    (folder / "more.md").write_text("and this")
    options = ("--mcp", "tools", "--mcp", second[-8:], "--context", "notes.md", "--context", str(folder / "more.md"))
    opened = made(await cli("session", "new", "--repo", str(folder), "--mode", "allow-all", *options, "--json"))
    servers = {item["id"]: item["name"] for item in (await server.client.get("/api/mcp-servers"))["mcpServers"]}
    assert [servers[item_id] for item_id in opened["mcpServerIds"]] == ["tools", "second"]
    assert opened["contextFiles"] == [str(folder / "notes.md"), str(folder / "more.md")]
    assert (await server.client.ask(opened["id"], "[[mcp secret]]"))["status"] == "completed"
    # The tool tells the server's secret, which no transcript shows.
    assert (await server.client.texts(opened["id"]))[-1] == "***"
    lines = [line.split(maxsplit=1) for line in (await cli("session", "show", opened["id"])).out.splitlines()]
    assert ["mcp", "tools, second"] in lines and ["context", "notes.md, more.md"] in lines
    for option, value, code in (
        ("--mcp", "01234567", "mcp_server_not_found"),
        ("--context", "../x", "path_outside_root"),
        ("--context", "gone", "path_missing"),
    ):
        refused = await cli("session", "new", "--repo", str(folder), option, value)
        assert refused.code == 1 and refused.err.endswith(f"({code})\n")
    refused = await cli("session", "new", "--repo", str(folder), "--mcp", "nobody")
    assert (refused.code, refused.err) == (1, "No MCP server is called 'nobody'. See: bough mcp list\n")


async def test_servers_and_files_of_a_session_are_replaced(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """L4, R1: `session set` replaces or removes servers and files, and keeps those that are not named."""
    known, folder = session["id"], Path(session["cwd"])
    (folder / "notes.md").write_text("remember")
    first, second = [
        made(await cli("mcp", "add", name, "--command", "/bin/cat", "--json"))["id"] for name in ("one", "two")
    ]

    async def change(*arguments: str) -> tuple[list[str], list[str]]:
        changed = made(await cli("session", "set", known, *arguments, "--json"))
        return changed["mcpServerIds"], changed["contextFiles"]

    notes = [str(folder / "notes.md")]
    assert await change("--mcp", "one", "--mcp", second[-8:], "--context", "notes.md") == ([first, second], notes)
    assert await change("--mcp", "two", "--mcp", "two") == ([second], notes)
    assert await change("--title", "t") == ([second], notes)
    assert await change("--mcp", "none") == ([], notes)
    assert await change("--mcp", "one", "--no-context") == ([first], [])
    fork = made(await cli("session", "fork", known, "--mcp", "none", "--json"))["sessionId"]
    assert (await server.client.get(f"/api/sessions/{fork}"))["mcpServerIds"] == []
    assert await change("--no-mcp") == ([], [])
    for wrong in (("--mcp", "none", "--mcp", "one"), ("--no-mcp", "--mcp", "one"), ()):
        assert (await cli("session", "set", known, *wrong)).code == 2


async def test_callback_settings_of_a_child_are_changed(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """L4: `session set` changes only the named callback settings of a child and keeps the others."""
    options = ("--instructions", "Be quick.", "--with-prompt", "--json")
    child = made(await cli("session", "spawn", session["id"], "[[say hi]]", *options))["sessionId"]

    async def change(*arguments: str) -> list[Any]:
        config = made(await cli("session", "set", child, *arguments, "--json"))["callback"]
        names = ("enabled", "includeLastMessage", "includeOriginalPrompt", "extraInstructions")
        return [config[name] for name in names]

    assert await change("--no-last-message") == [True, False, True, "Be quick."]
    assert await change("--no-callback", "--without-prompt") == [False, False, False, "Be quick."]
    assert await change("--callback", "--last-message", "--instructions", "Slowly.") == [True, True, False, "Slowly."]
    assert await change("--instructions", "", "--with-prompt") == [True, True, True, None]


async def test_names_are_completed(server: Running, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """L4: Shell completion offers the names of MCP servers, and does not mistake the `--url` of one for Bough's."""
    for name in ("tool", "other"):
        await cli("mcp", "add", name, "--command", "/bin/cat")
    monkeypatch.setenv("_BOUGH_COMPLETE", "complete_bash")
    for words, position, offered in (
        ("bough mcp show ", "3", ["other", "tool"]),
        ("bough mcp rm to", "3", ["tool"]),
        ("bough mcp set --url http://127.0.0.1:1/x to", "5", ["tool"]),
        ("bough session new --mcp ot", "4", ["other"]),
        ("bough session set x --mcp ot", "5", ["other"]),
    ):
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", position)
        assert sorted((await cli()).out.split()) == offered


def test_help_says_where_the_url_of_bough_goes() -> None:
    """L4: Where `--url` means something else, the help says so."""
    for name in ("add", "set"):
        help_text = " ".join(run_here(["mcp", name, "--help"]).out.replace("│", " ").split())
        assert "bough --url URL mcp" in help_text
