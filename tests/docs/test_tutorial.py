"""The tutorial works: every command on the page runs, in order, and prints what the page shows."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from tests.docs.console import Example, Ids, Shell, examples
from tests.support.eventually import eventually

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/tutorial.md"
# These show a state that a turn may not have reached yet; a reader needs longer to type them than the turn needs.
LOOKS = ("bough approval list", "bough tree", "bough race show", "bough session list", "bough session callbacks")
# A server starts within seconds; these limits are for machines that run other suites at the same time.
READY_WITHIN = 150.0
PATIENCE = 60.0
GIT_CONFIG = "[user]\n\tname = Ada\n\temail = ada@example.com\n"


async def end_group(process: asyncio.subprocess.Process) -> None:
    """Interrupts a process and its children, and kills them if that does not end them in time."""
    for number in (signal.SIGINT, signal.SIGKILL):
        with suppress(ProcessLookupError, TimeoutError):
            os.killpg(process.pid, number)
            await asyncio.wait_for(process.wait(), PATIENCE)


@asynccontextmanager
async def make_serve(env: Mapping[str, str]) -> AsyncGenerator[str]:
    """Runs `make serve` until the block ends, and yields the link that it prints when it is ready."""
    process = await asyncio.create_subprocess_exec(
        *("make", "--no-print-directory", "serve"),
        cwd=ROOT,
        # The page is not under test here, so npm need not fetch or build anything.
        env=dict(env) | {"BOUGH_PORT": "0", "BOUGH_STOP_AGENTS": "true", "MAKEFLAGS": "-- NPM=false"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(READY_WITHIN):
            while not (line := (await process.stdout.readline()).decode()).startswith("http"):
                assert line, "`make serve` ended before it printed its link"
        yield line
    finally:
        await end_group(process)


async def run(shell: Shell, ids: Ids, example: Example) -> None:
    """Runs a command until it prints what the page shows; only commands that show a state run more than once."""
    command, output = ids.fill(example.command), ""

    async def is_as_shown() -> bool:
        nonlocal output
        code, output = await shell.run(command)
        assert code == 0, f"{command}\n{output}"
        matches = ids.match(example.output, output)
        assert matches or example.command.startswith(LOOKS), f"{command}\n{output}"
        return matches

    await eventually(is_as_shown, lambda: f"{command}\nprints what the page shows, but:\n{output}", within=PATIENCE)


@pytest.mark.timeout(400)
async def test_every_command_of_the_tutorial(tmp_path: Path) -> None:
    """A new user can follow the tutorial: each command succeeds and prints what the page shows."""
    (tmp_path / ".gitconfig").write_text(GIT_CONFIG, "utf-8")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("BOUGH_", "GIT_", "XDG_"))}
    # `make test ARGS=…` hands its own flags down.
    for name in ("COLUMNS", "ARGS", "MAKEFLAGS", "MFLAGS", "MAKELEVEL"):
        inherited.pop(name, None)
    env = inherited | {"HOME": str(tmp_path), "NO_COLOR": "1"}
    serve, *commands = examples(PAGE.read_text("utf-8"))
    assert serve.command == "make serve" and len(commands) > 20
    async with make_serve(env) as link:
        assert link.startswith("http://127.0.0.1:") and "/?token=" in link
        shell = await Shell.start(ROOT, env)
        try:
            ids = Ids()
            for example in commands:
                await run(shell, ids, example)
        finally:
            await shell.end()
