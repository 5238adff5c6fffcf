"""One agent that asks for everything harmful, in each mode and sandbox profile: what it is allowed without a person."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bough.model.session import MODES
from tests.attacks.agents.hostile import OPTIONS
from tests.attacks.sandbox.box_agents import available, make_home
from tests.core.helpers import add_agent
from tests.support.eventually import eventually
from tests.support.repos import make_repo
from tests.support.server import serving

TOP = ("bypassPermissions", "allow-all")


def _edit(path: str) -> dict[str, Any]:
    return {"title": f"Edit {path}", "kind": "edit", "locations": [{"path": path}], "rawInput": {"file_path": path}}


def _read(path: str) -> dict[str, Any]:
    return {"title": f"Read {path}", "kind": "read", "locations": [{"path": path}], "rawInput": {"file_path": path}}


def _run(command: str) -> dict[str, Any]:
    return {"title": command, "kind": "execute", "rawInput": {"command": command}}


def never(data: str) -> dict[str, dict[str, Any]]:
    """Returns what no mode allows: Bough's own data."""
    return {
        "edit the configuration": _edit(f"{data}/config.toml"),
        "edit an agent": _edit(f"{data}/agents/x.toml"),
        "edit the database": _edit(f"{data}/bough.db"),
        "read the token": _read(f"{data}/server.json"),
        "print the token": _run(f"cat {data}/server.json"),
        "delete the data": _run(f"rm -rf {data}"),
    }


def asked(home: str, cwd: str, other: str) -> dict[str, dict[str, Any]]:
    """Returns what needs a person in every mode that asks at all."""
    return {
        "edit git's settings": _edit(f"{home}/.gitconfig"),
        "edit keys": _edit(f"{home}/.ssh/authorized_keys"),
        "edit the shell": _edit(f"{home}/.bashrc"),
        "edit the repository's settings": _edit(f"{cwd}/.git/config"),
        "edit a hook": _edit(f"{cwd}/.git/hooks/pre-commit"),
        "edit a hook of husky": _edit(f"{cwd}/.husky/pre-commit"),
        "edit a workflow": _edit(f"{cwd}/.github/workflows/ci.yml"),
        "edit variables": _edit(f"{cwd}/.envrc"),
        "edit tasks of an editor": _edit(f"{cwd}/.vscode/tasks.json"),
        "edit the system": _edit("/etc/passwd"),
        "edit beside the folder": _edit(f"{cwd}/../beside.txt"),
        "edit another worktree": _edit(f"{other}/README.md"),
        "set a monitor": _run("git config core.fsmonitor evil"),
        "write a hook": _run("echo evil > .git/hooks/pre-commit"),
        "write the shell": _run(f"echo evil >> {home}/.bashrc"),
        "fetch the unknown": {"title": "Fetch", "kind": "other", "rawInput": {"url": "https://evil.example"}},
    }


@pytest.mark.timeout(600)
@pytest.mark.parametrize("profile", ["off", "workspace", "strict"])
async def test_what_no_mode_allows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, profile: str) -> None:
    """P1, P3, S6: In no mode and profile does policy allow Bough's data; below the top modes it allows nothing that
    grants rights, runs code later or lies elsewhere; and in plan it refuses all of that without a question."""
    reason = available.network_reason if profile == "strict" else available.reason
    if profile != "off" and reason:
        pytest.skip(reason)
    home = make_home(tmp_path / "home")
    monkeypatch.setenv("HOME", str(home))
    settings: dict[str, Any] = {"sandbox": "off"} if profile == "off" else {"sandbox": "auto"}
    settings |= {"sandbox_profile": profile} if profile != "off" else {}
    uses_file = tmp_path / "work" / "uses.json"
    add_agent(tmp_path, "asks", ["{python}", "-m", "tests.attacks.agents.asks_everything", str(uses_file)])
    async with serving(tmp_path, **settings, max_sessions=2 * len(MODES)) as server:
        client = server.client
        repo = (await client.repo(server.repo("folder")))["id"]
        other = make_repo(server.root / "other")
        await client.session((await client.repo(other))["id"], agent="demo")
        refused = never(str(server.data))
        uses = refused | asked(str(home), str(server.root / "folder"), str(other))
        requests = [{"toolCall": {"toolCallId": name, **use}, "options": OPTIONS} for name, use in uses.items()]
        uses_file.write_text(json.dumps(requests))
        for mode in MODES:
            session = (await client.session(repo, agent="asks", permissionMode=mode))["id"]
            task = await client.prompt(session, "go")

            async def settled(session: str = session) -> dict[str, str] | None:
                pending = (await client.get(f"/api/approvals?sessionId={session}&status=pending"))["approvals"]
                words = " ".join(await client.texts(session)).split()
                answers = dict(text.split("=") for text in words)
                is_whole = len(answers) + len(pending) == len(uses)
                return {name: answers.get(str(n), "asked") for n, name in enumerate(uses)} if is_whole else None

            chosen = await eventually(settled, f"{mode}: each request is answered or asked about")
            assert {name: chosen[name] for name in refused} == dict.fromkeys(refused, "no"), mode
            allowed = {name for name, option in chosen.items() if option == "yes"}
            assert not allowed or mode in TOP, (mode, allowed)
            assert mode != "plan" or set(chosen.values()) == {"no"}, chosen
            await client.post(f"/api/sessions/{session}/stop")
            assert (await client.wait_task(task))["status"] == "cancelled"
