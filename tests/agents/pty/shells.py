"""Starts terminals for tests, types into them and reads what they print."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path

from bough.agents.keeper_client import keeper_folder
from bough.agents.keeper_client.keeper_folder import KeeperInfo
from bough.agents.pty_client.start_terminal import attach_terminal, end_terminal, start_terminal
from bough.agents.pty_client.terminal_link import Output, Resized, TerminalEnd, TerminalLink

PATIENCE = 40.0


class Viewed:
    """One viewer, and everything that it was told."""

    def __init__(self, link: TerminalLink) -> None:
        self.link = link
        self.printed = b""
        self.skipped = 0
        self.sizes: list[tuple[int, int]] = []
        self.ended: TerminalEnd | None = None

    async def type(self, text: str) -> None:
        await self.link.send(text.encode())

    async def step(self) -> None:
        news = await self.link.receive()
        if isinstance(news, Output):
            self.printed += news.data
            self.skipped += news.skipped
        elif isinstance(news, Resized):
            self.sizes.append((news.columns, news.rows))
        else:
            self.ended = news

    async def until(self, text: str) -> None:
        """Reads until this was printed."""
        try:
            async with asyncio.timeout(PATIENCE):
                while text.encode() not in self.printed:
                    assert self.ended is None, self.printed
                    await self.step()
        except TimeoutError:
            raise AssertionError(f"{text!r} was not printed: {self.printed!r}") from None

    async def until_end(self) -> TerminalEnd:
        async with asyncio.timeout(PATIENCE):
            while self.ended is None:
                await self.step()
        return self.ended


class Shells:
    """A folder of terminals, all of which end with the test."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / "work"
        self.folder.mkdir()
        self._viewers: list[Viewed] = []

    async def start(self, name: str = "one", *, idle_limit: float | None = None) -> Viewed:
        await start_terminal(
            self.root / "terminals", name, cwd=str(self.folder), columns=80, rows=24, idle_limit=idle_limit
        )
        return await self.attach(name)

    async def attach(self, name: str = "one") -> Viewed:
        viewer = Viewed(await attach_terminal(self.place(name)))
        self._viewers.append(viewer)
        return viewer

    def place(self, name: str = "one") -> Path:
        return self.root / "terminals" / name

    def info(self, name: str = "one") -> KeeperInfo:
        info = keeper_folder.read_info(self.place(name))
        assert info is not None
        return info


@contextlib.asynccontextmanager
async def shells_in(root: Path) -> AsyncGenerator[Shells]:
    shells = Shells(root)
    try:
        yield shells
    finally:
        for viewer in shells._viewers:  # pyright: ignore[reportPrivateUsage]
            await viewer.link.close()
        for folder in keeper_folder.list_keepers(root / "terminals"):
            await end_terminal(folder)
