"""Decides which hosts a box may reach: those on its list, those that the server has allowed since, and no others. Asks
the server about unknown ones."""

import asyncio
from collections.abc import Callable, Iterable
from typing import NamedTuple

from bough.agents.network.addresses import Reach
from bough.agents.network.hosts import HostAndPort, HostList, is_address, is_loopback

HOLD = 300.0
"""Seconds that a connection waits for a person's answer. Most programs give up before."""
MOST_QUESTIONS = 8
"""Hosts that a person is asked about at a time; more would hide what matters."""
MOST_ANSWERS = 1000
"""Answers that are remembered until the next prompt."""

UNASKED = "It is not on the list of allowed hosts, and no turn is running in which a person could be asked."
ADDRESS = "This address is not on the list, and addresses cannot be approved. Use a host name."
LOCAL = "This is the local machine. Programs inside the sandbox are reached without the proxy."
TOO_MANY = "It is not on the list of allowed hosts, and a person is being asked about too many others already."
OVER = "It is not on the list of allowed hosts, and the turn in which a person was asked about it is over."
STILL_ASKED = "It is not on the list of allowed hosts. A person was asked and has not answered yet; try again later."


class HostVerdict(NamedTuple):
    """Whether a connection is allowed, and a sentence that says why not."""

    allowed: bool
    reason: str = ""


class HostGate:
    """The hosts of one box. `ask` sends a question with the target's name; `answer` delivers the answer."""

    def __init__(
        self,
        hosts: Iterable[str],
        trusted: Iterable[str],
        ask: Callable[[str], None],
        services: Iterable[str] = (),
    ) -> None:
        self._hosts = HostList(hosts)
        # Hosts that count as long as the box runs: the agent's model and its MCP servers.
        self._services = HostList(services)
        # Endpoints by address that a person has configured.
        self._trusted = frozenset(trusted)
        self._ask = ask
        self._questions: dict[str, asyncio.Future[HostVerdict]] = {}
        self._answers: dict[str, HostVerdict] = {}

    def reach(self, target: HostAndPort) -> Reach:
        """Returns which addresses an allowed target may have. Only a list can open more than public ones."""
        if target.endpoint in self._trusted:
            return "any"
        return "internal" if self._hosts.has_internal(target) else "public"

    async def decide(self, target: HostAndPort) -> HostVerdict:
        """Returns whether a connection is allowed. Waits for a person's answer, but not forever."""
        return self.known(target) or await self._question(target.name)

    def known(self, target: HostAndPort) -> HostVerdict | None:
        """Returns whether a connection is allowed now; None if a person must be asked."""
        if target.endpoint in self._trusted:
            return HostVerdict(True)
        if is_loopback(target.host):
            return HostVerdict(False, LOCAL)
        if is_address(target.host):
            return HostVerdict(False, ADDRESS)
        if target in self._hosts or target in self._services:
            return HostVerdict(True)
        return self._answers.get(target.name)

    def answer(self, name: str, *, allowed: bool, reason: str, remembered: bool) -> None:
        """Takes the server's answer about a host; it counts until the next prompt, unless it is not remembered."""
        verdict = HostVerdict(allowed, reason)
        if remembered and (name in self._answers or len(self._answers) < MOST_ANSWERS):
            self._answers[name] = verdict
        self._settle(name, verdict)

    def reset(self, hosts: Iterable[str], *, same_turn: bool = False) -> None:
        """Takes the list of a new prompt, and forgets the answers that were given for the last one. In the same turn,
        denials and open questions stay; the server is asked again about everything else."""
        self._hosts = HostList(hosts)
        self._answers = {name: verdict for name, verdict in self._answers.items() if same_turn and not verdict.allowed}
        if not same_turn:
            # Whatever was not answered until now never will be.
            for name in list(self._questions):
                self._settle(name, HostVerdict(False, OVER))

    def _settle(self, name: str, verdict: HostVerdict) -> None:
        question = self._questions.pop(name, None)
        if question is not None and not question.done():
            question.set_result(verdict)

    async def _question(self, name: str) -> HostVerdict:
        question = self._questions.get(name)
        if question is None:
            if len(self._questions) >= MOST_QUESTIONS:
                return HostVerdict(False, TOO_MANY)
            question = self._questions[name] = asyncio.get_running_loop().create_future()
            self._ask(name)
        try:
            async with asyncio.timeout(HOLD):
                return await asyncio.shield(question)
        except TimeoutError:
            return HostVerdict(False, STILL_ASKED)
