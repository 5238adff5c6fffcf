"""Each mode asks, allows and refuses as its table says, in the real process."""

import os
from pathlib import Path

import pytest

from tests.agents.demo.driver import Driver, Json, Refused
from tests.support.eventually import eventually

# How each mode treats a write inside the working directory, one outside it, and a command.
TABLE = {
    "plan": ("refuse", "refuse", "refuse"),
    "default": ("ask", "ask", "ask"),
    "ask": ("ask", "ask", "ask"),
    "acceptEdits": ("allow", "ask", "ask"),
    "auto": ("allow", "ask", "allow"),
    "on-failure": ("allow", "ask", "allow"),
    "bypassPermissions": ("allow", "allow", "allow"),
    "allow-all": ("allow", "allow", "allow"),
}


@pytest.mark.parametrize("choice", ["allow_once", "reject_once"])
@pytest.mark.parametrize("mode", TABLE)
async def test_mode_by_mode(agent: Driver, tmp_path: Path, cwd: Path, mode: str, choice: str) -> None:
    """L5, P1: Tries a write, a write outside and a command in every mode, allowed and denied; a denial does not end the
    turn."""
    session = await agent.new(cwd, mode=mode)
    agent.decide = lambda _: choice
    files = [cwd / "in.txt", tmp_path / "out.txt", cwd / "run.txt"]
    prompts = ["[[write in.txt x]]", "[[write ../out.txt x]]", "[[run touch run.txt]]"]
    for expected, file, prompt in zip(TABLE[mode], files, prompts, strict=True):
        asked, seen = len(agent.permissions), len(agent.updates)
        assert await agent.ask(session, f"{prompt}[[say on]]") == "on"
        (call,) = agent.tools(session, seen)
        done = expected == "allow" or (expected == "ask" and choice == "allow_once")
        assert len(agent.permissions) - asked == (expected == "ask")
        assert file.exists() == done
        assert call["status"] == ("completed" if done else "failed")
        refusal = "Refused: mode plan" if mode == "plan" else "Rejected by the user."
        assert (refusal in str(call.get("content"))) == (not done)


async def test_a_link_out_of_the_working_directory_is_outside(agent: Driver, tmp_path: Path, cwd: Path) -> None:
    """L5, P1: The target of a write is judged after links are followed."""
    (cwd / "link").symlink_to(tmp_path)
    session = await agent.new(cwd, mode="acceptEdits")
    agent.decide = lambda _: "reject_once"
    await agent.prompt(session, "[[write link/out.txt x]]")
    assert len(agent.permissions) == 1
    assert not (tmp_path / "out.txt").exists()


async def test_options_have_the_usual_kinds_and_unusual_ids(agent: Driver, cwd: Path) -> None:
    """L5: Clients must choose by an option's kind; an id that was never offered counts as a rejection."""
    session = await agent.new(cwd)
    agent.decide = lambda _: None
    request = agent.send_prompt(session, "[[run touch x]]")
    await agent.until(lambda: len(agent.permissions) == 1)
    question = agent.permissions[0]
    kinds = {option["kind"]: option["optionId"] for option in question["params"]["options"]}
    assert kinds.keys() == {"allow_once", "allow_always", "reject_once"}
    assert not kinds.keys() & set(kinds.values())
    assert question["params"]["toolCall"]["kind"] == "execute"
    outcome = {"outcome": {"outcome": "selected", "optionId": "allow_once"}}
    answer: Json = {"jsonrpc": "2.0", "id": question["id"], "result": outcome}
    agent.raw(repr(answer).replace("'", '"').encode() + b"\n")
    await agent.answer(request)
    assert agent.tools(session)[0]["status"] == "failed"


