"""Each directive does what the documentation says, in the real process."""

import asyncio
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from tests.agents.demo.driver import Driver, Refused


async def test_plain_text_is_quoted_with_the_number_of_the_turn(agent: Driver, cwd: Path) -> None:
    """L5: Without a directive it answers `You said "…". This is user turn N.`"""
    session = await agent.new(cwd)
    assert await agent.ask(session, "hello") == 'You said "hello". This is user turn 1.'
    assert await agent.ask(session, "and\nagain") == 'You said "and\nagain". This is user turn 2.'


async def test_only_the_last_text_block_is_obeyed(agent: Driver, cwd: Path) -> None:
    """L5: Quoted material goes into earlier blocks and is not obeyed."""
    session = await agent.new(cwd)
    assert await agent.ask(session, "[[crash]]", "[[say alive]]") == "alive"
    assert await agent.ask(session, "[[crash]]", "hm") == 'You said "hm". This is user turn 2.'


async def test_say_think_and_plan(agent: Driver, cwd: Path) -> None:
    """L5: Say, think and plan work; text between them is ignored, brackets nest, and consecutive says are lines of one
    message."""
    session = await agent.new(cwd)
    answer = await agent.ask(session, "x [[say a]] y [[say b [[c]] d]][[think hm]][[plan A; B;C]] z")
    assert answer == "a\nb [[c]] d"
    assert agent.said(session, kind="agent_thought_chunk") == "hm"
    (plan,) = agent.of(session, "plan")
    assert [(entry["content"], entry["status"]) for entry in plan["entries"]] == [
        ("A", "pending"),
        ("B", "pending"),
        ("C", "pending"),
    ]


async def test_each_contiguous_message_has_an_id_of_its_own(agent: Driver, cwd: Path) -> None:
    """L5: Chunks of one message share an id, and a thought or a tool call in between starts a new one."""
    session = await agent.new(cwd, mode="allow-all")
    await agent.prompt(session, "[[say a]][[say b]][[think c]][[say d]][[run true]][[say e]]")
    ids = [update["messageId"] for update in agent.of(session, "agent_message_chunk")]
    assert ids[0] == ids[1]
    assert len(set(ids)) == 3
    assert agent.of(session, "agent_thought_chunk")[0]["messageId"] not in ids


async def test_slow_spreads_its_chunks_over_the_time(agent: Driver, cwd: Path) -> None:
    """L5: `[[slow N SECONDS]]` sends N chunks `tick i`, evenly over the seconds."""
    session = await agent.new(cwd)
    start = time.monotonic()
    request = agent.send_prompt(session, "[[slow 4 0.4]]")
    await agent.until(lambda: agent.said(session) == "tick 1\ntick 2")
    half = time.monotonic() - start
    await agent.answer(request)
    assert 0.08 <= half < time.monotonic() - start
    assert time.monotonic() - start >= 0.38
    chunks = [update["content"]["text"].strip() for update in agent.of(session, "agent_message_chunk")]
    assert chunks == ["tick 1", "tick 2", "tick 3", "tick 4"]


async def test_flood_sends_every_chunk_in_order(agent: Driver, cwd: Path) -> None:
    """L5: `[[flood N]]` sends N chunks of one message, as fast as it can."""
    session = await agent.new(cwd)
    await agent.prompt(session, "[[flood 2501]]")
    chunks = agent.of(session, "agent_message_chunk")
    assert agent.said(session).split("\n") == [f"tick {index}" for index in range(1, 2502)]
    assert len(chunks) == 2501
    assert len({chunk["messageId"] for chunk in chunks}) == 1


