"""The keeper and the proxy of a strict sandbox, without the sandbox: questions, answers, servers that come and go."""

import asyncio
import os
import signal
import socket
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest

from bough.agents.keeper import files
from bough.agents.keeper.agent_process import PORTS_FD
from bough.agents.keeper_client.keeper_link import KeeperLink
from bough.agents.keeper_client.start_keeper import start_keeper
from bough.agents.link import LinkClosed
from bough.agents.network import open_ports
from tests.agents.keeper_peers import Keepers, read
from tests.support.eventually import eventually

CLIENT = """
import os, socket, sys, time
for line in sys.stdin:
    host, *marks = line.split()
    while any(not os.path.exists(mark) for mark in marks):
        time.sleep(0.01)
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as sock:
        sock.sendall(f"CONNECT {host} HTTP/1.1\\r\\n\\r\\n".encode())
        answer = b""
        while block := sock.recv(65536):
            answer += block
    print(answer.split(b" ", 2)[1].decode(), answer.rpartition(b"\\n\\r\\n")[2].decode().strip(), flush=True)
"""
"""An agent that asks the proxy for each host that it is told, once the files after it exist, and prints the status and
the text of the answer. It looks for the files again and again: as a program of its own, it has no event to wait for."""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return sock.getsockname()[1]


async def start(root: Path, **network: Any) -> KeeperLink:
    port = free_port()
    command = [sys.executable, "-I", "-S", open_ports.__file__, str(PORTS_FD), f"127.0.0.1/{port}"]
    command += [sys.executable, "-c", CLIENT, str(port)]
    settings = {"hosts": ["listed.invalid"], "trusted": [], "doors": []} | network
    return await start_keeper(root, f"k-{uuid.uuid4().hex}", command, cwd="/", env=os.environ, network=settings)


async def test_questions_reach_the_server_and_answers_the_proxy(keepers: Keepers) -> None:
    """S6: An unknown host is asked about; the list of a new prompt replaces answers."""
    link = await start(keepers.root)
    heard: list[dict[str, Any]] = []
    link.on_network(heard.append)
    await link.send(b"listed.invalid:443", "1")
    [answer] = await read(link, 1)
    assert answer.startswith(b"502 ")  # It is allowed, but there is no such host.
    await link.send(b"new.invalid:443", "2")
    await eventually(lambda: {"ask": "new.invalid"} in heard, "the server is asked")
    link.send_hosts({"answer": "new.invalid", "allow": False, "reason": "A person has denied it.", "keep": True})
    [answer] = await read(link, 1)
    assert answer.startswith(b"403 ") and b"A person has denied it." in answer
    link.send_hosts({"hosts": ["new.invalid"]})
    await link.send(b"new.invalid:443", "3")
    [answer] = await read(link, 1)
    assert answer.startswith(b"502 ")
    await link.send(b"listed.invalid:443", "4")
    await eventually(lambda: {"ask": "listed.invalid"} in heard, "the first list counts no more")
    link.send_hosts({"answer": "listed.invalid", "allow": False, "reason": "No.", "keep": False})
    await read(link, 1)
    assert [entry["log"]["decision"] for entry in heard if "log" in entry][:2] == ["allowed", "failed"]
    assert "denied new.invalid:443" in (link.folder / files.NETWORK_LOG).read_text()
    await link.end()


async def test_without_a_server_unknown_hosts_are_denied(keepers: Keepers, tmp_path: Path) -> None:
    """S6: The network of listed hosts outlives the server; nothing else is allowed meanwhile."""
    link, mark = await start(keepers.root), tmp_path / "mark"
    await link.send(f"listed.invalid:443 {mark}".encode(), "1")
    await link.send(f"new.invalid:443 {mark}".encode(), "2")
    await link.leave()
    mark.touch()
    log = link.folder / files.NETWORK_LOG
    await eventually(lambda: "denied new.invalid:443" in log.read_text(), "the agent has tried")
    again = await keepers.attach(link, 0)
    listed, new = (await read(again, 2))[:2]
    assert listed.startswith(b"502 ")
    assert new.startswith(b"403 ") and b"server does not run" in new
    await again.end()


async def test_the_next_server_is_asked_again(keepers: Keepers) -> None:
    """S6: A question that the last server left open reaches the next one."""
    link = await start(keepers.root)
    heard: list[dict[str, Any]] = []
    link.on_network(heard.append)
    await link.send(b"open.invalid:443", "1")
    await eventually(lambda: {"ask": "open.invalid"} in heard, "the server is asked")
    await link.leave()
    again = await keepers.attach(link, 0)
    heard.clear()
    again.on_network(heard.append)
    await eventually(lambda: {"ask": "open.invalid"} in heard, "the next server is asked")
    again.send_hosts({"answer": "open.invalid", "allow": False, "reason": "No.", "keep": False})
    [answer] = await read(again, 1)
    assert answer == b"403 Bough's sandbox blocked the connection to open.invalid:443. No."
    await again.end()


async def test_the_proxy_ends_with_its_agent(keepers: Keepers) -> None:
    """S6: Nothing is left of a strict agent, and its end is in order."""
    link = await start(keepers.root)
    await link.send(b"listed.invalid:443", "1")
    await read(link, 1)
    exit = await link.end()
    assert exit.code == 0
    assert not [pid for pid in os.listdir("/proc") if pid.isdigit() and _is_marked(pid, link.folder.name)]


async def test_an_agent_ends_with_its_proxy(keepers: Keepers) -> None:
    """S6: An agent that has lost its network is ended, so that its turn continues with a new one."""
    link = await start(keepers.root)
    await link.send(b"listed.invalid:443", "1")
    await read(link, 1)
    [proxy] = [pid for pid in os.listdir("/proc") if pid.isdigit() and _is_proxy(pid, link.folder.name)]
    os.kill(int(proxy), signal.SIGKILL)
    with pytest.raises(LinkClosed):
        await asyncio.wait_for(link.receive(), 60)
    await link.end()


def _is_proxy(pid: str, name: str) -> bool:
    try:
        return _is_marked(pid, name) and b"bough.agents.network" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _is_marked(pid: str, name: str) -> bool:
    try:
        return f"{files.MARK}={name}".encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False
