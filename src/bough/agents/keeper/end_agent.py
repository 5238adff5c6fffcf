"""Ends an agent and everything that it started, in bounded steps: EOF, SIGTERM, SIGKILL until nothing is left.
It leaves reaping, and telling anyone about it, to the service.

The keeper is the subreaper of all that its agent starts. So whatever lives of it, in whichever session, is a child of
the keeper or has an ancestor that is: when the kernel says that there are no children, the whole tree is gone.
"""

import signal

from bough.agents.keeper import process_tree

GRACE = 3.0
"""Seconds at each polite step unless the server says otherwise: the slowest known agent leaves 2 s after EOF."""
KILL_WAIT = 5.0
"""Seconds for the kernel to take away killed processes; only one stuck in the kernel needs longer."""
POLL = 0.05
"""Seconds between rounds of SIGKILL: a process may start another while we look."""


class AgentEnding:
    """One agent's end, a step at a time."""

    def __init__(self, keeper: process_tree.Process, grace: float, now: float) -> None:
        self._keeper = keeper
        self._steps = [(signal.SIGKILL, KILL_WAIT), (signal.SIGTERM, grace)]
        self._signal: signal.Signals | None = None
        self._deadline = now + grace
        self.done = False
        self.left: list[int] = []
        """Processes that did not go away even so."""

    def patience(self, now: float) -> float:
        """Seconds until `tick` has something to do, if no child ends before."""
        wait = self._deadline - now
        return min(wait, POLL) if self._signal is signal.SIGKILL else wait

    def tick(self, now: float, *, agent_gone: bool, childless: bool) -> None:
        """Takes the next step if it is time."""
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
            process_tree.send_signal(self._tree(), self._signal)
        elif self._signal is signal.SIGKILL:
            process_tree.send_signal(self._tree(), self._signal)

    def _tree(self) -> list[process_tree.Process]:
        return [process for process in process_tree.family(self._keeper) if process != self._keeper]
