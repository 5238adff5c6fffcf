"""Tests `bough acp` with the client of the protocol's own Python SDK."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest
from acp import RequestError, spawn_agent_process, text_block
from acp.schema import AllowedOutcome, ClientCapabilities, RequestPermissionResponse

from tests.support.server import Running

PATIENCE = 20.0


class Person:
    """Records what it receives, and answers requests as last configured."""

    def __init__(self) -> None:
        self.updates: list[tuple[str, Any]] = []
        self.asked: list[Any] = []
        self.kind = "allow_once"
        self._changed = asyncio.Event()

    async def session_update(self, session_id: str, update: Any, **_meta: Any) -> None:
        self.updates.append((session_id, update))
        self._changed.set()

    async def request_permission(
        self, options: Any, session_id: str, tool_call: Any, **_meta: Any
    ) -> RequestPermissionResponse:
        self.asked.append(tool_call)
        chosen = next(option for option in options if option.kind == self.kind)
        return RequestPermissionResponse(outcome=AllowedOutcome(option_id=chosen.option_id, outcome="selected"))

    def said(self, session_id: str, kind: str = "agent_message_chunk") -> str:
        updates = [update for id, update in self.updates if id == session_id and update.session_update == kind]
        return "".join(item.content.text for item in updates)

    async def heard(self, session_id: str, text: str) -> None:
        async with asyncio.timeout(PATIENCE):
            while text not in self.said(session_id):
                self._changed.clear()
                await self._changed.wait()


async def test_life_of_a_session(server: Running) -> None:
    """C2: The SDK's client creates, prompts, answers permission requests, cancels, sets modes and options, lists,
    loads, resumes, forks and closes."""
    repo = str(server.repo())
    person: Any = Person()
    command = (sys.executable, "-m", "bough", "acp", "--data", str(server.data))
    async with spawn_agent_process(person, *command, use_unstable_protocol=True) as (bough, _process):
        initialized = await bough.initialize(protocol_version=1, client_capabilities=ClientCapabilities())
        assert initialized.protocol_version == 1
        assert initialized.agent_info is not None
        assert initialized.agent_info.name == "bough"
        assert initialized.auth_methods
        await bough.authenticate(method_id=initialized.auth_methods[0].id)
        new = await bough.new_session(cwd=repo, mcp_servers=[], bough={"agent": "demo", "mode": "default"})
        session = new.session_id
        assert new.modes is not None
        assert new.modes.current_mode_id == "default"

        done = await bough.prompt(session_id=session, prompt=[text_block("[[say one]] [[run echo hi > hi.txt]]")])
        assert done.stop_reason == "end_turn"
        assert person.said(session) == "one"
        assert len(person.asked) == 1
        assert (server.root / "repo/hi.txt").exists()
        person.kind = "reject_once"
        await bough.prompt(session_id=session, prompt=[text_block("[[run echo ho > ho.txt]]")])
        assert not (server.root / "repo/ho.txt").exists()

        turn = asyncio.create_task(bough.prompt(session_id=session, prompt=[text_block("[[say hanging]] [[hang]]")]))
        await person.heard(session, "hanging")
        await bough.cancel(session_id=session)
        assert (await turn).stop_reason == "cancelled"

        await bough.set_session_mode(session_id=session, mode_id="bypassPermissions")
        options = await bough.set_config_option(session_id=session, config_id="effort", value="low")
        assert {option.id: option.current_value for option in options.config_options}["effort"] == "low"
        await bough.set_config_option(session_id=session, config_id="effort", value="bough:own")
        await bough.prompt(session_id=session, prompt=[text_block("[[run echo freely]]")])
        assert len(person.asked) == 2

        (listed,) = (await bough.list_sessions(cwd=repo)).sessions
        assert listed.session_id == session
        fork = await bough.fork_session(session_id=session, cwd=repo, mcp_servers=[])
        await bough.prompt(session_id=fork.session_id, prompt=[text_block("[[say forked]]")])
        await person.heard(fork.session_id, "forked")
        await bough.close_session(session_id=session)
        with pytest.raises(RequestError):
            await bough.load_session(cwd=repo, session_id="nobody", mcp_servers=[])

    late: Any = Person()
    async with spawn_agent_process(late, *command, use_unstable_protocol=True) as (bough, _process):
        await bough.initialize(protocol_version=1)
        await bough.resume_session(session_id=session, cwd=repo, mcp_servers=[])
        assert late.said(session) == ""
        await bough.load_session(cwd=repo, session_id=session, mcp_servers=[])
        await late.heard(session, "hanging")
        assert late.said(session).startswith("one")
        assert late.said(session, "user_message_chunk").startswith("[[say one]]")
