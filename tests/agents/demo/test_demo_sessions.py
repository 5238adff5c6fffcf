"""Sessions are files: load, resume, fork, list, close and delete, even after a kill."""

import asyncio
import os
from pathlib import Path

import msgspec
import pytest

from tests.agents.demo.driver import Driver, Json, Refused

PROMPT = "[[say a]][[think b]][[plan c]][[run echo d]][[say e]]"


async def _load(agent: Driver, session: str, cwd: Path) -> Json:
    return await agent.request("session/load", {"sessionId": session, "cwd": str(cwd), "mcpServers": []})


def _story(updates: list[Json]) -> list[Json]:
    """Returns updates without times and usage, which differ between a live turn and a replay."""
    left_out = ("usage_update", "available_commands_update")
    shown = [each["update"] for each in updates if each["update"]["sessionUpdate"] not in left_out]
    return [{key: value for key, value in update.items() if key != "updatedAt"} for update in shown]


async def test_load_replays_everything_before_it_answers(home: Path, cwd: Path) -> None:
    """L5: session/load replays the whole history as updates, then answers with modes and options."""
    async with Driver.start(home) as agent:
        session = await agent.new(cwd, mode="allow-all")
        await agent.prompt(session, "quoted", PROMPT)
        story = _story(agent.updates)
    async with Driver.start(home) as agent:
        request = agent.send("session/load", {"sessionId": session, "cwd": str(cwd), "mcpServers": []})
        result = await agent.answer(request)
        at = next(index for index, message in enumerate(agent.log) if message.get("id") == request)
        replayed = _story([message["params"] for message in agent.log[1:at]])
        user = [each for each in replayed if each["sessionUpdate"] == "user_message_chunk"]
        assert [each["content"]["text"] for each in user] == ["quoted", PROMPT]
        assert len({each["messageId"] for each in user}) == 1
        assert [each for each in replayed if each not in user] == story
        assert result["modes"]["currentModeId"] == "allow-all"
        assert await agent.ask(session, "x") == 'You said "x". This is user turn 2.'


async def test_resume_replays_nothing_and_remembers_all(home: Path, cwd: Path) -> None:
    """L5: session/resume continues where it was, with mode and options, and without a replay."""
    async with Driver.start(home) as agent:
        session = await agent.new(cwd, mode="plan")
        change = {"sessionId": session, "configId": "effort", "value": "high"}
        options = (await agent.request("session/set_config_option", change))["configOptions"]
        await agent.prompt(session, "remember me")
    async with Driver.start(home) as agent:
        result = await agent.request("session/resume", {"sessionId": session, "cwd": str(cwd)})
        assert (result["modes"]["currentModeId"], result["configOptions"]) == ("plan", options)
        assert "1. remember me" in await agent.ask(session, "[[recall]]")
        assert agent.of(session, "user_message_chunk") == []


async def test_fork_has_the_past_and_develops_independently(home: Path, cwd: Path, tmp_path: Path) -> None:
    """L5: session/fork copies the record under a new id, in another process, during a turn of the parent."""
    async with Driver.start(home) as parent, Driver.start(home) as other:
        session = await parent.new(cwd)
        await parent.prompt(session, "one")
        hanging = parent.send_prompt(session, "[[say two]][[hang]]")
        await parent.until(lambda: parent.said(session).endswith("two"))
        asked: Json = {"sessionId": session, "cwd": str(tmp_path), "mcpServers": []}
        fork = (await other.request("session/fork", asked))["sessionId"]
        assert fork != session
        assert await other.ask(fork, "three") == 'You said "three". This is user turn 3.'
        assert f"cwd: {tmp_path}" in await other.ask(fork, "[[status]]")
        parent.notify("session/cancel", {"sessionId": session})
        await parent.answer(hanging)
        recalled = await parent.ask(session, "[[recall]]")
        assert recalled.split("\n") == ["1. one", "2. [[say two]][[hang]]", "3. [[recall]]"]


