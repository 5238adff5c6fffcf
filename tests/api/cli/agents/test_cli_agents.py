"""Tests `bough agents`: the state of each agent, and real tests of working and broken agents."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from bough.agents.sandbox.detect import Availability
from bough.model.session import MODES
from tests.api.cli.cli_program import Cli, Result, bough, run_here
from tests.support import misbehaving_agents
from tests.support.server import Running

LOGIN = """
from tests.support.misbehaving_agents.protocol import answer, messages, say
for message in messages():
    if message["method"] == "session/new":
        say(id=message["id"], error={"code": -32000, "message": "Authentication required"})
    else:
        answer(message)
"""
STUBBORN = """
from tests.support.misbehaving_agents.protocol import SESSION, answer, messages, say
choices = [{"value": "free", "name": "Free"}, {"value": "plan", "name": "Plan"}]
option = {"id": "mode", "name": "Mode", "type": "select", "currentValue": "free", "options": choices}
for message in messages():
    if message["method"] in ("session/new", "session/set_config_option"):
        say(id=message["id"], result={"sessionId": SESSION, "configOptions": [option]})
    else:
        answer(message)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns a folder to start agents in, with separate data and home folders."""
    monkeypatch.setenv("BOUGH_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    work = tmp_path / "cwd"
    work.mkdir()
    return work


def describe(tmp_path: Path, name: str, command: list[str], more: str = "") -> None:
    (tmp_path / "data" / "agents").mkdir(parents=True, exist_ok=True)
    text = f'title = "{name.title()}"\ncommand = {json.dumps(command)}\n{more}'
    (tmp_path / "data" / "agents" / f"{name}.toml").write_text(text, "utf-8")


def misbehaving(tmp_path: Path, name: str, more: str = "") -> None:
    describe(tmp_path, name, ["{python}", "-m", misbehaving_agents.module(name)], more)


def written(tmp_path: Path, name: str, program: str, more: str = "") -> None:
    (tmp_path / f"{name}.py").write_text(program, "utf-8")
    describe(tmp_path, name, ["{python}", str(tmp_path / f"{name}.py")], more)


def tried(folder: Path, name: str, *more: str) -> Result:
    """Runs the test of an agent, and checks that no process is left."""
    result = run_here(["agents", "test", name, "--cwd", str(folder), *more])
    assert [item.pid for item in psutil.process_iter(["cwd"]) if item.info["cwd"] == str(folder)] == []
    return result


def seen(folder: Path, name: str, *more: str) -> tuple[int, dict[str, Any]]:
    result = tried(folder, name, "--json", *more)
    return result.code, json.loads(result.out)


# Agents that work


@pytest.mark.parametrize("name", ["demo", "terminal"])
def test_a_handshake_with_built_in_agents(folder: Path, name: str) -> None:
    """C1, L4: Without a server, a key or a prompt, shows the agent's abilities and that it accepts its mode."""
    code, trial = seen(folder, name, "--mode", "plan")
    assert (code, trial["error"], trial["protocol"]) == (0, None, 1)
    assert (trial["mode"], trial["modeTaken"], trial["initialMode"]) == ("plan", True, "default")
    assert set(trial["modes"]) == set(MODES)
    assert trial["capabilities"]["load"] is True and trial["answer"] is None
    assert [step["name"] for step in trial["steps"]] == [
        "prepare",
        "start",
        "initialize",
        "session/new",
        "mode",
        "end",
    ]
    result = tried(folder, name)
    assert (result.code, result.err) == (0, "")
    assert "acceptEdits → acceptEdits: set" in result.out and result.out.endswith(" works.\n")


