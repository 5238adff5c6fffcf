"""Moves bytes between a shell and its viewers until the shell and everything that it started are gone."""

import contextlib
import functools
import hashlib
import hmac
import os
import selectors
import signal
import socket
import time
from typing import Any

from bough.agents.keeper import files, frames, process_tree
from bough.agents.keeper.end_agent import AgentEnding
from bough.agents.keeper.frames import Frame
from bough.agents.keeper.server_connection import peer
from bough.agents.pty_keeper import protocol
from bough.agents.pty_keeper.scrollback import Scrollback
from bough.agents.pty_keeper.shell import INPUT_LIMIT, Shell
from bough.agents.pty_keeper.viewer import Viewer

FOLDER_CHECK = 2.0
"""Seconds between checks of the folder. Deleting it ends the shell, which is not urgent."""
GRACE = 1.0
"""Seconds that programs get after SIGHUP, and again after SIGTERM."""
FAREWELL = 2.0
"""Seconds that viewers get to read the last output."""
WINDOW = 256 * 1024
"""Bytes that every viewer may be behind before the shell has to wait for one of them."""
PATIENCE = 5.0
"""Seconds that the shell waits for viewers of which none reads. They then skip what is no longer held."""
MOST_VIEWERS = 32
UNREADABLE = (ValueError, KeyError, TypeError)
"""The errors that a malformed frame raises."""


