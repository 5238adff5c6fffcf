"""Tests which hosts are allowed, and how questions and answers meet."""

from __future__ import annotations

import asyncio

import pytest

from bough.agents.network import gate as module
from bough.agents.network.gate import ADDRESS, LOCAL, OVER, STILL_ASKED, TOO_MANY, HostGate, HostVerdict
from bough.agents.network.hosts import HostAndPort
from tests.support.eventually import eventually

NEW = HostAndPort("new.example", 443)


class Asked:
    """A gate, and the hosts that it has asked about."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.gate = HostGate(["api.example"], ["10.0.0.5:80"], self.names.append, ["mcp.example:8443"])


async def test_the_list_decides_first() -> None:
    """S6: Listed hosts and configured endpoints are allowed; other addresses and this machine never are."""
    asked = Asked()
    assert await asked.gate.decide(HostAndPort("api.example", 443)) == HostVerdict(True)
    assert await asked.gate.decide(HostAndPort("10.0.0.5", 80)) == HostVerdict(True)
    assert await asked.gate.decide(HostAndPort("10.0.0.5", 81)) == HostVerdict(False, ADDRESS)
    assert await asked.gate.decide(HostAndPort("169.254.169.254", 80)) == HostVerdict(False, ADDRESS)
    for host in ("localhost", "x.localhost", "127.0.0.1", "::1"):
        assert await asked.gate.decide(HostAndPort(host, 80)) == HostVerdict(False, LOCAL)
    assert asked.names == []


async def test_connections_to_one_host_share_a_question() -> None:
    """S6: A person is asked once about a host, and the answer counts until the next prompt."""
    asked = Asked()
    waiting = [asyncio.create_task(asked.gate.decide(NEW)) for _ in range(3)]
    await eventually(lambda: asked.names == ["new.example"], "it asks once")
    asked.gate.answer("new.example", allowed=True, reason="", remembered=True)
    assert await asyncio.gather(*waiting) == [HostVerdict(True)] * 3
    assert await asked.gate.decide(NEW) == HostVerdict(True)
    asked.gate.reset(["other.example"])
    again = asyncio.create_task(asked.gate.decide(NEW))
    await eventually(lambda: len(asked.names) == 2, "it asks again")
    asked.gate.answer("new.example", allowed=False, reason="No.", remembered=False)
    assert await again == HostVerdict(False, "No.")
    assert await asked.gate.decide(HostAndPort("other.example", 80)) == HostVerdict(True)


async def test_a_denial_is_remembered_until_the_next_prompt() -> None:
    """S6: A program that tries again does not ask again."""
    asked = Asked()
    asked.gate.answer("new.example", allowed=False, reason="No.", remembered=True)
    assert await asked.gate.decide(NEW) == HostVerdict(False, "No.")
    assert asked.names == []


async def test_nobody_waits_forever(monkeypatch: pytest.MonkeyPatch) -> None:
    """S6: A connection gives up, and the answer still counts for the next one. There are not too many questions."""
    monkeypatch.setattr(module, "HOLD", 0.01)
    asked = Asked()
    assert await asked.gate.decide(NEW) == HostVerdict(False, STILL_ASKED)
    for number in range(module.MOST_QUESTIONS - 1):
        await asked.gate.decide(HostAndPort(f"{number}.example", 443))
    assert await asked.gate.decide(HostAndPort("more.example", 443)) == HostVerdict(False, TOO_MANY)
    asked.gate.answer("new.example", allowed=True, reason="", remembered=True)
    assert await asked.gate.decide(NEW) == HostVerdict(True)
    assert asked.names.count("new.example") == 1


async def test_services_outlive_the_list() -> None:
    """S6: A new list keeps the agent's model and MCP servers open. Their names are trusted no more than others."""
    asked = Asked()
    asked.gate.reset(["internal:git.example"])
    assert await asked.gate.decide(HostAndPort("mcp.example", 8443)) == HostVerdict(True)
    targets = [HostAndPort("mcp.example", 8443), HostAndPort("git.example", 443), HostAndPort("10.0.0.5", 80)]
    assert [asked.gate.reach(target) for target in targets] == ["public", "internal", "any"]


async def test_a_question_without_an_answer_ends_with_its_prompt() -> None:
    """S6: A host whose question was lost can be asked about again after the next prompt."""
    asked = Asked()
    waiting = asyncio.create_task(asked.gate.decide(NEW))
    await eventually(lambda: asked.names == ["new.example"], "it asks")
    asked.gate.reset([])
    assert await waiting == HostVerdict(False, OVER)
    again = asyncio.create_task(asked.gate.decide(NEW))
    await eventually(lambda: len(asked.names) == 2, "it asks again")
    asked.gate.answer("new.example", allowed=True, reason="", remembered=False)
    assert await again == HostVerdict(True)


async def test_a_list_that_changes_in_a_turn() -> None:
    """S6: What was allowed is asked about again; denials and open questions stay."""
    asked = Asked()
    asked.gate.answer("allowed.example", allowed=True, reason="", remembered=True)
    asked.gate.answer("denied.example", allowed=False, reason="No.", remembered=True)
    waiting = asyncio.create_task(asked.gate.decide(NEW))
    await eventually(lambda: asked.names == ["new.example"], "it asks")
    asked.gate.reset([], same_turn=True)
    assert asked.gate.known(HostAndPort("allowed.example", 443)) is None
    assert asked.gate.known(HostAndPort("denied.example", 443)) == HostVerdict(False, "No.")
    asked.gate.answer("new.example", allowed=True, reason="", remembered=True)
    assert await waiting == HostVerdict(True)
