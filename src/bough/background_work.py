"""Repairs what the last server left, keeps the services' own tasks running, and closes them. `app` enters it once the
services are built."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Coroutine
from typing import Any

import structlog

from bough.core.checkpoints.ref_repair import repair_refs
from bough.core.services import Services
from bough.git.safe import opened_paths

log = structlog.get_logger("bough.app")


class BackgroundWork:
    """Owns the tasks that run as long as the server does; one that fails is logged and leaves the others running, which
    `asyncio.TaskGroup` would end."""

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, name: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name=name)
        task.add_done_callback(self._report)
        self._tasks.append(task)
        return task

    async def stop(self) -> None:
        """Cancels all tasks and waits until they have ended."""
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)

    @staticmethod
    def _report(task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("background_work_broke", task=task.get_name(), error=repr(error), exc_info=error)


async def _started(work: asyncio.Task[None], started: asyncio.Event) -> None:
    """Waits until the work has begun, or raises the error that ended it before."""
    waiting = asyncio.create_task(started.wait())
    try:
        await asyncio.wait((work, waiting), return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
    if work.done():
        work.result()


@contextlib.asynccontextmanager
async def working(services: Services) -> AsyncGenerator[Services]:
    """Repairs what the last server left, then runs the background work until the server ends."""
    background = BackgroundWork()
    hub_started = asyncio.Event()
    hub = background.start("hub", services.hub.run(hub_started))
    background.start("permissions", services.runner.permissions.follow())
    try:
        await _started(hub, hub_started)
        await services.users.load()
        await services.user_tokens.load()
        await services.page_keys.load()
        await services.boards.ensure_default()
        await services.callbacks.exclude(
            agent.name for agent in services.catalog.entries() if not agent.quirks.takes_reports
        )
        await asyncio.to_thread(opened_paths.open_all, services.settings.sandbox_write_paths)
        await services.git_permissions.load()
        with services.store.starting():
            await services.worktrees.repair()
            await services.terminals.repair()
            await services.runs.repair()
            await services.clones.repair()
            await services.branches.repair()
            await services.restoring.repair()
            await services.recovery.run()
        background.start("page keys", services.page_keys.run())
        background.start("user tokens", services.user_tokens.run())
        background.start("calls", services.calls.follow())
        background.start("checks", services.check_poller.run())
        background.start("cleanups", services.cleanups.run())
        background.start("terminals", services.terminals.run())
        background.start("runs", services.runs.run())
        background.start("clones", services.clones.run())
        background.start("worktrees", services.worktrees.run())
        background.start("branches", services.branches.run())
        background.start("schedules", services.schedule_clock.run())
        background.start("scheduler", services.scheduler.run())
        background.start("maintenance", services.maintenance.run())
        background.start("checkpoint refs", repair_refs(services.store))
        background.start("prune", services.pruning.run())
        background.start("search index", services.search.index.run())
        yield services
    finally:
        # Agents are detached before their turns are cancelled, so that none is told to stop because the server does.
        services.store.hurry()
        services.runner.agents.detach()
        # Each is closed, in this order, whatever another raises.
        closing = (
            *(background.stop, services.page_keys.changes.close, services.calls.close, services.race_results.close),
            *(services.overlaps.close, services.progress.close, services.disk.close, services.finishing.close),
            *(services.cleanups.close, services.worktrees.close, services.terminals.close, services.runs.close),
            *(services.clones.close, services.workspace_folders.close),
            *(services.branches.close, services.checkpoints.close, services.agent_offers.close),
            services.runner.agents.close,
        )
        async with contextlib.AsyncExitStack() as stack:
            for close in reversed(closing):
                stack.push_async_callback(close)
