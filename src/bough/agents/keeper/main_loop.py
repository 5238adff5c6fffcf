"""A keeper at work: one loop between an agent, its journal and the desk, until the agent is gone and it may leave.
It leaves the start of the program to `__main__`, and talking to the server to the desk."""

import os
import selectors
import signal
import socket
import time
from typing import Any

from bough.agents.keeper import files, process_tree
from bough.agents.keeper.agent_process import AgentProcess
from bough.agents.keeper.dispatch import Dispatcher
from bough.agents.keeper.end_agent import GRACE, AgentEnding
from bough.agents.keeper.journal import Journal

FOLDER_CHECK = 2.0
"""Seconds between looks at the folder: whoever deletes it wants the agent gone, but is in no hurry."""
ALONE = 24 * 3600.0
"""Seconds without a server after which a keeper gives up: nobody will come back for this turn."""
FAREWELL = 2.0
"""Seconds that a server gets to read the end of it all; it can read it in the folder, too."""
LINGER = 10.0
"""Seconds that a keeper without a server stays after its agent: whoever has just started it is about to attach."""
DISK_PATIENCE = 5.0
"""Seconds that a keeper that is to leave waits for room for its agent's last words; then they are given up, and said
to be: a server that ends an agent waits twice as long before it kills."""
HASTE = 1.0
"""Seconds at each polite step for an agent that no longer makes sense."""


