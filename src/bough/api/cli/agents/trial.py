"""Tests an agent for `bough agents test`: starts it as the server would, sets its mode, and records what it reports. A
prompt is sent only if one is given."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
from typing import Any

import msgspec

from bough.agents.acp.answers import SessionOpened
from bough.agents.acp.wire import SessionUpdate
from bough.agents.catalog import CatalogEntry
from bough.agents.catalog.find_program import startable
from bough.agents.catalog.login import is_set_up
from bough.agents.catalog.node_version import node_advice
from bough.agents.catalog.prepare import PreparedStart, prepare
from bough.agents.catalog.repository_files import find_files
from bough.agents.errors import AgentGone, AgentTimeout
from bough.agents.handshake import Handshake, Step, Steps, shaking_hands
from bough.core.live_agents.agent_settings import CONFIGURED, AgentSettings
from bough.core.live_agents.failures import FailureDetector
from bough.core.live_agents.offers import own_modes
from bough.core.live_agents.start.conversation import FETCH_TIME, corrected
from bough.errors import AgentFailed, BoughError, Denied
from bough.model.session import PermissionMode
from bough.settings import Settings

# Lines shown of what an agent wrote to stderr before it failed.
LAST_LINES = 5
# Failures that an untested version of the agent may explain.
MAY_BE_THE_VERSION = ("agent_protocol", "agent_answer", "agent_refused", "mode_not_taken")
# Failures whose message says what to do.
SELF_EXPLAINING = ("agent_login", "repository_untrusted")


class Problem(msgspec.Struct):
    """Why the test failed, and what to do next."""

    code: str
    message: str
    next: str
    stderr: str = ""


class Trial(msgspec.Struct, rename="camel", kw_only=True):
    """The findings of a test run, as far as it got."""

    agent: str
    title: str
    cwd: str
    permission_mode: PermissionMode
    how: str = "missing"
    command: list[str] = []
    version: str | None = None
    pinned: str | None = None
    login_found: bool | None = None
    notices: list[str] = []
    protocol: int | None = None
    # The name and version that the agent reports.
    agent_info: str = ""
    capabilities: dict[str, bool] = {}
    auth_methods: list[str] = []
    modes: list[str] = []
    initial_mode: str | None = None
    # The agent's own mode that was requested, and whether it reports that mode; null if it has no modes.
    mode: str = ""
    mode_taken: bool | None = None
    stop_reason: str | None = None
    answer: str | None = None
    refused: list[str] = []
    steps: list[Step] = []
    error: Problem | None = None


async def try_agent(
    entry: CatalogEntry, settings: Settings, cwd: str, permission_mode: PermissionMode, prompt: str | None = None
) -> Trial:
    """Tests one agent in a folder; a failure is returned in `error`."""
    trial = Trial(
        agent=entry.name,
        title=entry.title,
        cwd=cwd,
        permission_mode=permission_mode,
        pinned=entry.package.version if entry.package is not None else None,
        login_found=is_set_up(entry),
        mode=entry.mode(permission_mode).mode,
        steps=Steps(),
    )
    try:
        await _Trying(entry, settings, trial).all(prompt)
    except BoughError as error:
        if trial.command and isinstance(error, AgentGone | AgentTimeout):
            error.add(await asyncio.to_thread(node_advice, entry, trial.command[0], cwd, {}))
        trial.error = _problem(entry, trial, error)
    return trial


class _Trying:
    def __init__(self, entry: CatalogEntry, settings: Settings, trial: Trial) -> None:
        self._entry = entry
        self._settings = settings
        self._trial = trial
        self._steps = Steps()
        trial.steps = self._steps
        self._tuning = AgentSettings(entry)
        self._complaints = FailureDetector(entry)

    async def all(self, prompt: str | None) -> None:
        prepared = await asyncio.to_thread(self._prepare)
        with self._complaints.explained():
            async with shaking_hands(prepared, self._trial.cwd, self._steps, self._hear) as shake:
                opened = await self._open(shake, prepared)
                await self._set_mode(shake, opened)
                if prompt is not None:
                    await self._prompt(shake, opened, prompt)

    def _prepare(self) -> PreparedStart:
        trial, entry = self._trial, self._entry
        with self._steps.take("prepare"):
            installation = startable(entry, self._settings.data_path)
            trial.how, trial.version, trial.command = installation.how, installation.version, installation.command
            if files := find_files(trial.cwd, entry.repository.ask):
                names = ", ".join(os.path.relpath(file, trial.cwd) for file in files[:LAST_LINES])
                raise Denied(
                    "repository_untrusted",
                    f"{entry.title} would run code from this folder: {names}. Choose another folder with --cwd, or "
                    "create a session there, which asks for your approval.",
                )
            mode, added = entry.mode(trial.permission_mode), self._settings.agent_env_names
            prepared = prepare(entry, self._settings.data_path, trial.cwd, mode, {}, added)
        trial.command, trial.notices = prepared.command, prepared.notices
        return prepared

    async def _open(self, shake: Handshake, prepared: PreparedStart) -> SessionOpened:
        trial = self._trial
        about = await shake.initialize(self._settings.initialize_timeout + (FETCH_TIME if prepared.fetched else 0))
        can = corrected(self._entry, about.capabilities)
        trial.protocol = about.protocol_version
        trial.agent_info = f"{about.name} {about.version}".strip()
        trial.capabilities = _camel(msgspec.structs.asdict(can)) | {"stdio": self._entry.corrections.stdio}
        trial.auth_methods = [_name(method) for method in about.auth_methods]
        opened = await shake.open(trial.cwd, prepared, can, self._settings.session_timeout)
        self._tuning.opened(opened)
        trial.initial_mode = self._tuning.mode
        trial.modes = [mode.id for mode in own_modes(self._entry, opened)]
        return opened

    async def _set_mode(self, shake: Handshake, opened: SessionOpened) -> None:
        trial = self._trial
        with self._steps.take("mode"):
            await self._tuning.set_mode(shake.client, opened.session_id, trial.mode)
            await self._tuning.pin(shake.client, opened.session_id)
        if trial.mode and self._tuning.mode is not None:
            trial.mode_taken = self._tuning.mode == trial.mode

    async def _prompt(self, shake: Handshake, opened: SessionOpened, prompt: str) -> None:
        self._complaints.begin()
        try:
            result = await shake.prompt(opened.session_id, prompt)
        finally:
            self._trial.answer, self._trial.refused = shake.text, shake.refused
        self._trial.stop_reason = result.stop_reason
        self._complaints.check(result.stop_reason, shake.text)

    def _hear(self, update: SessionUpdate) -> bool:
        if update.kind in CONFIGURED:
            self._tuning.observe(update)
        else:
            self._complaints.observe(update)
        return not self._complaints.is_noise(update)


def _camel(values: dict[str, bool]) -> dict[str, bool]:
    return {re.sub(r"_(.)", lambda match: match[1].upper(), name): value for name, value in values.items()}


def _name(method: dict[str, Any]) -> str:
    return str(method.get("name") or method.get("id") or "unnamed")


def _problem(entry: CatalogEntry, trial: Trial, error: BoughError) -> Problem:
    stderr = str(error.details.get("stderr", "")).strip() if isinstance(error, AgentGone | AgentTimeout) else ""
    return Problem(error.code, error.message, _next(entry, trial, error), "\n".join(stderr.splitlines()[-LAST_LINES:]))


def _next(entry: CatalogEntry, trial: Trial, error: BoughError) -> str:
    if not trial.command or error.code in SELF_EXPLAINING or not isinstance(error, AgentFailed):
        return ""
    untested = trial.pinned is not None and trial.version != trial.pinned
    if untested and error.code in MAY_BE_THE_VERSION:
        return (
            f"This is version {trial.version}; Bough was tested with {trial.pinned}. "
            f"Install that one: bough agents install {entry.name} (a version on the PATH takes precedence)."
        )
    if trial.login_found is False and entry.login.how:
        return f"No key was found for it. {entry.login.how}"
    return f"Run it yourself to see its output: {shlex.join(trial.command)}"
