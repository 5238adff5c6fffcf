"""Tests the proxy with real sockets: requests, tunnels, doors, and names that lead into this machine."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import cast

import pytest

from bough.agents.network import dial as dial_module
from bough.agents.network import proxy as module
from bough.agents.network.addresses import Reach
from bough.agents.network.control import MORE, MOST_LOGGED, ControlConnection
from bough.agents.network.dial import NotPublic, dial
from bough.agents.network.gate import HostGate
from bough.agents.network.hosts import HostAndPort
from bough.agents.network.proxy import LocalService, Proxy
from tests.support.eventually import eventually

REACHES: tuple[Reach, ...] = ("public", "internal")
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"


@dataclass
class Origin:
    """A host that answers every request with `ok`, and what it received."""

    port: int
    heads: list[bytes] = field(default_factory=list[bytes])

    @property
    def target(self) -> HostAndPort:
        return HostAndPort("127.0.0.1", self.port)


@dataclass
class Served:
    """A running proxy, its port, the port of a door, and its decisions."""

    origin: Origin
    gate: HostGate
    proxy: Proxy
    port: int
    door: int
    notes: list[tuple[str, str]]

    async def send(self, data: bytes, port: int | None = None) -> bytes:
        """Sends a request and returns the whole answer."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port or self.port)
        try:
            writer.write(data)
            async with asyncio.timeout(30):
                return await reader.read()
        finally:
            writer.close()
            await writer.wait_closed()


def quiet(_target: HostAndPort, _decision: str, _reason: str) -> None:
    """Writes nothing down."""


def is_anything(_address: str, _reach: Reach) -> bool:
    return True


def is_nothing(_sock: socket.socket) -> bool:
    return False


def listening() -> socket.socket:
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setblocking(False)
    return listener


@contextlib.asynccontextmanager
async def origin() -> AsyncGenerator[Origin]:
    hosted = Origin(0)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError):
            hosted.heads.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(ANSWER)
            await writer.drain()
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(answer, sock=listening())
    hosted.port = server.sockets[0].getsockname()[1]
    async with server:
        yield hosted


@pytest.fixture
async def served() -> AsyncGenerator[Served]:
    notes: list[tuple[str, str]] = []

    def ask(name: str) -> None:
        asyncio.get_running_loop().call_soon(lambda: gate.answer(name, allowed=False, reason="No.", remembered=True))

    async with origin() as hosted:
        gate = HostGate(["inside.example"], [f"127.0.0.1:{hosted.port}"], ask)
        proxy = Proxy(gate, lambda target, decision, _reason: notes.append((target.endpoint, decision)))
        listeners = [listening(), listening()]
        ports = [listener.getsockname()[1] for listener in listeners]
        servers = [
            await proxy.listen(listeners[0]),
            await proxy.listen(listeners[1], LocalService(hosted.target, "/mcp/")),
        ]
        try:
            yield Served(hosted, gate, proxy, ports[0], ports[1], notes)
        finally:
            for server in servers:
                server.close()
            await proxy.close()


async def test_a_plain_request(served: Served) -> None:
    """S6: A request for a whole address reaches the host with its path and its own name."""
    address = f"http://127.0.0.1:{served.origin.port}/x".encode()
    assert await served.send(b"GET " + address + b" HTTP/1.1\r\nHost: evil\r\n\r\n") == ANSWER
    assert served.origin.heads[0].startswith(f"GET /x HTTP/1.1\r\nHost: 127.0.0.1:{served.origin.port}\r\n".encode())
    assert served.notes == [(served.origin.target.endpoint, "allowed")]


async def test_a_tunnel(served: Served) -> None:
    """S6: After CONNECT everything passes in both directions."""
    request = f"CONNECT 127.0.0.1:{served.origin.port} HTTP/1.1\r\n\r\n".encode()
    answer = await served.send(request + b"GET / HTTP/1.1\r\n\r\n")
    assert answer == module.ESTABLISHED + ANSWER


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("evil.example:443", "No."),
        ("169.254.169.254:80", "addresses cannot be approved"),
        ("[::ffff:10.0.0.1]:80", "addresses cannot be approved"),
        ("localhost:80", "This is the local machine"),
        ("127.0.0.1:1", "This is the local machine"),
    ],
)
async def test_other_hosts_are_blocked(served: Served, target: str, reason: str) -> None:
    """S6: The program learns why, and nothing is resolved."""
    answer = (await served.send(f"CONNECT {target} HTTP/1.1\r\n\r\n".encode())).decode()
    assert answer.startswith("HTTP/1.1 403 ") and "Bough's sandbox blocked the connection to" in answer
    assert reason in answer
    assert [decision for _, decision in served.notes] == ["denied"]