def test_a_prompt_is_sent_on_request(folder: Path, tmp_path: Path) -> None:
    """C1: Sends a prompt only on request, prints the answer, and refuses the agent's permission request once."""
    heard = tmp_path / "heard"
    describe(tmp_path, "wants", ["{python}", "-m", "tests.support.misbehaving_agents.requests_permission", str(heard)])
    assert (tried(folder, "wants").code, heard.exists()) == (0, False)
    result = tried(folder, "wants", "--prompt", json.dumps({"call": {"title": "Remove it all", "kind": "execute"}}))
    assert result.code == 0 and "(no text)" in result.out
    assert result.err == "Refused: Remove it all\n"
    assert json.loads(heard.read_text().splitlines()[-1]) == {"answer": "no"}
    code, trial = seen(folder, "demo", "--prompt", "[[say hello]] [[run touch made]]", "--mode", "default")
    assert (code, trial["stopReason"]) == (0, "end_turn")
    assert "hello" in trial["answer"] and len(trial["refused"]) == 1
    assert not (folder / "made").exists()


def test_corrections_of_the_catalog(folder: Path, tmp_path: Path) -> None:
    """C1, P1: Shows corrected capabilities, and names a file in the folder that restricts the agent."""
    more = '[modes]\nplan = "plan"\n[corrections]\nload = false\nstdio = false\n[repository]\nrestrict = [".env"]\n'
    describe(tmp_path, "corrected", ["{python}", "-m", "bough.agents.demo"], more)
    (folder / ".env").write_text("X=1")
    code, trial = seen(folder, "corrected")
    assert code == 0
    assert (trial["capabilities"]["load"], trial["capabilities"]["stdio"]) == (False, False)
    assert trial["capabilities"]["resume"] is True
    assert (trial["mode"], trial["modeTaken"]) == ("plan", True)
    assert ".env" in trial["notices"][0]


# Agents that do not work


@pytest.mark.parametrize(
    ("name", "code", "sentence"),
    [
        ("exits_at_once", "agent_gone", "ended with code 3: no credentials: run `agent login` first"),
        ("refuses", "agent_refused", "Refuses says: state runtime failed"),
        ("other_version", "agent_protocol", "of the Agent Client Protocol, but Bough speaks version 1"),
        ("silent", "agent_timeout", "did not answer initialize within 0.3 s."),
    ],
)
def test_a_failing_agent_is_explained(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, code: str, sentence: str
) -> None:
    """C1, L4: Exits with 1 and says what went wrong and what to do next; no process of the agent is left."""
    misbehaving(tmp_path, name)
    if name == "silent":
        monkeypatch.setenv("BOUGH_INITIALIZE_TIMEOUT", "0.3")
    result = tried(folder, name)
    assert result.code == 1 and sentence in result.err
    by_hand = f"Run it yourself to see its output: {sys.executable} -m {misbehaving_agents.module(name)}\n"
    assert result.err.endswith(by_hand)
    failed, trial = seen(folder, name)
    assert (failed, trial["error"]["code"]) == (1, code)
    assert trial["steps"][-1]["name"] == "end"


