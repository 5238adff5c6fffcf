"""Answers the proxy of a strict sandbox: which hosts an agent may reach, by the session's list or by an approval."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
import structlog

from bough.agents.link import Link, NetworkLink
from bough.agents.network.gate import UNASKED
from bough.agents.network.hosts import BadHost, HostList, is_endpoint, parse_pattern, parse_target
from bough.core.approvals.kinds import NETWORK
from bough.core.live_agents.start.confinement import is_strict_box
from bough.core.policy.allowed_hosts import allowed_hosts
from bough.core.store import records
from bough.core.store.sql import TASKS
from bough.core.store.transactions import Change, Store
from bough.core.store.until_available import until_available
from bough.model.approval import Approval
from bough.model.task import IN_FLIGHT, Task
from bough.settings import Settings
from bough.storage.backend import Tx

if TYPE_CHECKING:
    from bough.core.live_agents.agent import Agent

log = structlog.get_logger("bough.network")

DENIED = "A person has denied it."
OVER = "The turn in which a person was asked about it is over."


class AgentHosts:
    """The hosts that one agent's proxy has asked about, and the way to answer it."""

    def __init__(self, session_id: str, link: Link) -> None:
        self._session_id = session_id
        self._link = link if isinstance(link, NetworkLink) else None
        # The hosts that wait for an approval, by its id.
        self._waiting: dict[str, str] = {}

    @property
    def waiting(self) -> list[str]:
        """The approvals that connections wait for."""
        return list(self._waiting)

    def listen(self, asked: Callable[[str], None]) -> None:
        """Calls `asked` with each host that the proxy asks about, and logs its decisions."""

        def take(message: dict[str, Any]) -> None:
            host: Any = message.get("ask")
            entry: Any = message.get("log")
            if host is not None:
                asked(str(host))
            if entry is not None:
                log.info("connection", session=self._session_id, **msgspec.convert(entry, dict[str, str]))

        if self._link is not None:
            self._link.on_network(take)

    def remember(self, approval_id: str, host: str) -> None:
        """Remembers the host that an approval is about."""
        self._waiting[approval_id] = host

    def answer(self, approval: Approval) -> None:
        """Sends a decision to the proxy, if a connection still waits for it."""
        host = self._waiting.pop(approval.id, None)
        if host is None:
            return
        if approval.status == "cancelled":
            self.reply(host, allow=False, reason=OVER, keep=False)
        elif approval.decision == "deny":
            by: dict[str, Any] = msgspec.json.decode(approval.decided_by or b"{}")
            reason = by.get("because") or (DENIED if by.get("kind") == "person" else approval.reason)
            self.reply(host, allow=False, reason=str(reason))
        else:
            self.reply(host, allow=True)

    def forget(self) -> None:
        """Refuses everything that waits, because the turn is over."""
        for host in self._waiting.values():
            self.reply(host, allow=False, reason=OVER, keep=False)
        self._waiting.clear()

    def reset(self, hosts: list[str], *, same_turn: bool = False) -> None:
        """Sends the list of hosts for a new prompt, which forgets answers to questions of earlier ones, or a list that
        a person has changed in the same turn. Connections to hosts that are no longer allowed end."""
        if self._link is not None:
            names = [host for host in hosts if not is_endpoint(host)]
            self._link.send_hosts({"hosts": names, "same_turn": same_turn})

    def reply(self, host: str, *, allow: bool, reason: str = "", keep: bool = True) -> None:
        """Answers the proxy. It remembers the answer until the next prompt if `keep` is set."""
        if self._link is not None:
            self._link.send_hosts({"answer": host, "allow": allow, "reason": reason, "keep": keep})


class HostQuestions:
    """Turns questions of proxies into approvals."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings

    async def refresh(self, agents: Iterable[Agent]) -> None:
        """Sends the list of hosts to the proxies of running agents, because a person has changed it."""
        for agent in agents:

            async def work(tx: Tx, agent: Agent = agent) -> list[str] | None:
                session = await records.session(tx, agent.session_id)
                return await allowed_hosts(tx, agent.entry, session, self._settings) if is_strict_box(session) else None

            hosts = await until_available(partial(self._store.read, work), "a changed list of hosts")
            if hosts is not None:
                agent.hosts.reset(hosts, same_turn=True)

    async def ask(self, agent: Agent, host: str) -> Approval | None:
        """Returns the approval that a connection waits for, after the proxy was told so; None if the proxy was answered
        at once: the host is on the list by now, or no turn is running in which a person could be asked."""
        try:
            if is_endpoint(host) or parse_pattern(host) != host:
                raise BadHost("It is not a host name.")
            target = parse_target(host, 443)
        except BadHost as error:
            agent.hosts.reply(host, allow=False, reason=str(error))
            return None

        async def work(change: Change) -> Approval | bool:
            session = await records.session(change.tx, agent.session_id)
            if target in HostList(await allowed_hosts(change.tx, agent.entry, session, self._settings)):
                return True
            open_tasks = await change.tx.all(TASKS.open, Task, session_id=session.id)
            task = next((task for task in open_tasks if task.status in IN_FLIGHT and task.status != "stopping"), None)
            return False if task is None else await NETWORK.ask(change, session, task, host, self._settings)

        outcome = await until_available(lambda: self._store.write(work), "a host that an agent wants to reach")
        if isinstance(outcome, Approval):
            agent.hosts.remember(outcome.id, host)
            return outcome
        agent.hosts.reply(host, allow=outcome, reason="" if outcome else UNASKED, keep=outcome)
        return None