@pytest.mark.parametrize(
    "request_line",
    [
        *("GET / HTTP/1.1", "CONNECT 127.1:80 HTTP/1.1", "nonsense", "GET /", "PRI * HTTP/2.0"),
        *("CONNECT 0177.0.0.1:80 HTTP/1.1", "CONNECT 0x7f.0x0.0x0.0x1:80 HTTP/1.1", "CONNECT inside.example HTTP/1.1"),
        *(
            "GET http://inside.example:80:81/ HTTP/1.1",
            "GET http://inside.exa\tmple/ HTTP/1.1",
            "GET ftp://x/ HTTP/1.1",
        ),
        *("GET http://inside.example\0.evil.example/ HTTP/1.1", "GET file:///etc/passwd HTTP/1.1"),
        *("GET http://inside.example/\nX HTTP/1.1", "GET http://inside.example/ HTTP/1.1\nX:y"),
    ],
)
async def test_bad_requests(served: Served, request_line: str) -> None:
    """S6: What the proxy does not understand is refused."""
    assert (await served.send(f"{request_line}\r\n\r\n".encode())).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    ("address", "target"),
    [
        ("http://inside.example@127.0.0.1:1/", "127.0.0.1:1"),
        ("http://127.0.0.1:1\\@evil.example/", "evil.example:80"),
        ("http://evil.example#@inside.example/", "evil.example:80"),
        ("http://evil.example?@inside.example/", "evil.example:80"),
        ("http://[::1%25lo]:1/", "[::1%25lo]:1"),
    ],
)
async def test_odd_addresses_name_one_host(served: Served, address: str, target: str) -> None:
    """S6: The host that is decided about is the one that would be connected."""
    assert (await served.send(f"GET {address} HTTP/1.1\r\n\r\n".encode())).startswith(b"HTTP/1.1 403 ")
    assert served.notes == [(target, "denied")]


async def test_a_long_head_is_refused(served: Served) -> None:
    """S6: An endless head does not fill the memory."""
    assert (await served.send(b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 20_000)).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1"])
