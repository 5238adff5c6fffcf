"""Attacks by a process that runs as the same user: taking over another agent's keeper, and reading its journal."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from bough.agents.keeper import frames
from bough.agents.keeper.frames import VERSION
from bough.agents.keeper_client.keeper_key import SECRET, keeper_key
from bough.agents.keeper_client.keeper_launcher import KeeperLauncher
from bough.agents.link import LinkClosed
from tests.agents.keeper_peers import Keepers, RawClient
from tests.support.server import Running

SECRET_VALUE = "value-of-a-secret-4711"
SECRET_HEADER = "header-of-a-server-4712"


@pytest.fixture
async def keepers(tmp_path: Path) -> AsyncGenerator[Keepers]:
    keepers = Keepers(tmp_path / "keepers")
    yield keepers
    await keepers.close()


async def test_a_keeper_serves_only_its_server(keepers: Keepers) -> None:
    """O2, L1: Without its own key, a process of the same user can neither attach, send, read nor end the agent."""
    link = await keepers.start("cat")
    other = await keepers.start("cat")
    for key in (None, "", "x", 7, "\ud800", keeper_key(keepers.root, other.folder.name)):
        with RawClient(link.folder) as thief:
            thief.hello(key=key, take_over=True)
            with contextlib.suppress(BrokenPipeError):
                thief.say(frames.send_frame("k", b"stolen") + frames.message(frames.END, grace=0))
            assert thief.hear_note()[0] == "denied"
            assert thief.hear() is None
    with RawClient(link.folder) as thief:
        thief.say(frames.message(frames.HELLO, version=VERSION, last=0, take_over=True))
        assert thief.hear_note()[0] == "denied"
    # The server is still connected, and the agent has read nothing.
    assert await link.send(b"mine", "k1")
    assert (await link.receive()).lines == [b"mine"]


async def test_the_key_is_not_in_the_keepers_folder(keepers: Keepers) -> None:
    """O2, L1: The keeper's folder and the environment of its agent hold nothing that opens the keeper."""
    link = await keepers.start("cat", "/proc/self/environ")
    with pytest.raises(LinkClosed):
        while True:
            await link.receive()
    key = keeper_key(keepers.root, link.folder.name).encode()
    secret = (keepers.root / SECRET).read_bytes()
    contents = {path.name: path.read_bytes() for path in link.folder.iterdir() if path.is_file()}
    assert contents != {}
    assert [name for name, content in contents.items() if key in content or secret in content] == []
    assert (keepers.root / SECRET).stat().st_mode & 0o777 == 0o600


async def test_a_lost_secret_ends_no_turn(keepers: Keepers) -> None:
    """O2: Without the secret, a later server still gets what the agent says, from the journal."""
    link = await keepers.start("cat")
    await link.send(b"before", "k1")
    assert (await link.receive()).lines == [b"before"]
    await link.leave()
    (keepers.root / SECRET).unlink()
    again = await KeeperLauncher(keepers.root).attach(link.folder.name, 0)
    assert (await again.receive()).lines == [b"before"]
    assert not await again.send(b"before", "k1"), "known by its key"
    await again.end()


async def test_a_journal_holds_no_token_or_secret(server: Running) -> None:
    """L1, R1: What is sent to an agent, with its token and the secrets of its MCP servers, is not in its journal."""
    client = server.client
    tool = {
        "name": "far",
        "transport": "http",
        "url": "http://127.0.0.1:9/x",
        "headers": {"authorization": SECRET_HEADER},
    }
    mcp = await client.post("/api/mcp-servers", tool)
    repo = await client.repo(server.repo())
    session = await client.session(repo["id"], env={"MY_SECRET": SECRET_VALUE}, mcpServerIds=[mcp["id"]])
    await client.ask(session["id"], "hello")
    journals = list((server.data / "keepers").glob("*/*"))
    texts = {path: path.read_bytes() for path in journals if path.is_file() and not path.is_socket()}
    assert any(path.name == "journal" for path in texts)
    for path, text in texts.items():
        for secret in (b"bough-session-", SECRET_VALUE.encode(), SECRET_HEADER.encode(), server.token.encode()):
            assert secret not in text, path
