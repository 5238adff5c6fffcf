"""Ends an agent and everything that it started, in bounded steps: EOF, SIGTERM, then SIGKILL until nothing is left.

The keeper is the subreaper of all processes that its agent starts. Every living one, in whatever session, is therefore
a child or a descendant of the keeper: once the kernel reports no children, the whole tree is gone.
"""

import signal

from bough.agents.keeper import process_tree

GRACE = 3.0
"""Seconds for each polite step unless the server says otherwise. The slowest known agent exits 2 s after EOF."""
KILL_WAIT = 5.0
"""Seconds for the kernel to remove killed processes; only one stuck in the kernel needs longer."""
POLL = 0.05
"""Seconds between rounds of SIGKILL, since a process may start another one in between."""


class AgentEnding:
    """The end of one agent, step by step."""

    def __init__(
        self, keeper: process_tree.Process, grace: float, now: float, box: process_tree.Process | None = None
    ) -> None:
        self._keeper = keeper
        # The sandbox around the agent. It ends after the agent, and its own end kills everything inside at once.
        self._box = box
        self._steps = [(signal.SIGKILL, KILL_WAIT), (signal.SIGTERM, grace)]
        self._signal: signal.Signals | None = None
        self._deadline = now + grace
        self.done = False
        self.left: list[int] = []
        """The processes that survived even SIGKILL."""

    def patience(self, now: float) -> float:
        """Returns the seconds until `tick` has something to do, unless a child ends before."""
        wait = self._deadline - now
        return min(wait, POLL) if self._signal is signal.SIGKILL else wait

    def tick(self, now: float, *, agent_gone: bool, childless: bool) -> None:
        """Takes the next step if it is due."""
        if childless:
            self.done = True
            return
        if now >= self._deadline or (agent_gone and self._signal is None):
            if not self._steps:
                self.done = True
                self.left = [process.pid for process in self._tree()]
                return
            self._signal, wait = self._steps.pop()
            self._deadline = now + wait
            spared = self._box if self._signal is signal.SIGTERM and not agent_gone else None
            process_tree.send_signal([process for process in self._tree() if process != spared], self._signal)
        elif self._signal is signal.SIGKILL:
            process_tree.send_signal(self._tree(), self._signal)

    def _tree(self) -> list[process_tree.Process]:
        return [process for process in process_tree.family(self._keeper) if process != self._keeper]
