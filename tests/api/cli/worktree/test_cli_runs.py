"""Tests `bough worktree run`, `runs`, `log` and `stop-run`."""

from __future__ import annotations

import json

from bough.api.cli.worktree.runs import unseen
from tests.api.cli.cli_program import Cli
from tests.api.worktree_helpers import commit
from tests.support.eventually import eventually
from tests.support.server import Running


def test_a_log_goes_on_although_its_beginning_is_gone() -> None:
    """L4: What was printed is not printed again, also when the server's part of a long log begins later."""
    lines = [f"line {number}\n" for number in range(1000)]
    assert unseen("".join(lines), "") == "".join(lines)
    assert unseen("".join(lines), "".join(lines[:400])) == "".join(lines[400:])
    assert unseen("".join(lines[300:]), "".join(lines[:900])) == "".join(lines[900:])
    assert unseen("".join(lines[300:]), "".join(lines)) == ""
    assert unseen("".join(lines[900:]), "".join(lines[:100])) == "…\n" + "".join(lines[900:])


async def _is_up(cli: Cli) -> bool:
    return (await cli("worktree", "log", "@last")).out == "up\n"


async def test_a_command_is_run_read_and_stopped(server: Running, cli: Cli) -> None:
    """Y3, L4: A person runs the repository's only command without naming it, reads its log, lists and stops it."""
    path = server.repo()
    commit(path, ".bough.toml", '[run]\ndev = "echo up; exec sleep 600"\n')
    await cli("worktree", "new", "feature", "--repo", str(path))
    refused = await cli("worktree", "run", "@last")
    assert (refused.code, "bough repo config" in refused.err) == (1, True)
    await cli("repo", "config", "repo", "--allow")
    started = await cli("worktree", "run", "@last")
    assert (started.code, "Started dev" in started.out) == (0, True)
    listed = await cli("worktree", "runs", "@last")
    assert ("running" in listed.out, "dev" in listed.out) == (True, True)
    await eventually(lambda: _is_up(cli), "the command has begun")
    assert "dev: stopped" in (await cli("worktree", "stop-run", "@last", "dev")).out
    assert (await cli("worktree", "log", "@last")).out == "up\n"
    again = await cli("worktree", "stop-run", "@last")
    assert (again.code, "No such command" in again.err) == (1, True)
    assert json.loads((await cli("worktree", "runs", "@last", "--json")).out)["runs"][0]["state"] == "stopped"


async def test_a_typed_command_is_followed(server: Running, cli: Cli) -> None:
    """Y3, L4: A command of one's own is followed to its end, whose exit code is the command's."""
    await cli("worktree", "new", "feature", "--repo", str(server.repo()))
    followed = await cli("worktree", "run", "@last", "--command", "echo one; echo two; exit 7", "--follow")
    assert (followed.code, followed.out, "code 7" in followed.err) == (7, "one\ntwo\n", True)
    unnamed = await cli("worktree", "run", "@last")
    assert (unnamed.code, "use --command" in unnamed.err) == (1, True)
    assert (await cli("worktree", "run", "@last", "dev", "--command", "true")).code == 2
    assert (await cli("worktree", "log", "@last", "none")).code == 1