class KeeperLoop:
    """Runs until its agent has ended: by itself, because that was asked for, or for want of a server or a folder."""

    def __init__(self, folder: int, listener: socket.socket, journal: Journal, agent: AgentProcess) -> None:
        self._folder = folder
        self._journal = journal
        self._agent = agent
        self._me = process_tree.find(os.getpid()) or process_tree.Process(os.getpid(), 0)
        self._selector = selectors.DefaultSelector()
        self._desk = Dispatcher(self._selector, listener, journal, agent, self._leave)
        self._disk = self._desk.disk
        self._ending: AgentEnding | None = None
        self._childless = False
        self._leaving = False
        self._terminated = False
        self._done_at: float | None = None  # when nothing was left of the agent
        self._exit_at: float | None = None  # when that was written down
        self._folder_seen = time.monotonic()
        self._open: dict[int, int] = {  # what we wait for at each pipe; at first, nothing
            agent.output.fd: 0,
            agent.errors.fd: 0,
            agent.input.fd: 0,
        }
        wake, alarm = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(alarm, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, self._hear)
        signal.signal(signal.SIGTERM, self._hear)
        self._selector.register(wake, selectors.EVENT_READ, lambda: os.read(wake, 4096))

    def run(self) -> None:
        """Serves to the end."""
        while not self._over():
            self._watch_pipes()
            for key, _ in self._selector.select(self._patience(time.monotonic())):
                key.data()
            self._tick(time.monotonic())

    def _hear(self, number: int, frame: object) -> None:
        """Takes a signal, between any two steps of ours; the loop is woken, and acts on it."""
        self._terminated |= number == signal.SIGTERM

    def _patience(self, now: float) -> float:
        waits = [self._folder_seen + FOLDER_CHECK - now]
        if self._disk.trouble:
            waits.append(self._disk.patience(now))
        if self._ending is not None and not self._ending.done:
            waits.append(self._ending.patience(now))
        if self._exit_at is not None:
            waits.append(self._exit_at + self._stay() - now)
        return max(0.0, min(waits))

    def _stay(self) -> float:
        """Seconds that we stay at most once all is over."""
        return LINGER if self._desk.alone and not self._leaving else FAREWELL

    def _over(self) -> bool:
        if self._exit_at is None:
            return False
        told = not self._desk.busy and (self._leaving or not self._desk.alone)
        return told or time.monotonic() >= self._exit_at + self._stay()

    def _tick(self, now: float) -> None:
        """Does what is due, whatever woke us."""
        if now >= self._folder_seen + FOLDER_CHECK:
            self._folder_seen = now
            if not os.access(files.KEEPER, os.F_OK, dir_fd=self._folder):
                self._leave(GRACE)
        if self._terminated or (self._desk.alone and now >= self._desk.alone_since + ALONE):
            self._leave(GRACE)
        self._disk.retry(now)
        self._reap()
        if self._exit_at is None:
            self._bring_to_an_end(now)
        self._desk.pump()

    # The pipes of the agent

    def _watch_pipes(self) -> None:
        """Waits at each pipe only as long as something can be done with it."""
        output, errors, stdin = self._agent.output, self._agent.errors, self._agent.input
        deaf = output.ended or output.stalled or bool(self._disk.trouble)
        self._watch(output.fd, 0 if deaf else selectors.EVENT_READ, self._read)
        self._watch(errors.fd, selectors.EVENT_READ if not errors.ended else 0, errors.read)
        self._watch(stdin.fd, selectors.EVENT_WRITE if stdin.size else 0, stdin.write)
        if stdin.shut and not stdin.size:
            self._close(stdin.fd)

    def _watch(self, fd: int, events: int, action: Any) -> None:
        before = self._open.get(fd)
        if before is None or before == events:
            return
        if before:
            self._selector.unregister(fd)
        if events:
            self._selector.register(fd, events, action)
        self._open[fd] = events

    def _close(self, fd: int) -> None:
        self._watch(fd, 0, None)
        if self._open.pop(fd, None) is not None:
            os.close(fd)

    def _read(self) -> None:
        self._disk.run(self._agent.output.read, self._agent.output.retry)
        if self._agent.output.overflow:
            self._desk.note("line_too_long", "The agent wrote a line of more than 64 MiB, and is ended for it.")
            self._begin_the_end(HASTE)

    # The end

    def _leave(self, grace: float) -> None:
        """Ends the agent, and then ourselves."""
        self._leaving = True
        self._begin_the_end(grace)

    def _begin_the_end(self, grace: float) -> None:
        if self._ending is None:
            self._ending = AgentEnding(self._me, grace, time.monotonic())
            self._agent.input.stop()

    def _reap(self) -> None:
        """Takes note of every child that has ended; orphans of the agent are our children."""
        try:
            while (child := os.waitpid(-1, os.WNOHANG))[0]:
                if child[0] == self._agent.pid:
                    self._agent.status = os.waitstatus_to_exitcode(child[1])
        except ChildProcessError:
            self._childless = True

    def _bring_to_an_end(self, now: float) -> None:
        """Takes the next step, if the agent is to end or has ended by itself, or can no longer be heard."""
        gone = self._agent.status is not None
        if gone or self._agent.output.ended:
            self._begin_the_end(GRACE)
        if self._ending is not None and not self._ending.done:
            self._ending.tick(now, agent_gone=gone, childless=self._childless)
        if self._ending is None or not self._ending.done:
            return
        self._done_at = self._done_at or now
        if not self._disk.trouble:
            self._disk.run(self._conclude)
        elif self._leaving and now >= self._done_at + DISK_PATIENCE:
            last = self._journal.next - 1
            self._desk.note("lines_lost", f"What the agent said after line {last} is lost: there is no room for it.")
            self._tell_the_end(self._exit("disk_full"))

    def _conclude(self) -> None:
        """Nothing is left of the agent: takes its last words, and tells how it ended. OSError when the disk is full."""
        if self._exit_at is not None:
            return  # the disk is free again, but it was too late
        self._agent.output.retry()
        self._agent.drain()
        exit = self._exit("line_too_long" if self._agent.output.overflow else None)
        if os.access(files.KEEPER, os.F_OK, dir_fd=self._folder):
            files.write_json(self._folder, files.EXIT, exit)
        self._tell_the_end(exit)

    def _exit(self, reason: str | None) -> dict[str, Any]:
        status = self._agent.status
        return {
            "code": status if status is not None and status >= 0 else None,
            "signal": -status if status is not None and status < 0 else None,
            "stderr": self._agent.errors.tail().decode(errors="replace"),
            "reason": reason,
            "left": self._ending.left if self._ending is not None else [],
            "last": self._journal.next - 1,
            "time": time.time(),
        }

    def _tell_the_end(self, exit: dict[str, Any]) -> None:
        if exit["left"]:
            self._desk.note("not_gone", f"Processes {exit['left']} of the agent did not end, not even when killed.")
        self._agent.input.stop(now=True)
        for fd in list(self._open):
            self._close(fd)
        self._exit_at = time.monotonic()
        self._desk.conclude(exit)
