"""Measures a long turn through all of Bough: agent, keeper, rows in SQLite, WebSocket, and a subscriber that must end
with the same text byte for byte. The floor only reads the same pipe of the same program and decodes each line."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator
from pathlib import Path

import msgspec

from bench.support import measure, recording, turns
from bench.support.recording import Recording
from bench.support.report import Result, Row, noise
from bench.support.turns import Turn
from tests.support.server import ServerProcess

ROUNDS = 15
# The first turns fill the caches of SQLite and the arenas of Python.
WARM_UP = 5
FEWEST = 0.25
# Turns leave a few pages in caches and arenas; growth with each turn would be more.
MOST_GROWTH = 1.10
READ_SIZE = 1 << 18
PROMPT = b'{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{}}\n'


class _Content(msgspec.Struct):
    text: str = ""


class _Update(msgspec.Struct):
    content: _Content | list[msgspec.Raw] | None = None


class _Params(msgspec.Struct):
    update: _Update


class _Line(msgspec.Struct):
    """The fields of a line that are needed to build the text."""

    method: str | None = None
    params: _Params | None = None


class _Envelope(msgspec.Struct):
    """The fields that tell lines apart, without their content."""

    id: msgspec.Raw = msgspec.Raw()
    method: str | None = None
    params: msgspec.Raw = msgspec.Raw()
    result: msgspec.Raw = msgspec.Raw()


async def run() -> Result:
    spoken = recording.make()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = turns.replaying(spoken.save(folder / "turn.jsonl"))
        with _bare(command, spoken) as bare:
            async with turns.server(folder, command) as server, turns.subscribed(server, folder, spoken) as turn:
                return await _compare(server, bare, turn, spoken)


async def _compare(server: ServerProcess, bare: _Bare, turn: Turn, spoken: Recording) -> Result:
    assert server.process is not None
    first = await turn.take()
    await measure.alternate(WARM_UP, bare.text, bare.envelopes, turn.take)
    before = measure.resident(server.process.pid)
    floor, envelopes, ours = await measure.alternate(ROUNDS, bare.text, bare.envelopes, turn.take)
    after = measure.resident(server.process.pid)
    turn.check_stored()
    ratio, growth = floor.median / ours.median, after / before
    speed = f"{spoken.updates / ours.median:,.0f}{noise(ours)}"
    rows = [
        Row(
            name=f"{spoken.updates:,} updates, updates/s",
            floor=f"{spoken.updates / floor.median:,.0f}{noise(floor)}",
            ours=speed,
            ratio=f"{ratio:.2f}",
            target=f"≥ {FEWEST}",
            number=ratio,
            ok=ratio >= FEWEST,
        ),
        Row(
            name="… against a loop that reads envelopes alone",
            floor=f"{spoken.updates / envelopes.median:,.0f}{noise(envelopes)}",
            ours=speed,
            ratio=f"{envelopes.median / ours.median:.2f}",
            number=envelopes.median / ours.median,
        ),
        Row(name="… the whole turn", floor=f"{floor.median * 1e3:.0f} ms", ours=f"{ours.median * 1e3:.0f} ms"),
        Row(name="… the first one, agent started", ours=f"{first * 1e3:.0f} ms"),
        Row(name="… frames sent to the subscriber", ours=f"{turn.frames}", number=turn.frames),
        Row(
            name=f"resident after {1 + WARM_UP} and {1 + WARM_UP + ROUNDS} turns",
            floor=f"{before:.0f} MB",
            ours=f"{after:.0f} MB",
            ratio=f"{growth:.2f}",
            target=f"≤ {MOST_GROWTH}",
            number=growth,
            ok=growth <= MOST_GROWTH,
        ),
    ]
    return Result(title="stream", about=_ABOUT, rows=rows)


_ABOUT = """\
- **Setup:** a small program plays a recorded turn of 20,000 updates as fast as it can (96 % message chunks of 5 to
  60 characters, thoughts, tool calls; made from a fixed seed). Agent, keeper, server and client share the machine.
- **Floor:** the program's stdout is read, msgspec decodes just enough of each line to join the text, and the text
  is joined.
- **Ours:** from the accepted prompt until a WebSocket client in another process has the whole text, checked byte
  for byte there and later in the database. Deltas may be merged on the way.
- The floor of the second row reads only `id` and `method`, and joins nothing."""


class _Bare:
    """The program and a loop that decodes its output."""

    def __init__(self, process: subprocess.Popen[bytes], spoken: Recording) -> None:
        self._process = process
        self._updates = spoken.updates
        self._whole = "".join(spoken.texts)

    async def text(self) -> float:
        """Returns the seconds of one turn until its text is joined."""
        decode = msgspec.json.Decoder(_Line).decode
        parts: list[str] = []

        def take(lines: list[bytes]) -> int:
            count = 0
            for line in lines:
                params = decode(line).params
                if params is not None:
                    count += 1
                    content = params.update.content
                    if type(content) is _Content:
                        parts.append(content.text)
            return count

        seconds = self._turn(take)
        start = time.monotonic()
        whole = "".join(parts)
        seconds += time.monotonic() - start
        if whole != self._whole:
            raise RuntimeError("the floor ended with another text")
        return seconds

    async def envelopes(self) -> float:
        """Returns the seconds of one turn when only the envelopes are decoded."""
        decode = msgspec.json.Decoder(_Envelope).decode

        def take(lines: list[bytes]) -> int:
            count = 0
            for line in lines:
                if decode(line).method is not None:
                    count += 1
            return count

        return self._turn(take)

    def _turn(self, take: Callable[[list[bytes]], int]) -> float:
        """Reads until the prompt is answered; `take` returns how many of its lines are updates."""
        assert self._process.stdin is not None and self._process.stdout is not None
        source = self._process.stdout.fileno()
        start = time.monotonic()
        self._process.stdin.write(PROMPT)
        self._process.stdin.flush()
        count, seen, rest = 0, 0, b""
        while seen == count:
            lines = (rest + os.read(source, READ_SIZE)).split(b"\n")
            rest = lines.pop()
            seen += len(lines)
            count += take(lines)
        seconds = time.monotonic() - start
        if count != self._updates:
            raise RuntimeError(f"the floor saw {count} updates of {self._updates}")
        return seconds


@contextlib.contextmanager
def _bare(command: list[str], spoken: Recording) -> Generator[_Bare]:
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield _Bare(process, spoken)
        assert process.stdin is not None
        process.stdin.close()