async def test_write_shows_a_diff_and_writes_after_permission(agent: Driver, cwd: Path) -> None:
    """L5: `[[write PATH TEXT]]` is an edit tool call with a diff and a location, carried out only once it is
    allowed."""
    (cwd / "a.txt").write_text("old")
    agent.decide = lambda _: None
    session = await agent.new(cwd)
    request = agent.send_prompt(session, "[[write sub/../a.txt new\ntext\n]]")
    await agent.until(lambda: len(agent.permissions) == 1)
    assert (cwd / "a.txt").read_text() == "old"
    agent.respond(agent.permissions[0], "allow_once")
    await agent.answer(request)
    assert (cwd / "a.txt").read_text() == "new\ntext\n"
    path = str(cwd / "a.txt")
    first = agent.of(session, "tool_call")[0]
    assert (first["kind"], first["status"], first["locations"]) == ("edit", "pending", [{"path": path}])
    assert first["content"] == [{"type": "diff", "path": path, "oldText": "old", "newText": "new\ntext\n"}]
    assert agent.permissions[0]["params"]["toolCall"]["content"] == first["content"]
    assert agent.tools(session)[0]["status"] == "completed"


async def test_write_creates_folders_and_reports_failures(agent: Driver, cwd: Path) -> None:
    """L5: A path may be new or absolute; one that cannot be written fails the call, not the turn."""
    session = await agent.new(cwd, mode="allow-all")
    answer = await agent.ask(session, f"[[write x/y.txt 1]][[write {cwd}/z.txt 2]][[write x 3]][[say on]]")
    assert ((cwd / "x/y.txt").read_text(), (cwd / "z.txt").read_text(), answer) == ("1", "2", "on")
    assert [call["status"] for call in agent.tools(session)] == ["completed", "completed", "failed"]


async def test_run_reports_output_and_exit_code(agent: Driver, cwd: Path) -> None:
    """L5: `[[run COMMAND]]` is an execute tool call in the working directory, with output and exit code."""
    session = await agent.new(cwd, mode="allow-all")
    await agent.prompt(session, "[[run touch here; ls; echo oops >&2; exit 3]][[run echo fine]]")
    failed, fine = agent.tools(session)
    assert (cwd / "here").exists()
    output = "here\noops\n"
    assert (failed["kind"], failed["status"]) == ("execute", "failed")
    assert failed["rawOutput"] == {"output": output, "exitCode": 3}
    assert failed["content"][0]["content"]["text"] == f"{output}\nexit code: 3"
    assert (fine["status"], fine["rawOutput"]) == ("completed", {"output": "fine\n", "exitCode": 0})


async def test_run_ends_although_a_background_process_remains(agent: Driver, cwd: Path) -> None:
    """L5: A command ends with its shell, whatever it left running."""
    session = await agent.new(cwd, mode="allow-all")
    await agent.prompt(session, "[[run sleep 30 & echo $!]]")
    background = int(agent.tools(session)[0]["rawOutput"]["output"])
    os.kill(background, 9)


async def test_recall_lists_every_user_text(agent: Driver, cwd: Path) -> None:
    """L5: `[[recall]]` lists every user text, one per line, including quoted blocks and embedded text."""
    session = await agent.new(cwd)
    await agent.prompt(session, "first", "second\nline")
    resource = {"type": "resource", "resource": {"uri": "file:///a", "text": "third"}}
    link = {"type": "resource_link", "uri": "file:///b", "name": "b"}
    await agent.request("session/prompt", {"sessionId": session, "prompt": [resource, link]})
    recalled = await agent.ask(session, "[[recall]]")
    assert recalled.split("\n") == ["1. first", "2. second\\nline", "3. third", "4. [[recall]]"]


async def test_fail_answers_with_an_error(agent: Driver, cwd: Path) -> None:
    """L5: `[[fail TEXT]]` answers the prompt with -32603 and the text; earlier output is kept."""
    session = await agent.new(cwd)
    with pytest.raises(Refused) as refused:
        await agent.prompt(session, "[[say before]][[fail no more]][[say never]]")
    assert (refused.value.code, refused.value.message) == (-32603, "no more")
    assert agent.said(session) == "before"
    assert await agent.ask(session, "next") == 'You said "next". This is user turn 2.'