async def test_allow_always_holds_for_the_session_and_the_kind(home: Path, cwd: Path) -> None:
    """L5: `allow_always` is remembered for this session and kind of tool, even after a restart."""
    async with Driver.start(home) as agent:
        session, other = await agent.new(cwd), await agent.new(cwd)
        agent.decide = lambda _: "allow_always"
        await agent.prompt(session, "[[run true]][[run true]]")
        assert len(agent.permissions) == 1
        await agent.prompt(session, "[[write a x]]")
        await agent.prompt(other, "[[run true]]")
        assert len(agent.permissions) == 3
    async with Driver.start(home) as agent:
        await agent.request("session/resume", {"sessionId": session, "cwd": str(cwd)})
        await agent.prompt(session, "[[run true]][[write b x]]")
        assert agent.permissions == []
        await agent.request("session/set_mode", {"sessionId": session, "modeId": "plan"})
        await agent.prompt(session, "[[run touch no]]")
        assert not (cwd / "no").exists()


async def test_a_cancelled_question_ends_the_turn(agent: Driver, cwd: Path) -> None:
    """L5: The outcome `cancelled` ends the turn as cancelled, with the tool call failed."""
    session = await agent.new(cwd)
    agent.decide = lambda _: "cancelled"
    answer = await agent.prompt(session, "[[run touch x]][[say never]]")
    assert answer["stopReason"] == "cancelled"
    assert (agent.tools(session)[0]["status"], agent.said(session)) == ("failed", "")


async def test_a_failed_permission_request_denies(agent: Driver, cwd: Path) -> None:
    """L5: An error as the answer fails the tool call, and the turn continues."""
    session = await agent.new(cwd)
    agent.decide = lambda _: None
    request = agent.send_prompt(session, "[[run touch x]][[say on]]")
    await agent.until(lambda: len(agent.permissions) == 1)
    agent.raw(b'{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"what?"}}\n')
    await agent.answer(request)
    assert (agent.tools(session)[0]["status"], agent.said(session)) == ("failed", "on")


async def test_cancel_while_a_question_is_open(agent: Driver, cwd: Path) -> None:
    """L5: session/cancel during a question answers `cancelled`, withdraws it, and ignores a late answer."""
    session = await agent.new(cwd)
    agent.decide = lambda _: None
    request = agent.send_prompt(session, "[[run touch x]]")
    await agent.until(lambda: len(agent.permissions) == 1)
    agent.notify("session/cancel", {"sessionId": session})
    assert (await agent.answer(request))["stopReason"] == "cancelled"
    assert agent.withdrawn == [agent.permissions[0]["id"]]
    agent.raw(b'{"jsonrpc":"2.0","id":0,"result":{"outcome":{"outcome":"cancelled"}}}\n')
    assert agent.tools(session)[0]["status"] == "failed"
    assert await agent.ask(session, "[[say fine]]") == "fine"


async def test_cancel_kills_the_command_and_what_it_started(agent: Driver, cwd: Path) -> None:
    """L5: Cancelling a command kills its process group, even if it ignores SIGTERM."""
    session = await agent.new(cwd, mode="allow-all")
    command = "trap '' TERM; sleep 60 & echo $! $$ > pids.part; mv pids.part pids; wait; sleep 60"
    request = agent.send_prompt(session, f"[[run {command}]]")
    await eventually((cwd / "pids").exists)
    pids = [int(word) for word in (cwd / "pids").read_text().split()]
    agent.notify("session/cancel", {"sessionId": session})
    assert (await agent.answer(request))["stopReason"] == "cancelled"
    assert agent.tools(session)[0]["status"] == "failed"
    await eventually(lambda: not any(_lives(pid) for pid in pids))


async def test_modes_are_listed_set_and_checked(agent: Driver, cwd: Path) -> None:
    """L5, P1: Lists the eight modes, starts in default, and refuses an unknown one."""
    result = await agent.request("session/new", {"cwd": str(cwd), "mcpServers": []})
    assert result["modes"]["currentModeId"] == "default"
    assert {mode["id"] for mode in result["modes"]["availableModes"]} == TABLE.keys()
    with pytest.raises(Refused) as refused:
        await agent.request("session/set_mode", {"sessionId": result["sessionId"], "modeId": "yolo"})
    assert refused.value.code == -32602


def _lives(pid: int) -> bool:
    """Tells whether a process runs; a zombie does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return os.path.exists(f"/proc/{pid}")
    return state != "Z"