async def test_a_killed_agent_loses_only_the_message_in_progress(home: Path, cwd: Path) -> None:
    """L5: After kill -9 the session loads with every complete message, and continues."""
    async with Driver.start(home) as agent:
        session = await agent.new(cwd, mode="allow-all")
        await agent.prompt(session, "first")
        agent.send_prompt(session, "[[say whole]][[think whole too]][[run true]][[say lost]][[hang]]")
        await agent.until(lambda: agent.said(session).endswith("lost"))
        agent.process.kill()
        await agent.exit_code()
    async with Driver.start(home) as agent:
        await _load(agent, session, cwd)
        assert agent.said(session) == 'You said "first". This is user turn 1.whole'
        assert agent.said(session, kind="agent_thought_chunk") == "whole too"
        assert agent.tools(session)[0]["status"] == "completed"
        assert await agent.ask(session, "third") == 'You said "third". This is user turn 3.'


async def test_half_a_line_at_the_end_is_tolerated(home: Path, cwd: Path) -> None:
    """L5: An incomplete line of a killed writer is ignored, and damages nothing after it."""
    async with Driver.start(home) as agent:
        session = await agent.new(cwd)
        await agent.prompt(session, "one")
    with (home / f"{session}.jsonl").open("ab") as file:
        file.write(b'{"type":"prompt","turn":2,"conte')
    async with Driver.start(home) as agent:
        await _load(agent, session, cwd)
        assert await agent.ask(session, "two") == 'You said "two". This is user turn 2.'
    async with Driver.start(home) as agent:
        await _load(agent, session, cwd)
        assert agent.said(session).endswith("This is user turn 2.")


async def test_two_processes_may_hold_one_session(home: Path, cwd: Path) -> None:
    """L5: There is no lock; each sees at its next prompt what the other has added."""
    async with Driver.start(home) as first, Driver.start(home) as second:
        session = await first.new(cwd)
        await second.request("session/resume", {"sessionId": session, "cwd": str(cwd)})
        await first.prompt(session, "from one")
        await second.prompt(session, "from two")
        assert (await first.ask(session, "[[recall]]")).split("\n")[:2] == ["1. from one", "2. from two"]


async def test_list_filters_pages_and_titles(agent: Driver, cwd: Path, tmp_path: Path) -> None:
    """L5: session/list returns sessions with titles and times, latest first, filtered by cwd, in pages."""
    named = await agent.new(cwd)
    made = [await agent.new(tmp_path) for _ in range(52)]
    await agent.prompt(named, "my title")
    first = await agent.request("session/list", {})
    assert len(first["sessions"]) == 50
    latest = first["sessions"][0]
    assert (latest["sessionId"], latest["title"], latest["cwd"]) == (named, "my title", str(cwd))
    assert latest["updatedAt"].endswith("+00:00")
    second = await agent.request("session/list", {"cursor": first["nextCursor"]})
    listed = [each["sessionId"] for page in (first, second) for each in page["sessions"]]
    assert sorted(listed) == sorted([named, *made])
    assert "nextCursor" not in second
    here = await agent.request("session/list", {"cwd": str(cwd)})
    assert [each["sessionId"] for each in here["sessions"]] == [named]
    assert (await agent.request("session/list", {"cwd": "/nowhere"}))["sessions"] == []
    with pytest.raises(Refused) as refused:
        await agent.request("session/list", {"cursor": "../../etc"})
    assert refused.value.code == -32602


async def test_close_cancels_and_keeps_the_file(agent: Driver, cwd: Path) -> None:
    """L5: session/close ends a running turn, answers that first, and the session can be loaded again."""
    session = await agent.new(cwd)
    hanging, queued = agent.send_prompt(session, "[[hang]]"), agent.send_prompt(session, "never")
    closing = agent.send("session/close", {"sessionId": session})
    await agent.answer(closing)
    answers = {message["id"]: message["result"] for message in agent.log if "result" in message}
    assert [answers[request]["stopReason"] for request in (hanging, queued)] == ["cancelled", "cancelled"]
    assert list(answers)[-1] == closing
    with pytest.raises(Refused) as refused:
        await agent.prompt(session, "x")
    assert refused.value.code == -32002
    await _load(agent, session, cwd)
    assert await agent.ask(session, "x") == 'You said "x". This is user turn 2.'


