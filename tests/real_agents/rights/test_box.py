"""S6: Each real agent works in the sandbox: it starts, edits, runs commands and keeps its conversation, and reaches
nothing else."""

from __future__ import annotations

from urllib.parse import urlsplit

from tests.attacks.sandbox.box_agents import needs_sandbox
from tests.attacks.sandbox.test_box_network import needs_network
from tests.real_agents.helpers.agent_under_test import Real

pytestmark = needs_sandbox


async def test_an_agent_works_in_the_box(real: Real) -> None:
    """S6: It writes with its own tool and with a command, and sees neither the data folder nor the files beside its
    own."""
    session = await real.session(permissionMode="allow-all", sandbox="required")
    assert (await real.ask(session, real.actions.write("new.txt", "alpha\n")))["status"] == "completed"
    assert (real.repo / "new.txt").read_text() == "alpha\n"
    await real.ask(session, real.actions.shell_write("made.txt"))
    assert (real.repo / "made.txt").read_text() == "from-shell\n"
    beside = real.server.root / "beside.txt"
    await real.ask(session, real.actions.shell_outside(beside, escalate=False))
    assert not beside.exists()
    row = await real.client.get(f"/api/sessions/{session}")
    assert row["confinement"] == "workspace"


async def test_a_conversation_outlives_the_process_in_the_box(real: Real) -> None:
    """S6: The agent's state is kept: a new process of the agent knows the conversation."""
    session = await real.session(permissionMode="allow-all", sandbox="required")
    await real.ask(session, real.actions.say("hello from the script"))
    await real.client.call("PATCH", f"/api/sessions/{session}", json={"env": {"BIRD": "crane"}})
    assert (await real.ask(session, real.actions.recall()))["status"] == "completed"
    # Gemini cannot reopen a conversation, so Bough quotes it.
    expected = "The conversation so far" if real.agent == "gemini" else "2 user turns"
    assert expected in await real.said(session)


@needs_network
async def test_an_agent_works_without_a_network(real: Real) -> None:
    """S6: In the profile strict, it reaches its model, and asks about no host that the work does not need."""
    # Codex and OpenCode read the address of another model from their settings files, which Bough does not.
    await real.client.call(
        "PATCH", f"/api/repos/{real.repo_id}", json={"sandboxHosts": [urlsplit(real.model.url).netloc]}
    )
    session = await real.session(permissionMode="allow-all", sandbox="required", sandboxProfile="strict")
    assert (await real.ask(session, real.actions.write("new.txt", "alpha\n")))["status"] == "completed"
    assert (real.repo / "new.txt").read_text() == "alpha\n"
    await real.ask(session, real.actions.shell_write("made.txt"))
    assert (real.repo / "made.txt").read_text() == "from-shell\n"
    row = await real.client.get(f"/api/sessions/{session}")
    assert (row["confinement"], row["unconfinedReason"]) == ("strict", None)
    approvals = (await real.client.get(f"/api/approvals?sessionId={session}"))["approvals"]
    asked = {approval["title"] for approval in approvals if approval["toolKind"] == "network"}
    # Codex looks for plug-ins when it starts, and works without them.
    plugins = {"Allow connections to github.com?", "Allow connections to api.github.com?"}
    assert asked <= (plugins if real.agent == "codex" else set())