async def test_crash_flushes_and_dies(agent: Driver, cwd: Path) -> None:
    """L5: `[[crash]]` flushes what was said and dies with exit code 70."""
    session = await agent.new(cwd)
    agent.send_prompt(session, "[[say last words]][[crash]]")
    assert await agent.exit_code() == 70
    assert agent.said(session) == "last words"


async def test_hang_lasts_until_it_is_cancelled(agent: Driver, cwd: Path) -> None:
    """L5: `[[hang]]` does nothing until cancelled; the agent still serves other sessions."""
    session, other = await agent.new(cwd), await agent.new(cwd)
    hanging = agent.send_prompt(session, "[[say now]][[hang]]")
    await agent.until(lambda: agent.said(session) == "now")
    assert await agent.ask(other, "[[say free]]") == "free"
    agent.notify("session/cancel", {"sessionId": session})
    assert (await agent.answer(hanging))["stopReason"] == "cancelled"


@pytest.mark.parametrize(
    ("prompt", "complaint"),
    [
        ("[[dance]]", "there is no directive 'dance'"),
        ("[[]]", "there is no directive ''"),
        ("[[slow x 1]]", "'x' is not a number of chunks"),
        ("[[slow 3 nan]]", "'nan' is not a number of seconds"),
        ("[[flood 0]]", "'0' is not a number of chunks"),
        ("[[mcp tool {bad]]", "the arguments are not a JSON object"),
        ("[[recall all]]", "recall takes no argument"),
    ],
)
async def test_malformed_directives_are_reported_and_the_turn_continues(
    agent: Driver, cwd: Path, prompt: str, complaint: str
) -> None:
    """L5: The answer reports a malformed directive, and the next one is carried out."""
    answer = await agent.ask(await agent.new(cwd), f"{prompt}[[say on]]")
    assert answer.startswith(f"I cannot follow {prompt}: {complaint}")
    assert answer.endswith("\non")


async def test_slash_commands(agent: Driver, cwd: Path) -> None:
    """L5: The advertised commands work, and status shows mode, model and effort."""
    session = await agent.new(cwd, mode="plan")
    await agent.until(lambda: len(agent.of(session, "available_commands_update")) == 1)
    (offer,) = agent.of(session, "available_commands_update")
    assert {command["name"] for command in offer["availableCommands"]} == {"help", "status", "recall"}
    change = {"sessionId": session, "configId": "model", "value": "demo-large"}
    await agent.request("session/set_config_option", change)
    status = await agent.ask(session, "/status")
    assert status.split("\n")[:3] == ["mode: plan", "model: demo-large", "effort: medium"]
    assert status == (await agent.ask(session, "[[status]]")).replace("turn: 2", "turn: 1")
    assert "[[write PATH TEXT]]" in await agent.ask(session, "/help")
    assert (await agent.ask(session, "/recall")).endswith("4. /recall")


async def test_usage_is_counted_in_words(agent: Driver, cwd: Path) -> None:
    """L5: Every turn ends with a usage_update and usage in the answer; model and effort affect it."""
    session = await agent.new(cwd)
    answer = await agent.prompt(session, "[[say one two three]]")
    assert answer["usage"] == {"totalTokens": 11, "inputTokens": 4, "outputTokens": 3, "thoughtTokens": 4}
    for key, value in (("model", "demo-large"), ("effort", "low")):
        await agent.request("session/set_config_option", {"sessionId": session, "configId": key, "value": value})
    answer = await agent.prompt(session, "[[say four]]")
    assert answer["usage"] == {"totalTokens": 14, "inputTokens": 6, "outputTokens": 4, "thoughtTokens": 4}
    first, second = agent.of(session, "usage_update")
    assert (first["used"], first["size"], first["cost"]) == (11, 10_000, {"amount": 0.000011, "currency": "USD"})
    assert (second["used"], second["size"], second["cost"]["amount"]) == (14, 100_000, 0.000041)
    assert agent.updates[-1]["update"]["sessionUpdate"] == "usage_update"