def test_an_old_node_is_named(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C1: The test of an agent that needs a newer Node.js names both versions, in sentences of their own."""
    node, program = tmp_path / "bin" / "node", tmp_path / "package" / "bird.js"
    for file, text in (
        (
            node,
            '#!/bin/sh\nif [ "$1" = --version ]; then echo v18.19.1; exit; fi\necho "SyntaxError: no" >&2\nexit 1\n',
        ),
        (program, "#!/usr/bin/env node\n"),
    ):
        file.parent.mkdir()
        file.write_text(text)
        file.chmod(0o755)
    (program.parent / "package.json").write_text('{"engines": {"node": ">=22"}}')
    monkeypatch.setenv("PATH", f"{node.parent}{os.pathsep}{os.environ['PATH']}")
    describe(tmp_path, "bird", [str(program)])
    result = tried(folder, "bird")
    advice = (
        f"Bird runs on Node.js 22 or newer, but {node} is version 18.19.1. Install a newer Node.js. Run it yourself"
    )
    assert result.code == 1 and f"SyntaxError: no. {advice}" in result.err, result


@pytest.mark.parametrize("name", ["never_exits", "leaves_children"])
def test_an_agent_that_does_not_end_by_itself(folder: Path, tmp_path: Path, name: str) -> None:
    """C1: An agent that works but leaves processes behind passes, and none of its processes is left."""
    misbehaving(tmp_path, name)
    assert tried(folder, name).code == 0


def test_an_agent_that_requires_a_login(folder: Path, tmp_path: Path) -> None:
    """C1: Prints the agent's own login message after everything learned before it."""
    written(tmp_path, "shy", LOGIN, '[login]\nenv = ["SHY_KEY_6F1C"]\nhow = "Set SHY_KEY_6F1C."')
    result = tried(folder, "shy")
    assert result.code == 1 and "none found. Set SHY_KEY_6F1C." in result.out
    assert result.err == "Shy is not logged in, or its key was refused. Set SHY_KEY_6F1C.\n"
    code, trial = seen(folder, "shy")
    assert (code, trial["error"]["code"], trial["protocol"], trial["loginFound"]) == (1, "agent_login", 1, False)


def test_a_login_runs_the_agents_own_command(folder: Path, tmp_path: Path) -> None:
    """O1, L4: Runs the login command with the agent's installed programs on the PATH, and passes its failure on."""
    (tmp_path / "login.py").write_text(
        "import os, pathlib, sys\n"
        "pathlib.Path(sys.argv[1]).write_text(os.environ['PATH'])\n"
        "sys.exit(int(sys.argv[2]))\n"
    )
    key = tmp_path / "key"
    for name, code in (("shy", "0"), ("sad", "4")):
        command = json.dumps(["{python}", str(tmp_path / "login.py"), str(key), code])
        describe(tmp_path, name, ["shy"], f'[login]\nfiles = ["{key}"]\nhow = "Log in."\ncommand = {command}')
    done = run_here(["agents", "login", "shy"])
    assert done.code == 0 and "Test it: bough agents test shy" in done.err
    assert str(tmp_path / "data" / "npm" / "shy" / "node_modules" / ".bin") in key.read_text().split(os.pathsep)
    failed = run_here(["agents", "login", "sad"])
    assert failed.code == 1 and "The login of Sad ended with code 4." in failed.err
    needless = run_here(["agents", "login", "demo"])
    assert (needless.code, needless.err) == (1, "Demo agent needs no login.\n")


def test_an_agent_that_does_not_accept_a_mode(folder: Path, tmp_path: Path) -> None:
    """P2: A mode that the agent does not accept is a failure."""
    written(tmp_path, "stubborn", STUBBORN, 'mode-option = "mode"\n[modes]\nplan = "plan"')
    result = tried(folder, "stubborn", "--mode", "plan")
    assert result.code == 1 and "plan → plan: not set" in result.out
    assert "told to work in its mode 'plan' but stays in 'free'" in result.err


def test_a_version_mismatch_is_named(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """L4: Names the installed and the tested version where the difference may explain a failure."""
    program = tmp_path / "bin" / "old-agent"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\nexec {sys.executable} -m tests.support.misbehaving_agents.bad_output.other_version "$@"\n'
    )
    program.chmod(0o755)
    (tmp_path / "bin" / "package.json").write_text('{"version": "0.1.0"}')
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    describe(tmp_path, "old", ["old-agent"], '[package]\nnpm = "old-agent"\nversion = "2.0.0"')
    result = tried(folder, "old")
    assert result.code == 1 and "0.1.0 (Bough was tested with 2.0.0)" in result.out
    assert (
        "This is version 0.1.0; Bough was tested with 2.0.0. Install that one: bough agents install old" in result.err
    )


def test_agents_that_cannot_be_started(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """L4: Explains an unknown, missing or broken agent, a missing folder, and untrusted code."""
    unknown = run_here(["agents", "test", "nobody"])
    assert unknown.code == 1 and "There is no agent 'nobody'. Choose one of: claude-code," in unknown.err
    describe(tmp_path, "absent", ["absent-agent"], 'install = "Get it from a friend."')
    missing = tried(folder, "absent")
    assert (missing.code, missing.err) == (
        1,
        "The agent absent cannot be started: its command 'absent-agent' was not found. Get it from a friend.\n",
    )
    describe(tmp_path, "broken", [], "")
    broken = run_here(["agents", "test", "broken"])
    assert broken.code == 1 and "broken.toml names no command" in broken.err
    gone = run_here(["agents", "test", "demo", "--cwd", str(tmp_path / "gone")])
    assert gone.code == 1 and "does not exist" in gone.err
    describe(tmp_path, "asks", ["{python}", "-m", "bough.agents.demo"], '[repository]\nask = ["plugin"]')
    (folder / "plugin").mkdir()
    (folder / "plugin" / "evil.js").write_text("")
    untrusted = tried(folder, "asks")
    assert untrusted.code == 1 and "would run code from this folder: plugin/evil.js." in untrusted.err
    assert run_here(["agents", "test", "demo", "--mode", "wild"]).code == 2


# States


async def test_the_list_shows_the_state_of_each_agent(
    server: Running, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """L4, O5: Describes each agent's state in a few words, names the command that helps, and marks the default."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "gemini").write_text("#!/bin/sh\n")
    (programs / "gemini").chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    rows = {line.split()[0]: line for line in (await bough("agents", COLUMNS="80")).out.splitlines()}
    assert rows["NAME"].split() == ["NAME", "STATE", "VERSION", "DEFAULT"]
    assert " ready " in rows["demo"] and rows["demo"].rstrip().endswith("yes")
    assert "not installed: bough agents install codex" in rows["codex"]
    assert "installed, no key found" in rows["gemini"]
    assert "Demo agent" in (await bough("agents", COLUMNS="120")).out
    (programs / "npx").symlink_to(programs / "gemini")
    assert "through npx, no key found" in (await cli("agents", "show", "codex")).out
    monkeypatch.setenv("GEMINI_API_KEY", "k")
    assert "ready" in (await cli("agents", "show", "gemini")).out


async def test_one_agent_and_all_modes(server: Running, cli: Cli) -> None:
    """P1, O5: Shows what each mode means for an agent, and the whole table; options may precede the command."""
    shown = (await cli("agents", "show", "claude-code")).out
    assert "acceptEdits (free): Not Claude's own `auto`, which asks a model." in shown
    assert all(f"\n{mode} " in shown for mode in MODES)
    names = server.services.catalog.names()
    wide = (await bough("agents", "modes", COLUMNS="250")).out.splitlines()
    assert [line.split()[0] for line in wide[1:]] == list(MODES)
    assert wide[0].split() == ["MODE", *(name.upper() for name in names)]
    narrow = (await bough("agents", "modes", COLUMNS="60")).out.splitlines()
    assert len(narrow) == len(MODES) * (1 + len(names)) and narrow[0].strip() == MODES[0]
    assert "…" not in "".join([*wide, *narrow])
    agents = (await server.client.get("/api/agents"))["agents"]
    codex = json.loads((await cli("agents", "--json", "show", "codex")).out)
    assert codex == next(agent for agent in agents if agent["name"] == "codex")
    every = json.loads((await cli("agents", "modes", "--json")).out)["agents"]
    assert {row["name"]: row["modes"] for row in every} == {row["name"]: row["modes"] for row in agents}
    unknown = await cli("agents", "show", "nobody")
    assert unknown.code == 1 and "Choose one of: " in unknown.err


@pytest.mark.parametrize(
    ("setting", "works", "state"),
    [
        ("auto", True, "ok"),
        ("auto", False, "warning"),
        ("required", False, "problem"),
        ("off", True, "warning"),
    ],
)
def test_doctor_reports_the_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str, works: bool, state: str
) -> None:
    """S6: `bough doctor` says whether agents are confined, and if not, why."""
    monkeypatch.setenv("BOUGH_SANDBOX", setting)
    monkeypatch.setenv("BOUGH_DATA", str(tmp_path / "data"))
    availability = Availability("/usr/bin/bwrap") if works else Availability(None, "Install the package bubblewrap.")
    monkeypatch.setattr("bough.api.cli.doctor.checks.detect", lambda: availability)
    [check] = [item for item in json.loads(run_here(["doctor", "--json"]).out)["checks"] if item["name"] == "sandbox"]
    assert check["state"] == state
    assert works or check["fix"] == "Install the package bubblewrap."


def test_doctor_uses_the_same_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """O5: `bough doctor` shows the state of each agent and, if none is ready, says what to do."""
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)

    def agents() -> dict[str, str]:
        (check,) = [
            item for item in json.loads(run_here(["doctor", "--json"]).out)["checks"] if item["name"] == "agents"
        ]
        return check

    assert agents()["state"] == "warning" and "bough agents install NAME" in agents()["fix"]
    (programs / "gemini").write_text("#!/bin/sh\n")
    (programs / "gemini").chmod(0o755)
    assert "installed, no key found: gemini" in agents()["text"] and "Set GEMINI_API_KEY" in agents()["fix"]
    monkeypatch.setenv("GEMINI_API_KEY", "k")
    assert agents()["state"] == "ok" and agents()["text"] == "ready: demo, gemini, terminal"


def test_doctor_names_variables_that_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """L2: `bough doctor` names keys in the shell that an agent may need and does not inherit, and how to add them."""
    data = tmp_path / "data"
    (data / "agents").mkdir(parents=True)
    (data / "agents" / "mine.toml").write_text('title = "Mine"\ncommand = ["{python}"]\n')
    hiding = 'title = "Shy"\ncommand = ["{python}"]\nhide = ["SHY_KEY"]\n[login]\nenv = ["SHY_KEY"]\n'
    (data / "agents" / "shy.toml").write_text(hiding)
    monkeypatch.setenv("BOUGH_DATA", str(data))
    monkeypatch.setenv("PATH", str(tmp_path))

    def checks() -> list[dict[str, str]]:
        rows = json.loads(run_here(["doctor", "--json"]).out)["checks"]
        return [item for item in rows if item["name"] == "agent variables"]

    for name in [name for name in os.environ if name.endswith(("_API_KEY", "_TOKEN"))]:
        monkeypatch.delenv(name)
    assert [check["state"] for check in checks()] == ["ok"]
    monkeypatch.setenv("ACME_API_KEY", "k")
    monkeypatch.setenv("SHY_KEY", "k")
    mine, shy = checks()
    assert mine["text"] == "Mine does not inherit ACME_API_KEY." and 'agent_env = "ACME_API_KEY"' in mine["fix"]
    assert shy["text"] == "Shy does not get SHY_KEY, which its file hides." and "shy.toml" in shy["fix"]
    monkeypatch.setenv("BOUGH_AGENT_ENV", "ACME_*")
    assert [check["text"] for check in checks()] == [shy["text"]]


async def test_agents_of_registries(server: Running, tmp_path: Path) -> None:
    """A5, O5: `agents add` takes a file with an entry or a registry's document, `agents` says that the agent was not
    measured, and `agents remove` removes it."""
    entry = {
        "id": "swift-agent",
        "name": "Swift Agent",
        "version": "1.2.3",
        "description": "Writes.",
        "distribution": {"uvx": {"package": "swift-agent==1.2.3"}},
    }
    file, document = tmp_path / "entry.json", tmp_path / "registry.json"
    file.write_text(json.dumps(entry))
    document.write_text(json.dumps({"version": "1.0.0", "agents": [entry]}))
    login = ("--url", server.url, "--token", server.token)
    added = await bough("agents", "add", str(file), *login)
    assert (added.code, "Swift Agent 1.2.3 is added as swift-agent." in added.out) == (0, True)
    listed = json.loads((await bough("agents", "--json", *login)).out)["agents"]
    assert [agent["registry"]["version"] for agent in listed if agent["name"] == "swift-agent"] == ["1.2.3"]
    assert (await bough("agents", "remove", "swift-agent", "--yes", *login)).code == 0
    again = await bough("agents", "add", "swift-agent", "--registry", str(document), "--json", *login)
    assert json.loads(again.out)["registry"]["distribution"] == "uvx"