async def test_delete_removes_the_file(agent: Driver, home: Path, cwd: Path) -> None:
    """L5: session/delete removes a session for good; an unknown one is not an error."""
    session = await agent.new(cwd)
    for _ in range(2):
        assert await agent.request("session/delete", {"sessionId": session}) == {}
    assert os.listdir(home) == []
    with pytest.raises(Refused) as refused:
        await _load(agent, session, cwd)
    assert refused.value.code == -32002


@pytest.mark.parametrize("method", ["session/load", "session/resume", "session/fork"])
@pytest.mark.parametrize("session", ["demo-" + "0" * 32, "../../../etc/passwd", ""])
async def test_unknown_sessions_are_not_found(agent: Driver, cwd: Path, method: str, session: str) -> None:
    """L5: An unknown session is -32002, and no id can name another file."""
    with pytest.raises(Refused) as refused:
        await agent.request(method, {"sessionId": session, "cwd": str(cwd), "mcpServers": []})
    assert refused.value.code == -32002


async def test_cancel_request_ends_one_prompt_with_its_error(agent: Driver, cwd: Path) -> None:
    """L5: `$/cancel_request` answers only the given prompt, running or queued, with -32800."""
    session = await agent.new(cwd)
    running, queued = agent.send_prompt(session, "[[say now]][[hang]]"), agent.send_prompt(session, "queued")
    last = agent.send_prompt(session, "last")
    await agent.until(lambda: agent.said(session) == "now")
    for request in (queued, running):
        agent.notify("$/cancel_request", {"requestId": request})
        with pytest.raises(Refused) as refused:
            await agent.answer(request)
        assert refused.value.code == -32800
    assert (await agent.answer(last))["stopReason"] == "end_turn"


async def test_the_record_is_as_documented(agent: Driver, home: Path, cwd: Path) -> None:
    """L5: The session's file holds the records that the package's docstring describes, complete after every turn."""
    session = await agent.new(cwd)
    await agent.prompt(session, PROMPT)
    with pytest.raises(Refused):
        await agent.prompt(session, "[[fail oh]]")
    lines = (home / f"{session}.jsonl").read_bytes().splitlines()
    records: list[Json] = [msgspec.json.decode(line) for line in lines]
    kinds = [record.get("update", {}).get("sessionUpdate", record["type"]) for record in records]
    assert kinds == [
        *("session", "prompt", "session_info_update", "agent_message_chunk", "agent_thought_chunk", "plan"),
        *("tool_call", "permission", "tool_call_update", "tool_call_update", "agent_message_chunk", "end"),
        *("prompt", "end"),
    ]
    assert all(record["at"] for record in records)
    assert (records[0]["id"], records[0]["cwd"]) == (session, str(cwd))
    assert records[7]["answer"] == "allow_once"
    assert (records[11]["turn"], records[11]["stopReason"]) == (1, "end_turn")
    assert (records[13]["turn"], records[13]["error"]) == (2, "oh")
    assert "stopReason" not in records[13]


async def test_end_of_input_in_a_turn_is_recorded_as_cancelled(home: Path, cwd: Path) -> None:
    """L5: When the client goes away, running turns are cancelled, commands die, and the agent exits with 0."""
    async with Driver.start(home) as agent:
        session = await agent.new(cwd, mode="allow-all")
        agent.send_prompt(session, "[[run sleep 60]]")
        await agent.until(lambda: any(call["status"] == "in_progress" for call in agent.tools(session)))
        async with asyncio.timeout(30):
            assert await agent.end() == 0
    last = msgspec.json.decode((home / f"{session}.jsonl").read_bytes().splitlines()[-1])
    assert (last["type"], last["stopReason"]) == ("end", "cancelled")
