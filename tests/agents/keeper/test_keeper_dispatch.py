"""A keeper serves one server at a time, sends everything after its last number, and no key twice."""

import asyncio
import contextlib

import pytest

from bough.agents.keeper import frames
from bough.agents.keeper.frames import VERSION
from bough.agents.keeper.journal import read_journal
from bough.agents.keeper_client.keeper_key import keeper_key
from bough.agents.link import LinkClosed
from tests.agents.keeper_peers import Keepers, RawClient, gone, keeper_pid, read
from tests.support.eventually import eventually

STEERED = """
import sys
for line in sys.stdin:
    print("heard", line.strip(), flush=True)
"""


def lines(client: RawClient, count: int) -> list[bytes]:
    """Returns the next lines, at least this many."""
    data = b""
    while data.count(b"\n") < count:
        data += client.hear_kind(frames.LINES).payload
    return data.splitlines()


async def test_everything_after_a_number_then_live(keepers: Keepers) -> None:
    """O2: A server receives everything after its last number and then live lines, once and in order."""
    link = await keepers.start("cat")
    lines = [b"line %d" % number for number in range(1, 6)]
    for number, line in enumerate(lines):
        await link.send(line, str(number))
    await read(link, 5)
    for last in range(6):
        await link.leave()
        link = await keepers.attach(link, last)
        assert (link.welcome.first, link.welcome.next) == (1, len(lines) + 1)
        lines.append(b"live after %d" % last)
        await link.send(lines[-1], f"live {last}")
        assert await read(link, len(lines) - last) == lines[last:]


async def test_one_at_a_time(keepers: Keepers) -> None:
    """O2: A second caller is refused and takes nothing from the first."""
    link = await keepers.start("cat")
    with RawClient(link.folder) as second:
        second.hello()
        assert second.hear_note() == ("busy", "This keeper already serves another server.")
        assert second.hear() is None
    assert await link.send(b"mine", "1")
    assert await read(link, 1) == [b"mine"]


async def test_the_next_server_takes_over(keepers: Keepers) -> None:
    """Q4: The connection of a dead server does not keep its successor out; used keys stay used."""
    link = await keepers.start("cat")
    await link.leave()
    with RawClient(link.folder) as dead:
        dead.hello()
        dead.say(frames.send_frame("prompt:1:1", b"prompt"))
        assert dead.hear_kind(frames.ACK).text() == {"key": "prompt:1:1", "state": "fresh"}
        assert lines(dead, 1) == [b"prompt"]
        dead.say(frames.HEADER.pack(frames.SEND, 0, 1, 1_000_000, 0, 0) + b"x" * 300_000)  # dies in mid-frame
        link = await keepers.attach(link, 0)
        assert dead.hear_note() == ("displaced", "Another server has taken over this keeper.")
        assert dead.hear() is None
    assert await read(link, 1) == [b"prompt"]
    assert not await link.send(b"prompt", "prompt:1:1")
    assert await link.send(b"next", "prompt:2:1")
    assert await read(link, 1) == [b"next"]


async def test_a_server_that_is_displaced(keepers: Keepers) -> None:
    """O2: A displaced server receives nothing more of the agent, which keeps running."""
    link = await keepers.start("cat")
    again = await keepers.attach(link, 0)
    with pytest.raises(LinkClosed):
        await link.receive()
    assert await again.send(b"ours", "1")
    assert await read(again, 1) == [b"ours"]


async def test_silent_callers(keepers: Keepers) -> None:
    """O2: Connections without HELLO keep no server out, however many there are."""
    link = await keepers.start("cat")
    await link.leave()
    with contextlib.ExitStack() as stack:
        silent = [stack.enter_context(RawClient(link.folder)) for _ in range(12)]
        link = await keepers.attach(link, 0)
        assert await link.send(b"hello", "1")
        assert await read(link, 1) == [b"hello"]
        for client in silent[:8]:
            assert client.hear() is None


@pytest.mark.parametrize("version", [VERSION + 1, 0, "2.0"])
async def test_another_version(keepers: Keepers, version: int) -> None:
    """O2: The error names both versions, and the agent is unaffected."""
    link = await keepers.start("cat")
    await link.leave()
    with RawClient(link.folder) as other:
        other.hello(version=version, take_over=True)
        assert other.hear_note() == (
            "version",
            f"This keeper speaks version {VERSION} of its protocol, and the server version {version}. "
            "The agent keeps running.",
        )
        assert other.hear() is None
    link = await keepers.attach(link, 0)
    assert link.welcome.running


async def test_missing_lines(keepers: Keepers) -> None:
    """O2: A server that has more than was ever written, or lacks released lines, learns what the journal holds."""
    link = await keepers.start("cat")
    for number in range(5):
        await link.send(b"x" * 300_000, str(number))
    await read(link, 5)
    link.confirm(4)
    await eventually(lambda: (link.folder / "journal").stat().st_size < 1_000_000)
    await link.leave()
    for last, held in ((9, "lines 5 to 5"), (3, "lines 5 to 5")):
        with RawClient(link.folder) as client:
            client.hello(last=last)
            assert client.hear_note() == (
                "lost",
                f"The server has the lines up to {last}, but this keeper holds {held} of 5. "
                "The lines in between are lost.",
            )
    link = await keepers.attach(link, 4)
    assert await read(link, 1) == [b"x" * 300_000]