async def test_an_allowed_name_leads_to_no_private_address(
    served: Served, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    """S6: Whoever owns an allowed name cannot point it at this machine or its network."""

    async def resolved(_target: HostAndPort) -> list[tuple[socket.AddressFamily, tuple[str, int]]]:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        return [(family, (address, served.origin.port))]

    monkeypatch.setattr(dial_module, "_resolve", resolved)
    answer = (await served.send(b"CONNECT inside.example:443 HTTP/1.1\r\n\r\n")).decode()
    assert answer.startswith("HTTP/1.1 403 ") and "not on the public internet" in answer
    assert served.origin.heads == []
    with pytest.raises(NotPublic):
        await dial(HostAndPort("inside.example", 443), "public")


async def test_a_public_address_of_this_machine(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """S6: A name that leads to this machine by one of its own addresses is refused after connecting."""

    async def resolved(_target: HostAndPort) -> list[tuple[socket.AddressFamily, tuple[str, int]]]:
        return [(socket.AF_INET, ("127.0.0.1", served.origin.port))]

    monkeypatch.setattr(dial_module, "_resolve", resolved)
    monkeypatch.setattr(dial_module, "is_within", is_anything)
    for reach in REACHES:
        with pytest.raises(NotPublic, match="this machine itself"):
            await dial(HostAndPort("inside.example", 443), reach)


async def test_an_address_that_does_not_answer(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """S6: The next address is tried as well, so that a network that leads nowhere costs little."""

    async def resolved(_target: HostAndPort) -> list[tuple[socket.AddressFamily, tuple[str, int]]]:
        port = served.origin.port
        return [
            (socket.AF_INET6, ("::1", port)),
            (socket.AF_INET6, ("::1", port)),
            (socket.AF_INET, ("127.0.0.1", port)),
        ]

    monkeypatch.setattr(dial_module, "_resolve", resolved)
    with await dial(HostAndPort("inside.example", 443), "any") as sock:
        assert sock.getpeername()[0] == "127.0.0.1"


async def test_a_door_opens_one_path(served: Served) -> None:
    """S6: Of Bough's server, the sandbox reaches its tools and nothing else."""
    ok = await served.send(b"POST /mcp/ HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", served.door)
    assert ok == ANSWER
    for path in ("/api/sessions", "/", "/mcp/../api", "/mcpx", "//mcp/", "/mcp//", "/mcp/x", "http://127.0.0.1/api"):
        answer = await served.send(f"GET {path} HTTP/1.1\r\n\r\n".encode(), served.door)
        assert answer.startswith(b"HTTP/1.1 403 "), path
    assert len(served.origin.heads) == 1


async def test_a_door_takes_one_request_for_each_connection(served: Served) -> None:
    """S6: A second request behind the first does not slip through, in whatever form."""
    smuggled = b"GET /api/sessions HTTP/1.1\r\n\r\n"
    assert await served.send(b"POST /mcp HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}" + smuggled, served.door) == ANSWER
    chunked = b"POST /mcp HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    assert (await served.send(chunked + smuggled, served.door)).startswith(b"HTTP/1.1 400 ")
    hidden = b"POST /mcp HTTP/1.1\r\nTransfer-Encoding:\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n"
    assert (await served.send(hidden + b"0\r\n\r\n" + smuggled, served.door)).startswith(b"HTTP/1.1 400 ")
    lengths = b"POST /mcp HTTP/1.1\r\nContent-Length: 0\r\nContent-Length: 2\r\n\r\n{}"
    assert (await served.send(lengths, served.door)).startswith(b"HTTP/1.1 400 ")
    assert len(served.origin.heads) == 1 and b"Connection: close" in served.origin.heads[0]


async def test_a_door_without_a_service(served: Served) -> None:
    """S6: While Bough's server does not run, the connection just closes."""
    proxy, listener = Proxy(served.gate, quiet), listening()
    with socket.create_server(("127.0.0.1", 0)) as closed:
        free = closed.getsockname()[1]
    server = await proxy.listen(listener, LocalService(HostAndPort("127.0.0.1", free)))
    assert await served.send(b"hello", listener.getsockname()[1]) == b""
    server.close()
    await proxy.close()


async def test_an_early_answer_reaches_the_client(served: Served) -> None:
    """S6: A service that refuses a request before it has read the body is heard."""
    head = b"POST /mcp/ HTTP/1.1\r\nContent-Length: 100000000\r\n\r\n"
    reader, writer = await asyncio.open_connection("127.0.0.1", served.door)
    writer.write(head + b"x" * 10_000_000)
    async with asyncio.timeout(30):
        assert await reader.read() == ANSWER
    writer.transport.abort()


async def test_a_client_that_ends_its_side_gets_the_answer(served: Served) -> None:
    """S6: The end of a request is not the end of the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", served.door)
    writer.write(b"POST /mcp/ HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}")
    writer.write_eof()
    async with asyncio.timeout(30):
        assert await reader.read() == ANSWER
    writer.close()
    await writer.wait_closed()


async def test_a_revoked_host_is_cut_off(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """S6: Open connections end with the permission; others continue."""

    async def resolved(_target: HostAndPort) -> list[tuple[socket.AddressFamily, tuple[str, int]]]:
        return [(socket.AF_INET, ("127.0.0.1", served.origin.port))]

    monkeypatch.setattr(dial_module, "_resolve", resolved)
    monkeypatch.setattr(dial_module, "is_within", is_anything)
    monkeypatch.setattr(dial_module, "_is_this_machine", is_nothing)
    connections: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
    for target in ("inside.example:443", f"127.0.0.1:{served.origin.port}"):
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
        writer.write(f"CONNECT {target} HTTP/1.1\r\n\r\n".encode())
        assert await reader.readuntil(b"\r\n\r\n") == module.ESTABLISHED
        connections.append((reader, writer))
    served.gate.reset([], same_turn=True)
    served.proxy.close_revoked()
    (revoked, revoked_writer), (other, other_writer) = connections
    with contextlib.suppress(ConnectionResetError):
        async with asyncio.timeout(30):
            assert await revoked.read() == b""
    other_writer.write(b"GET / HTTP/1.1\r\n\r\n")
    async with asyncio.timeout(30):
        assert await other.read() == ANSWER
    for writer in (revoked_writer, other_writer):
        writer.transport.abort()


async def test_a_client_that_does_not_wait(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """S6: A program that gives up while a person is asked holds no connection."""
    monkeypatch.setattr(module, "WATCH", 0.01)
    asked: list[str] = []
    gate = HostGate([], [], asked.append)
    proxy, listener = Proxy(gate, quiet), listening()
    server = await proxy.listen(listener)
    _, writer = await asyncio.open_connection("127.0.0.1", listener.getsockname()[1])
    writer.write(b"CONNECT new.example:443 HTTP/1.1\r\n\r\n")
    await eventually(lambda: asked == ["new.example"], "a person is asked")
    assert proxy.open == 1
    writer.transport.abort()
    await eventually(lambda: proxy.open == 0, "the connection is forgotten")
    server.close()
    await proxy.close()


async def test_denials_do_not_silence_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    """S6: Each decision has its own bound in the log, and a new prompt begins again."""
    sent: list[bytes] = []

    class Writer:
        def write(self, data: bytes) -> None:
            sent.append(data)

    control = ControlConnection(asyncio.StreamReader(), cast("asyncio.StreamWriter", Writer()))
    for port in range(1, MOST_LOGGED + 100):
        control.note(HostAndPort("1.2.3.4", port), "denied", "No.")
    control.note(HostAndPort("api.example", 443), "allowed", "")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(sent) == MOST_LOGGED + 2
    assert MORE in lines[-2] and lines[-1].endswith("allowed api.example:443")
    control.forget_logged()
    control.note(HostAndPort("1.2.3.4", 1), "denied", "No.")
    assert len(sent) == MOST_LOGGED + 3