class TerminalLoop:
    """Runs until the shell has ended: by itself, on request, after the idle limit, or because the folder is gone."""

    def __init__(
        self,
        folder: int,
        listener: socket.socket,
        shell: Shell,
        key_hash: str,
        idle_limit: float | None,
        keeps_output: bool = False,
    ) -> None:
        self._folder = folder
        self._listener = listener
        self._shell = shell
        self._key_hash = key_hash
        self._idle_limit = idle_limit
        self._keeps_output = keeps_output
        self._me = process_tree.find(os.getpid()) or process_tree.Process(os.getpid(), 0)
        self._scrollback = Scrollback()
        self._viewers: list[Viewer] = []
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ, self._accept)
        self._reason: str | None = None
        self._ending: AgentEnding | None = None
        self._childless = False
        self._exit_at: float | None = None
        now = time.monotonic()
        self._folder_seen = self._active_at = self._read_at = now
        # When there was last room for input.
        self._room_at = now
        wake, alarm = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(alarm, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, self._on_signal)
        self._terminated = False
        self._selector.register(wake, selectors.EVENT_READ, lambda: os.read(wake, 4096))

    def run(self) -> None:
        """Runs until the shell has ended and its viewers have been told."""
        while not self._over():
            self._watch()
            for key, _ in self._selector.select(self._patience(time.monotonic())):
                key.data()
            self._tick(time.monotonic())

    def _on_signal(self, number: int, frame: object) -> None:
        """Notes a signal. It wakes the loop, which acts on it."""
        self._terminated |= number == signal.SIGTERM

    def _over(self) -> bool:
        if self._exit_at is None:
            return False
        return not any(viewer.behind for viewer in self._viewers) or time.monotonic() >= self._exit_at + FAREWELL

    def _patience(self, now: float) -> float:
        waits = [self._folder_seen + FOLDER_CHECK - now]
        if self._ending is not None and not self._ending.done:
            waits.append(self._ending.patience(now))
        return max(0.0, min(waits))

    def _watch(self) -> None:
        """Sends to every viewer what it takes, and chooses what to wait for."""
        now = time.monotonic()
        if self._shell.waiting < INPUT_LIMIT:
            self._room_at = now
        for viewer in list(self._viewers):
            if viewer.pump():
                self._read_at = now
            if viewer.gone:
                self._drop(viewer)
                continue
            events = selectors.EVENT_WRITE if viewer.behind else 0
            if self._listens_to(viewer):
                events |= selectors.EVENT_READ
            self._set_events(viewer.sock, events, functools.partial(self._serve, viewer))
        events = selectors.EVENT_WRITE if self._shell.waiting else 0
        if not self._stalled(now):
            events |= selectors.EVENT_READ
        self._set_events(self._shell.fd, 0 if self._shell.hung_up else events, self._move)

    def _listens_to(self, viewer: Viewer) -> bool:
        """Whether to read from a viewer: what is typed waits while the shell does not read."""
        return viewer.place is None or self._shell.waiting < INPUT_LIMIT

    def _stalled(self, now: float) -> bool:
        """Whether the shell has to wait, because every viewer is behind and one of them still reads."""
        viewers = [viewer for viewer in self._viewers if viewer.place is not None]
        if not viewers or any(viewer.lag < WINDOW for viewer in viewers):
            self._read_at = now
            return False
        return now < self._read_at + PATIENCE

    def _set_events(self, file: socket.socket | int, events: int, act: Any) -> None:
        known = self._selector.get_map().get(file)
        if known is None and events:
            self._selector.register(file, events, act)
        elif known is not None and not events:
            self._selector.unregister(file)
        elif known is not None and known.events != events:
            self._selector.modify(file, events, act)

    def _move(self) -> None:
        """Moves bytes between the terminal and what waits for it."""
        self._shell.write()
        if not self._stalled(time.monotonic()):
            self._take(self._shell.read())

    def _take(self, data: bytes) -> None:
        if data:
            self._active_at = time.monotonic()
            self._scrollback.add(data)

    def _accept(self) -> None:
        try:
            sock, _ = self._listener.accept()
        except OSError:
            return
        viewer = Viewer(sock, self._scrollback)
        self._viewers.append(viewer)
        if peer(sock)[1] != os.getuid():
            viewer.refuse("denied", "This keeper serves only its own user.")
        elif len(self._viewers) > MOST_VIEWERS:
            viewer.refuse("too_many", f"This terminal has {MOST_VIEWERS} viewers. Close one of them.")

    def _serve(self, viewer: Viewer) -> None:
        if viewer not in self._viewers or not self._listens_to(viewer):
            return
        try:
            for frame in viewer.read():
                if viewer.place is None:
                    self._welcome(viewer, frame)
                else:
                    self._act(frame)
                if viewer.gone:
                    break
        except UNREADABLE as error:
            viewer.refuse("protocol", f"This keeper (version {protocol.VERSION}) cannot read a frame: {error!r}.")
        if viewer.gone:
            self._drop(viewer)

    def _welcome(self, viewer: Viewer, frame: Frame) -> None:
        hello: dict[str, Any] = frame.text() if frame.head.kind == frames.HELLO else {}
        key = hello.get("key")
        key_hash = hashlib.sha256(key.encode(errors="replace") if isinstance(key, str) else b"").hexdigest()
        if not hmac.compare_digest(key_hash, self._key_hash):
            viewer.refuse("denied", "This keeper serves only the server that started it.")
        elif hello.get("version") != protocol.VERSION:
            viewer.refuse("version", f"This terminal was opened by another version of Bough ({protocol.VERSION}).")
        else:
            self._active_at = time.monotonic()
            tail = hello.get("tail")
            viewer.welcome(self._shell.columns, self._shell.rows, tail if isinstance(tail, int) and tail >= 0 else None)

    def _act(self, frame: Frame) -> None:
        """Carries out a viewer's request."""
        self._active_at = time.monotonic()
        if frame.head.kind == protocol.INPUT:
            self._shell.put(frame.payload)
        elif frame.head.kind == protocol.RESIZE:
            size = frame.text()
            columns, rows = protocol.bounded(size["columns"]), protocol.bounded(size["rows"])
            if self._shell.resize(columns, rows):
                for viewer in self._viewers:
                    if viewer.place is not None:
                        viewer.queue(frames.message(protocol.SIZE, columns=columns, rows=rows))
        elif frame.head.kind == frames.END:
            self._end("ended")

    def _drop(self, viewer: Viewer) -> None:
        self._set_events(viewer.sock, 0, None)
        viewer.sock.close()
        self._viewers.remove(viewer)
        self._active_at = time.monotonic()

    def _end(self, reason: str) -> None:
        if self._ending is None:
            self._reason = reason
            self._shell.hang_up()
            self._ending = AgentEnding(self._me, GRACE, time.monotonic())

    def _tick(self, now: float) -> None:
        """Does everything that is due, whatever woke the loop."""
        if now >= self._folder_seen + FOLDER_CHECK:
            self._folder_seen = now
            if not os.access(files.KEEPER, os.F_OK, dir_fd=self._folder):
                self._end("ended")
            if now >= self._room_at + PATIENCE:
                # Nothing is read from viewers meanwhile, and the rest of what those typed that left is dropped.
                for viewer in [viewer for viewer in self._viewers if viewer.left]:
                    self._drop(viewer)
            if self._idle_limit is not None and not self._viewers and now >= self._active_at + self._idle_limit:
                self._end("idle")
        if self._terminated:
            self._end("ended")
        self._reap()
        if self._shell.status is not None or self._shell.hung_up:
            # What a terminal started ends with it: none of it may keep running in a folder that will be removed.
            self._end("exited")
        if self._ending is not None and not self._ending.done:
            self._ending.tick(now, agent_gone=self._shell.status is not None, childless=self._childless)
        if self._ending is not None and self._ending.done and self._exit_at is None:
            self._conclude(now)

    def _reap(self) -> None:
        """Reaps every child that has ended. Orphans of the shell are children of the keeper."""
        try:
            while (child := os.waitpid(-1, os.WNOHANG))[0]:
                if child[0] == self._shell.pid:
                    self._shell.status = os.waitstatus_to_exitcode(child[1])
        except ChildProcessError:
            self._childless = True

    def _conclude(self, now: float) -> None:
        """Reads the last output and announces the end."""
        while not self._shell.hung_up and (data := self._shell.read()):
            self._take(data)
        self._exit_at = now
        exit = {"code": self._shell.status, "reason": self._reason}
        if os.access(files.KEEPER, os.F_OK, dir_fd=self._folder):
            if self._keeps_output:
                self._write_output()
            files.write_json(self._folder, files.EXIT, exit)
        for viewer in self._viewers:
            viewer.send_last(frames.message(frames.EXIT, **exit))

    def _write_output(self) -> None:
        """Writes what is still held to a file that only its owner reads. On a full disk the end counts, not the log."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        start, end = self._scrollback.beginning(), self._scrollback.end
        with (
            contextlib.suppress(OSError),
            open(os.open(protocol.OUTPUT_FILE, flags, 0o600, dir_fd=self._folder), "wb") as file,
        ):
            file.write(self._scrollback.read(start, end - start))
