"""Decides which hosts a box may reach: those on its list, those that the server has allowed since, and no others. Asks
the server about unknown ones."""

import asyncio
from collections.abc import Callable, Iterable
from typing import NamedTuple

from bough.agents.network.hosts import HostList, Target, is_address, is_loopback

HOLD = 300.0
"""Seconds that a connection waits for a person's answer. Most programs give up before."""
MOST_QUESTIONS = 8
"""Hosts that a person is asked about at a time; more would hide what matters."""
MOST_ANSWERS = 1000
"""Answers that are remembered until the next prompt."""

UNASKED = "It is not on the list of allowed hosts, and no turn is running in which a person could be asked."
ADDRESS = "Addresses are never allowed. Use a host name."
LOCAL = "It is this machine itself. Programs inside the sandbox are reached without the proxy."
TOO_MANY = "It is not on the list of allowed hosts, and a person is being asked about too many others already."
STILL_ASKED = "It is not on the list of allowed hosts. A person was asked and has not answered yet; try again later."


class Verdict(NamedTuple):
    """Whether a connection is allowed, and a sentence that says why not."""

    allowed: bool
    reason: str = ""


class Gate:
    """The hosts of one box. `ask` sends a question with the target's name; `answer` delivers the answer."""

    def __init__(self, hosts: Iterable[str], trusted: Iterable[str], ask: Callable[[str], None]) -> None:
        self._hosts = HostList(hosts)
        # Endpoints that a person has configured, which may have any address.
        self._trusted = frozenset(trusted)
        self._ask = ask
        self._questions: dict[str, asyncio.Future[Verdict]] = {}
        self._answers: dict[str, Verdict] = {}

    def is_trusted(self, target: Target) -> bool:
        """Returns whether a target may be an address, or a name for one that is not public."""
        return target.endpoint in self._trusted

    async def decide(self, target: Target) -> Verdict:
        """Returns whether a connection is allowed. Waits for a person's answer, but not forever."""
        if self.is_trusted(target):
            return Verdict(True)
        if is_loopback(target.host):
            return Verdict(False, LOCAL)
        if is_address(target.host):
            return Verdict(False, ADDRESS)
        if target in self._hosts:
            return Verdict(True)
        if (known := self._answers.get(target.name)) is not None:
            return known
        return await self._question(target.name)

    def answer(self, name: str, *, allowed: bool, reason: str, remembered: bool) -> None:
        """Takes the server's answer about a host; it counts until the next prompt, unless it is not remembered."""
        verdict = Verdict(allowed, reason)
        if remembered and (name in self._answers or len(self._answers) < MOST_ANSWERS):
            self._answers[name] = verdict
        question = self._questions.pop(name, None)
        if question is not None and not question.done():
            question.set_result(verdict)

    def reset(self, hosts: Iterable[str]) -> None:
        """Takes the list of a new prompt, and forgets the answers that were given for the last one."""
        self._hosts = HostList(hosts)
        self._answers.clear()

    async def _question(self, name: str) -> Verdict:
        question = self._questions.get(name)
        if question is None:
            if len(self._questions) >= MOST_QUESTIONS:
                return Verdict(False, TOO_MANY)
            question = self._questions[name] = asyncio.get_running_loop().create_future()
            self._ask(name)
        try:
            async with asyncio.timeout(HOLD):
                return await asyncio.shield(question)
        except TimeoutError:
            return Verdict(False, STILL_ASKED)
