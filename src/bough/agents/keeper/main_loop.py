"""Runs the keeper's main loop between the agent, the journal and the server, until the agent is gone."""

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
from bough.agents.keeper.network import NetworkProxy

FOLDER_CHECK = 2.0
"""Seconds between checks of the folder. Deleting it ends the agent, which is not urgent."""
ALONE = 24 * 3600.0
"""Seconds without a server after which a keeper gives up, since no server will come back for this turn."""
FAREWELL = 2.0
"""Seconds that a server gets to read the final frames. It finds them in the folder, too."""
LINGER = 10.0
"""Seconds that a keeper without a server stays after its agent: the server that started it may be about to attach."""
DISK_PATIENCE = 5.0
"""Seconds that a leaving keeper waits for disk space for its agent's last lines. Then it drops them and reports that.
A server that ends an agent waits twice as long before it kills the keeper."""
HASTE = 1.0
"""Seconds for each polite step with an agent that misbehaves."""


class KeeperLoop:
    """Runs until the agent has ended: by itself, on request, or because the server or the folder is gone."""

    def __init__(
        self,
        folder: int,
        listener: socket.socket,
        journal: Journal,
        agent: AgentProcess,
        key_hash: str | None,
        proxy: NetworkProxy | None = None,
    ) -> None:
        self._folder = folder
        self._journal = journal
        self._agent = agent
        self._me = process_tree.find(os.getpid()) or process_tree.Process(os.getpid(), 0)
        self._selector = selectors.DefaultSelector()
        self._dispatcher = Dispatcher(self._selector, listener, journal, agent, self._leave, key_hash, proxy)
        self._disk = self._dispatcher.disk
        self._proxy = proxy
        if proxy is not None:
            self._selector.register(proxy.sock, selectors.EVENT_READ, self._read_proxy)
        self._ending: AgentEnding | None = None
        self._childless = False
        self._leaving = False
        self._terminated = False
        self._done_at: float | None = None  # When all processes of the agent were gone.
        self._exit_at: float | None = None  # When that was written down.
        self._folder_seen = time.monotonic()
        self._open: dict[int, int] = {  # The events that are watched for each open pipe.
            agent.output.fd: 0,
            agent.errors.fd: 0,
            agent.input.fd: 0,
        }
        wake, alarm = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(alarm, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, self._on_signal)
        signal.signal(signal.SIGTERM, self._on_signal)
        self._selector.register(wake, selectors.EVENT_READ, lambda: os.read(wake, 4096))

    def run(self) -> None:
        """Runs to the end."""
        while not self._over():
            self._watch_pipes()
            for key, _ in self._selector.select(self._patience(time.monotonic())):
                key.data()
            self._tick(time.monotonic())

    def _on_signal(self, number: int, frame: object) -> None:
        """Notes a signal. It may arrive between any two steps; it wakes the loop, which acts on it."""
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
        """Returns the seconds that the keeper stays at most after the agent's end was written down."""
        return LINGER if self._dispatcher.alone and not self._leaving else FAREWELL

    def _over(self) -> bool:
        if self._exit_at is None:
            return False
        delivered = not self._dispatcher.busy and (self._leaving or not self._dispatcher.alone)
        return delivered or time.monotonic() >= self._exit_at + self._stay()

    def _tick(self, now: float) -> None:
        """Does everything that is due, whatever woke the loop."""
        if now >= self._folder_seen + FOLDER_CHECK:
            self._folder_seen = now
            if not os.access(files.KEEPER, os.F_OK, dir_fd=self._folder):
                self._leave(GRACE)
        if self._terminated or (self._dispatcher.alone and now >= self._dispatcher.alone_since + ALONE):
            self._leave(GRACE)
        self._disk.retry(now)
        if self._proxy is not None and not self._proxy.gone:
            self._proxy.pump()
            self._dispatcher.answer_alone(now)
        self._reap()
        if self._exit_at is None:
            self._advance_end(now)
        self._dispatcher.pump()

    # The pipes of the agent

    def _watch_pipes(self) -> None:
        """Watches each pipe only while something can be done with it."""
        output, errors, stdin = self._agent.output, self._agent.errors, self._agent.input
        paused = output.ended or output.stalled or bool(self._disk.trouble)
        self._watch(output.fd, 0 if paused else selectors.EVENT_READ, self._read)
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
            self._dispatcher.note("line_too_long", "The agent wrote a line of more than 64 MiB and is ended.")
            self._begin_end(HASTE)

    def _read_proxy(self) -> None:
        """Handles what the proxy of a strict box sends. An agent whose proxy has ended is ended, because it has no
        network; its turn continues with a new one."""
        assert self._proxy is not None
        for message in self._proxy.read():
            self._dispatcher.pass_on(message)
        if self._proxy.gone:
            self._selector.unregister(self._proxy.sock)
            self._proxy.sock.close()
            if self._agent.status is None and self._ending is None:
                self._dispatcher.note(
                    "network_lost", "The proxy of the agent's sandbox has ended, so the agent is ended."
                )
                self._begin_end(HASTE)

    # The end

    def _leave(self, grace: float) -> None:
        """Ends the agent, then the keeper."""
        self._leaving = True
        self._begin_end(grace)

    def _begin_end(self, grace: float) -> None:
        if self._ending is None:
            self._ending = AgentEnding(
                self._me, grace, time.monotonic(), box=self._agent.process if self._agent.boxed else None
            )
            self._agent.input.stop()

    def _reap(self) -> None:
        """Reaps every child that has ended. Orphans of the agent are children of the keeper."""
        try:
            while (child := os.waitpid(-1, os.WNOHANG))[0]:
                if child[0] == self._agent.pid:
                    self._agent.ended(child[1])
        except ChildProcessError:
            self._childless = True

    def _advance_end(self, now: float) -> None:
        """Takes the next step towards the end, if the agent has ended, is to end or has closed its output."""
        gone = self._agent.status is not None
        if gone or self._agent.output.ended:
            self._begin_end(GRACE)
        if self._ending is not None and not self._ending.done:
            self._ending.tick(now, agent_gone=gone, childless=self._childless)
        if self._ending is None or not self._ending.done:
            return
        self._done_at = self._done_at or now
        if not self._disk.trouble:
            self._disk.run(self._conclude)
        elif self._leaving and now >= self._done_at + DISK_PATIENCE:
            last = self._journal.next - 1
            self._dispatcher.note(
                "lines_lost", f"The agent's output after line {last} is lost, because the disk is full."
            )
            self._announce_end(self._exit("disk_full"))

    def _conclude(self) -> None:
        """Journals the last output of a gone agent and announces its end. Raises OSError if the disk is full."""
        if self._exit_at is not None:
            return  # The disk has room again, but the end was already announced.
        self._agent.output.retry()
        self._agent.drain()
        exit = self._exit("line_too_long" if self._agent.output.overflow else None)
        if os.access(files.KEEPER, os.F_OK, dir_fd=self._folder):
            files.write_json(self._folder, files.EXIT, exit)
        self._announce_end(exit)

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

    def _announce_end(self, exit: dict[str, Any]) -> None:
        if exit["left"]:
            self._dispatcher.note(
                "not_gone", f"Processes {exit['left']} of the agent could not be ended, not even by SIGKILL."
            )
        self._agent.input.stop(now=True)
        for fd in list(self._open):
            self._close(fd)
        self._exit_at = time.monotonic()
        self._dispatcher.conclude(exit)