async def test_the_first_prompt_gives_the_title(agent: Driver, cwd: Path) -> None:
    """L5: Only the first prompt of a session sends a title made from its text."""
    session = await agent.new(cwd)
    await agent.prompt(session, "a long  story " + "x" * 100)
    await agent.prompt(session, "another")
    (info,) = agent.of(session, "session_info_update")
    assert info["title"] == "a long story " + "x" * 46 + "…"


async def test_turns_of_different_sessions_run_in_parallel(agent: Driver, cwd: Path) -> None:
    """L5: Turns of several sessions in one process run at the same time; those of one session run one after the
    other."""
    busy, second = await agent.new(cwd), await agent.new(cwd)
    first = agent.send_prompt(busy, "[[slow 3 0.3]][[say end]]")
    behind = agent.send_prompt(busy, "[[say behind]]")
    beside = agent.send_prompt(second, "[[say beside]]")
    await agent.answer(beside)
    assert "end" not in agent.said(busy)
    await asyncio.gather(agent.answer(first), agent.answer(behind))
    assert agent.said(busy) == "tick 1\ntick 2\ntick 3\nendbehind"
    answered = [message["id"] for message in agent.log if message.get("id") in (first, behind)]
    assert answered == [first, behind]


async def test_files_of_a_prompt_are_named(agent: Driver, cwd: Path) -> None:
    """L5: Without a directive, pictures and embedded files of a prompt are named with kind and size; links are not, and
    only the last text is the prompt."""
    image: dict[str, Any] = {"type": "image", "data": "eHl6eg==", "mimeType": "image/png"}
    blocks: list[dict[str, Any]] = [
        {"type": "resource_link", "uri": "file:///c", "name": "c"},
        {**image, "uri": "file:///a%20b.png"},
        image,
        {"type": "resource", "resource": {"uri": "file:///x/n.txt", "text": "é"}},
        {"type": "resource", "resource": {"uri": "file:///n.bin", "blob": "eA==", "mimeType": "application/x"}},
        {"type": "text", "text": "look"},
    ]
    session = await agent.new(cwd)
    await agent.request("session/prompt", {"sessionId": session, "prompt": blocks})
    assert agent.said(session) == (
        'You said "look" with a b.png (image/png, 4 bytes), image (image/png, 4 bytes), n.txt (text/plain, 2 bytes), '
        "n.bin (application/x, 1 byte). This is user turn 1."
    )
    await agent.request("session/prompt", {"sessionId": session, "prompt": [blocks[0], blocks[-1]]})
    assert agent.said(session).endswith('You said "look". This is user turn 2.')


async def test_a_prompt_is_taken_that_comes_with_the_one_before(agent: Driver, cwd: Path) -> None:
    """Q8: A prompt for the running turn that arrives together with the prompt of that turn is part of the turn; after
    its end it is refused."""
    session = await agent.new(cwd)
    texts = {"session/prompt": "[[hang]]", "_session/steering": "more"}
    requests = [
        {
            "jsonrpc": "2.0",
            "id": method,
            "method": method,
            "params": {"sessionId": session, "prompt": [{"type": "text", "text": text}]},
        }
        for method, text in texts.items()
    ]
    # In one write, so that the agent reads both at once.
    agent.raw(b"", "session/prompt")
    agent.raw(b"".join(json.dumps(request).encode() + b"\n" for request in requests), "_session/steering")
    assert (await agent.answer("_session/steering"))["outcome"] == "injected"
    agent.notify("session/cancel", {"sessionId": session})
    assert (await agent.answer("session/prompt"))["stopReason"] == "cancelled"
    assert 'Meanwhile you said "more".' in agent.said(session)
    late = {"sessionId": session, "prompt": [{"type": "text", "text": "late"}]}
    assert (await agent.request("_session/steering", late))["outcome"] == "promptRequired"
