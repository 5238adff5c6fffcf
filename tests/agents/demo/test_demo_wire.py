"""The demo agent follows the protocol: capabilities, switches, errors, hostile lines, start and end."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from bough.agents.demo.capabilities import GATES, SWITCHES
from tests.agents.demo.driver import Driver, Json, Refused
from tests.support.eventually import eventually

ECHO = b'{"jsonrpc":"2.0","id":"echo","method":"session/list","params":{}}\n'


async def _capabilities(agent: Driver) -> Json:
    return (await agent.request("initialize", {"protocolVersion": 1}))["agentCapabilities"]


async def test_initialize_announces_the_capabilities(agent: Driver) -> None:
    """L5: Answers with version 1, whatever is requested, and all capabilities."""
    answer = await agent.request("initialize", {"protocolVersion": 7})
    assert (answer["protocolVersion"], answer["agentInfo"]["name"]) == (1, "bough-demo")
    assert answer["agentCapabilities"] == {
        "loadSession": True,
        "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
        "mcpCapabilities": {"http": True, "sse": True},
        "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "delete": {}, "fork": {}},
    }


@pytest.mark.parametrize(("method", "switch"), GATES.items())
async def test_a_switched_off_method_is_gone(home: Path, cwd: Path, method: str, switch: str) -> None:
    """L5: A method removed by `--without` is not advertised and fails with -32601."""
    async with Driver.start(home, "--without", switch) as agent:
        capabilities = await _capabilities(agent)
        assert switch not in capabilities["sessionCapabilities"]
        assert capabilities["loadSession"] == (switch != "load")
        result = await agent.request("session/new", {"cwd": str(cwd), "mcpServers": []})
        assert ("modes" in result, "configOptions" in result) == (switch != "modes", switch != "config")
        params: Json = {"sessionId": result["sessionId"], "cwd": str(cwd), "mcpServers": []}
        line = {"jsonrpc": "2.0", "id": "gone", "method": method, "params": params}
        agent.raw(msgspec.json.encode(line) + b"\n", "gone")
        with pytest.raises(Refused) as refused:
            await agent.answer("gone")
        assert refused.value.code == -32601


async def test_switched_off_extras_are_not_sent(home: Path, cwd: Path) -> None:
    """L5: Without usage, commands, titles and message ids the agent sends only the rest, in replays too."""
    async with Driver.start(home) as agent:
        old = await agent.new(cwd)
        await agent.prompt(old, "titled")
    async with Driver.start(home, "--without", "usage,commands,titles,message-ids") as agent:
        session = await agent.new(cwd)
        assert await agent.prompt(session, "/status") == {"stopReason": "end_turn"}
        assert [each["update"] for each in agent.updates] == [
            {
                "sessionUpdate": "agent_message_chunk",
                "content": {"type": "text", "text": 'You said "/status". This is user turn 1.'},
            }
        ]
        sessions = (await agent.request("session/list", {}))["sessions"]
        assert [each.keys() & {"title"} for each in sessions] == [set(), set()]
        seen = len(agent.updates)
        await agent.request("session/load", {"sessionId": old, "cwd": str(cwd), "mcpServers": []})
        replayed = [each["update"] for each in agent.updates[seen:]]
        assert [each["sessionUpdate"] for each in replayed] == ["user_message_chunk", "agent_message_chunk"]
        assert [each.keys() & {"messageId"} for each in replayed] == [set(), set()]


@pytest.mark.parametrize(
    ("switch", "block"),
    [
        ("images", {"type": "image", "data": "eA==", "mimeType": "image/png"}),
        ("embedded", {"type": "resource", "resource": {"uri": "file:///a", "text": "x"}}),
    ],
)
async def test_content_is_accepted_as_advertised(home: Path, cwd: Path, switch: str, block: Json) -> None:
    """L5: Accepts images and embedded context unless they are switched off."""
    async with Driver.start(home) as agent:
        session = await agent.new(cwd)
        await agent.request("session/prompt", {"sessionId": session, "prompt": [block]})
    async with Driver.start(home, "--without", switch) as agent:
        assert sorted((await _capabilities(agent))["promptCapabilities"].values()) == [False, False, True]
        session = await agent.new(cwd)
        with pytest.raises(Refused) as refused:
            await agent.request("session/prompt", {"sessionId": session, "prompt": [block]})
        assert refused.value.code == -32602


@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_mcp_transports_are_accepted_as_advertised(home: Path, cwd: Path, transport: str) -> None:
    """L5: Refuses an MCP transport that is switched off at session/new."""
    server: Json = {"type": transport, "name": "x", "url": "http://127.0.0.1:1/", "headers": []}
    async with Driver.start(home) as agent:
        await agent.new(cwd, servers=[server])
    async with Driver.start(home, "--without", transport) as agent:
        assert (await _capabilities(agent))["mcpCapabilities"][transport] is False
        with pytest.raises(Refused) as refused:
            await agent.new(cwd, servers=[server])
        assert refused.value.code == -32602


def test_every_switch_is_documented() -> None:
    """L5: The documentation lists every name of `--without`."""
    text = (Path(__file__).parents[3] / "docs/reference/demo-agent.md").read_text()
    assert [name for name in SWITCHES if f"`{name}`" not in text] == []


@pytest.mark.parametrize("arguments", [["--without", "load,nonsense"], ["--nonsense"]])
def test_wrong_arguments(arguments: list[str]) -> None:
    """L5, L4: An unknown name or flag exits with code 2 and a message."""
    command = [sys.executable, "-m", "bough.agents.demo", *arguments]
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20)
    assert (result.returncode, result.stdout) == (2, "")
    assert "nonsense" in result.stderr


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"not json\n", -32700),
        (b"\xff\xfe\n", -32700),
        (b'{"jsonrpc":"2.0","id":1\n', -32700),
        (b'{"jsonrpc":"2.0","x":' + b"[" * 100_000 + b"\n", -32700),
        (b"[1,2]\n", -32600),
        (b"null\n", -32600),
        (b'"x"\n', -32600),
        (b'{"id":null,"method":"session/list"}\n', -32600),
        (b'{"jsonrpc":"1.0","id":null,"method":"session/list"}\n', -32600),
        (b'{"jsonrpc":"2.0","id":[1],"method":"session/list"}\n', -32600),
    ],
)
async def test_hostile_lines_are_answered(agent: Driver, line: bytes, code: int) -> None:
    """L5: A line that is not a message is answered with an error and the id null; the agent continues."""
    agent.raw(line)
    agent.raw(ECHO, "echo")
    await agent.answer("echo")
    assert [error["code"] for error in agent.bad_lines] == [code]


@pytest.mark.parametrize(
    "line",
    [
        b"\n\r\n",
        b'{"jsonrpc":"2.0","id":99,"result":{}}\n',
        b'{"jsonrpc":"2.0","id":99,"error":{"code":1,"message":"x"}}\n',
        b'{"jsonrpc":"2.0"}\n',
        b'{"jsonrpc":"2.0","method":"_unknown/notification","params":{}}\n',
        b'{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":7}}\n',
        b'{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"nobody"}}\n',
        b'{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":12345}}\n',
    ],
)
async def test_messages_without_an_answer(agent: Driver, line: bytes) -> None:
    """L5: Ignores empty lines, stray answers, and unknown or invalid notifications."""
    agent.raw(line)
    agent.raw(ECHO, "echo")
    await agent.answer("echo")
    assert [message["id"] for message in agent.log] == [1, "echo"]


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("nonsense", {}, -32601),
        ("_custom/method", {}, -32601),
        ("session/new", {}, -32602),
        ("session/new", {"cwd": "relative", "mcpServers": []}, -32602),
        ("session/new", {"cwd": "/nowhere/at/all", "mcpServers": []}, -32602),
        ("session/new", {"cwd": "/", "mcpServers": [{"type": "acp", "name": "x", "serverId": "y"}]}, -32602),
        ("session/new", {"cwd": "/", "mcpServers": [{"type": "http", "name": "x"}]}, -32602),
        ("session/prompt", {"sessionId": "nobody", "prompt": []}, -32002),
        ("session/prompt", {"sessionId": "nobody", "prompt": "text"}, -32602),
        ("session/set_mode", {"sessionId": "nobody", "modeId": "plan"}, -32002),
        ("session/close", {"sessionId": "nobody"}, -32002),
        ("session/load", [], -32602),
    ],
)
async def test_errors_have_their_codes(agent: Driver, method: str, params: object, code: int) -> None:
    """L5: Uses -32601 for an unknown request, -32602 for bad parameters, and -32002 for an unknown session."""
    agent.raw(msgspec.json.encode({"jsonrpc": "2.0", "id": "x", "method": method, "params": params}) + b"\n", "x")
    with pytest.raises(Refused) as refused:
        await agent.answer("x")
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("session/prompt", {"prompt": [{"type": "audio", "data": "eA==", "mimeType": "audio/wav"}]}),
        ("session/prompt", {"prompt": [{"type": "hologram"}]}),
        ("session/prompt", {"prompt": [{"type": "text"}]}),
        ("session/set_config_option", {"configId": "model", "value": "gigantic"}),
        ("session/set_config_option", {"configId": "colour", "value": "red"}),
        ("session/set_config_option", {"configId": "model", "type": "boolean", "value": True}),
    ],
)
async def test_bad_values_are_refused(agent: Driver, cwd: Path, method: str, params: Json) -> None:
    """L5: Content that is not advertised and options that do not exist are refused with -32602."""
    line = {"jsonrpc": "2.0", "id": "x", "method": method, "params": {"sessionId": await agent.new(cwd), **params}}
    agent.raw(msgspec.json.encode(line) + b"\n", "x")
    with pytest.raises(Refused) as refused:
        await agent.answer("x")
    assert refused.value.code == -32602


async def test_nothing_before_initialize(home: Path, cwd: Path) -> None:
    """L5: Refuses requests before initialize."""
    async with Driver.start(home, initialize=False) as agent:
        with pytest.raises(Refused) as refused:
            await agent.new(cwd)
        assert refused.value.code == -32600


async def test_no_update_comes_before_the_answer_to_new(agent: Driver, cwd: Path) -> None:
    """L5: Commands are advertised after the answer to session/new, never before it."""
    session = await agent.new(cwd)
    await agent.until(lambda: len(agent.updates) == 1)
    assert [message.get("method", "answer") for message in agent.log] == ["answer", "answer", "session/update"]
    assert agent.updates[0]["sessionId"] == session


async def test_a_client_that_does_not_read_can_still_cancel(home: Path, cwd: Path) -> None:
    """L5: The agent reads its input even while its output is stuck; a cancel ends a flood that nobody reads."""
    async with Driver.start(home) as agent:
        session = await agent.new(cwd)
        agent.reading.clear()
        request = agent.send_prompt(session, "[[flood 1000000]]")
        written = [0]

        def stuck() -> bool:
            written.append(_written(agent.process.pid))
            return written[-1] == written[-2] > 1_000_000

        await eventually(stuck)
        agent.notify("session/cancel", {"sessionId": session})
        record = home / f"{session}.jsonl"
        await eventually(lambda: b'"stopReason":"cancelled"' in record.read_bytes())
        agent.reading.set()
        assert (await agent.answer(request))["stopReason"] == "cancelled"
        assert 1 <= len(agent.of(session, "agent_message_chunk")) < 1_000_000


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_the_agent_cleanly(agent: Driver, cwd: Path, number: signal.Signals) -> None:
    """L5: SIGTERM ends the agent at once with exit code 0; a running turn is answered as cancelled."""
    session = await agent.new(cwd)
    request = agent.send_prompt(session, "[[say now]][[hang]]")
    await agent.until(lambda: agent.said(session) == "now")
    async with asyncio.timeout(30):
        agent.process.send_signal(number)
        assert (await agent.answer(request))["stopReason"] == "cancelled"
        assert await agent.exit_code() == 0


def _written(pid: int) -> int:
    """Returns how many bytes a process has written so far."""
    lines = Path(f"/proc/{pid}/io").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("wchar"))


def test_end_of_input_ends_the_agent(home: Path) -> None:
    """L5: The agent exits when its input ends, which need not be a pipe."""
    command = [sys.executable, "-m", "bough.agents.demo", "--home", str(home)]
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=20)
    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")
    assert not home.exists()


def test_home_comes_from_the_environment(home: Path, cwd: Path) -> None:
    """L5: Without `--home`, sessions are kept in BOUGH_DEMO_HOME."""
    lines: list[Json] = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}},
        {"jsonrpc": "2.0", "id": 2, "method": "session/new", "params": {"cwd": str(cwd), "mcpServers": []}},
    ]
    result = subprocess.run(
        [sys.executable, "-m", "bough.agents.demo"],
        input=b"\n".join(map(msgspec.json.encode, lines)) + b"\n",
        env={**os.environ, "BOUGH_DEMO_HOME": str(home)},
        capture_output=True,
        timeout=20,
    )
    session = msgspec.json.decode(result.stdout.splitlines()[1])["result"]["sessionId"]
    assert os.listdir(home) == [f"{session}.jsonl"]


def test_starting_loads_nothing_heavy() -> None:
    """L5: The agent starts quickly, because `mcp` and its dependencies are loaded only for a directive that needs
    them."""
    code = "import sys, bough.agents.demo.__main__; print({'mcp', 'pydantic', 'httpx2', 'anyio'} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=20)
    assert result.stdout == "set()\n"