SAID_FIRST = {
    "send before hello": frames.send_frame("k", b"line"),
    "a list": frames.frame(frames.HELLO, b"[]"),
    "a list before hello": frames.frame(frames.END, b"[]"),
    "no json": frames.frame(frames.HELLO, b"\xff{"),
    "no version": frames.message(frames.HELLO, last=0),
    "no number": frames.message(frames.HELLO, version=VERSION),
    "no number at all": frames.message(frames.HELLO, version=VERSION, last=float("inf")),
    "a frame without end": frames.HEADER.pack(frames.HELLO, 0, 0, 2**32 - 1, 0, 0),
}
SAID_LATER = {
    "no key": frames.frame(frames.SEND, b"line"),
    "a key longer than all": frames.frame(frames.SEND, b"line", amount=9),
    "two lines": frames.send_frame("k", b"one\ntwo"),
    "a key that is no text": frames.frame(frames.SEND, b"\xff\xfeline", amount=2),
    "a prefix that is no text": frames.frame(frames.FORGET, b"\xff"),
    "an end without grace": frames.message(frames.END),
    "an end that is no object": frames.frame(frames.END, b"null"),
    "a second line at once": frames.send_frame("big", b"x" * 3_000_000) + frames.send_frame("l", b"x"),
}


async def test_no_frame_ends_a_keeper(keepers: Keepers) -> None:
    """Q4: A client that sends anything unreadable is refused, and the agent is unaffected."""
    link = await keepers.start("sleep", "60")
    await link.leave()
    key = keeper_key(keepers.root, link.folder.name)
    hello = frames.message(frames.HELLO, version=VERSION, key=key, last=0)
    for name, data in [*SAID_FIRST.items(), *((name, hello + data) for name, data in SAID_LATER.items())]:
        with RawClient(link.folder) as client:
            client.say(data)
            code, text = client.hear_note()
            assert (code, f"version {VERSION}" in text) == ("protocol", True), name
            assert client.hear() is None
    again = await keepers.attach(link, 0)
    assert again.welcome.keys == ["big"]
    assert not gone(link.pid)


async def test_an_unknown_frame(keepers: Keepers) -> None:
    """O2: Each side reports an unknown frame and continues."""
    link = await keepers.start("cat")
    await link.leave()
    with RawClient(link.folder) as client:
        client.hello()
        client.say(frames.frame(99, b"from the future"))
        client.say(frames.send_frame("1", b"known"))
        assert client.hear_note() == (
            "unknown_frame",
            f"This keeper (version {VERSION}) does not know frames of kind 99.",
        )
        assert client.hear_kind(frames.ACK).text()["state"] == "fresh"


async def test_every_kind_of_line_is_written_once(keepers: Keepers) -> None:
    """Q4: Prompts, answers and cancels are each written once, over reconnections too, until the task is closed; a
    repeated cancel does not hit the next turn."""
    link = await keepers.python(STEERED)
    heard: list[bytes] = []
    for kind in (b"prompt", b"approval", b"cancel"):
        assert await link.send(kind + b" of t1", f"{kind.decode()}:t1:1")
        heard += await read(link, 1)
    assert await link.send(b"prompt of t2", "prompt:t2:1")
    heard += await read(link, 1)
    for _ in range(2):
        for kind in ("prompt", "approval", "cancel"):
            assert not await link.send(b"again", f"{kind}:t1:1")
        await link.leave()
        link = await keepers.attach(link, 4)
    link.forget("prompt:t1")
    assert not await link.send(b"again", "cancel:t1:1")
    assert not await link.send(b"again", "prompt:t2:1")
    assert await link.send(b"the end", "last")
    heard += await read(link, 1)
    assert heard == [b"heard " + line for line in (b"prompt of t1", b"approval of t1", b"cancel of t1")] + [
        b"heard prompt of t2",
        b"heard the end",
    ]
    assert link.welcome.keys == ["prompt:t1:1", "approval:t1:1", "cancel:t1:1", "prompt:t2:1"]


async def test_a_key_whose_sender_died(keepers: Keepers) -> None:
    """Q4: A server that dies before the acknowledgement leaves a key that its successor finds used."""
    link = await keepers.start("cat")
    await link.leave()
    with RawClient(link.folder) as dying:
        dying.hello()
        dying.say(frames.send_frame("prompt:1:1", b"prompt"))
    assert await _settled(keepers, link.folder.name)
    link = await keepers.attach(link, 0)
    assert not await link.send(b"prompt", "prompt:1:1")
    assert await read(link, 1) == [b"prompt"]


async def _settled(keepers: Keepers, name: str) -> bool:
    """Waits until the line of a server that has hung up is journaled."""
    journal = keepers.root / name / "journal"
    async with asyncio.timeout(10):
        await eventually(lambda: b"prompt:1:1" in journal.read_bytes())
    return True


async def test_both_directions_are_journaled_in_order(keepers: Keepers) -> None:
    """O2: Every line has its number or its key, so the journal shows the order of both sides."""
    link = await keepers.start("cat")
    for number in range(1, 4):
        await link.send(b"line %d" % number, f"key {number}")
        await read(link, 1)
    await link.end()
    journaled = [(head.kind, head.first, payload) for head, payload in read_journal(link.folder / "journal")]
    expected: list[tuple[int, int, bytes]] = []
    for number in range(1, 4):
        expected.append((frames.SEND, number, b"key %d" % number))
        expected.append((frames.LINES, number, b"line %d\n" % number))
    assert journaled == expected
    assert gone(keeper_pid(link))
