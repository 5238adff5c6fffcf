"""A cancelled command, a closed session and an ending agent leave no process running."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.agents.terminal.terminals import Terminal, living, written_pid
from tests.support.acp.acp_driver import Refused
from tests.support.eventually import eventually

# A child that leaves its parent's session, and one that also loses its parent.
HIDING = "setsid sh -c 'echo $$ > child; exec sleep 60' & (setsid sh -c 'echo $$ > orphan; exec sleep 60' &) ; "


async def _hidden(cwd: Path) -> list[int]:
    """Waits until the children run; returns their process ids."""
    files = [cwd / "child", cwd / "orphan"]
    await eventually(lambda: all(written_pid(file) for file in files))
    return [written_pid(file) for file in files]


async def test_cancel_ends_the_whole_tree(terminal: Terminal, cwd: Path) -> None:
    """T3, C1: The turn ends as `cancelled`, its output is kept, and no process is left, wherever it hides."""
    session = await terminal.open(cwd)
    turn = terminal.send_prompt(session, HIDING + "echo printed; sleep 60; touch made")
    pids = await _hidden(cwd)
    await terminal.until(lambda: "printed\n" in terminal.shown(session))
    terminal.notify("session/cancel", {"sessionId": session})
    assert await terminal.answer(turn) == {"stopReason": "cancelled"}
    assert not any(living(pid) for pid in pids)
    (tool,) = terminal.tools(session)
    assert tool["status"] == "failed"
    assert tool["rawOutput"]["output"].startswith("printed\n")
    assert tool["rawOutput"]["signal"] == "SIGTERM"
    assert not (cwd / "made").exists()
    assert await terminal.output(session, "echo on") == "on\n"


async def test_a_stubborn_command_is_killed(terminal: Terminal, cwd: Path) -> None:
    """T3: A command that ignores SIGTERM is killed after a grace period; one that cleans up can finish."""
    session = await terminal.open(cwd)
    turn = terminal.send_prompt(session, "trap 'touch tidied' TERM; echo up; while :; do sleep 60; done")
    await terminal.until(lambda: "up\n" in terminal.shown(session))
    terminal.notify("session/cancel", {"sessionId": session})
    assert await terminal.answer(turn) == {"stopReason": "cancelled"}
    assert terminal.tools(session)[0]["rawOutput"]["signal"] == "SIGKILL"
    assert (cwd / "tidied").exists()


async def test_one_prompt_can_be_cancelled(terminal: Terminal, cwd: Path) -> None:
    """C1: `$/cancel_request` ends only the given prompt, with the error for that."""
    session = await terminal.open(cwd)
    first = terminal.send_prompt(session, "echo up; sleep 60")
    second = terminal.send_prompt(session, "echo second")
    await terminal.until(lambda: "up\n" in terminal.shown(session))
    terminal.notify("$/cancel_request", {"requestId": first})
    with pytest.raises(Refused) as refused:
        await terminal.answer(first)
    assert refused.value.code == -32800
    assert await terminal.answer(second) == {"stopReason": "end_turn"}


async def test_background_processes_do_not_block_the_turn(terminal: Terminal, cwd: Path) -> None:
    """C1: Background processes survive the cancel of another command and end with the session."""
    session = await terminal.open(cwd)
    tool = await terminal.run(session, HIDING + "echo started")
    assert (tool["rawOutput"]["output"], tool["status"]) == ("started\n", "completed")
    pids = await _hidden(cwd)
    turn = terminal.send_prompt(session, "echo up; sleep 60")
    await terminal.until(lambda: "up\n" in terminal.shown(session))
    terminal.notify("session/cancel", {"sessionId": session})
    await terminal.answer(turn)
    assert all(living(pid) for pid in pids)
    await terminal.request("session/close", {"sessionId": session})
    await eventually(lambda: not any(living(pid) for pid in pids), "the background processes have ended")


@pytest.mark.parametrize("way", ["end of input", "SIGTERM"])
@pytest.mark.parametrize("running", [True, False], ids=["in a turn", "between turns"])
async def test_nothing_outlives_the_agent(home: Path, cwd: Path, way: str, running: bool) -> None:
    """O2: When its input ends, or on SIGTERM, the agent ends everything that it started and exits with 0."""
    async with Terminal.start(home) as terminal:
        session = await terminal.open(cwd)
        turn = terminal.send_prompt(session, HIDING + ("sleep 60" if running else "true"))
        pids = await _hidden(cwd)
        answers = [] if running else [await terminal.answer(turn)]
        if way == "SIGTERM":
            terminal.process.send_signal(signal.SIGTERM)
            exit_code = await terminal.exit_code()
        else:
            exit_code = await terminal.end()
        assert exit_code == 0
        assert not any(living(pid) for pid in pids)
        answers += [await terminal.answer(turn)] if running else []
        assert answers == [{"stopReason": "cancelled" if running else "end_turn"}]
