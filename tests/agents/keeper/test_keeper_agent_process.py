"""Tests the keeper's ends of an agent's pipes: blocks of lines, long and incomplete lines, the tail of stderr."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from bough.agents.keeper import agent_process
from bough.agents.keeper.agent_process import AgentErrors, AgentInput, AgentOutput
from bough.agents.keeper.journal import Journal, read_journal
from bough.agents.keeper_client.keeper_folder import read_batches


class Bench:
    """A pipe whose reading end stands for the output of an agent."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._folder = os.open(path, os.O_RDONLY)
        read, self.pen = os.pipe()
        os.set_blocking(read, False)
        self.output = AgentOutput(read, Journal(self._folder))

    def say(self, data: bytes) -> None:
        os.write(self.pen, data)
        assert self.output.read()

    def lines(self) -> list[bytes]:
        return [line for batch in read_batches(self.path, 0) for line in batch.lines]

    def close(self) -> None:
        os.close(self.pen)
        os.close(self.output.fd)
        os.close(self._folder)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.close()


def test_blocks_end_with_a_line(bench: Bench) -> None:
    """O2: Only whole lines are journaled and released; an incomplete one waits."""
    bench.say(b"one\ntwo\nth")
    assert bench.lines() == [b"one", b"two"]
    bench.say(b"r")
    bench.say(b"ee\n")
    assert bench.lines() == [b"one", b"two", b"three"]
    assert [frame.head.flags for frame in read_journal(bench.path / "journal")] == [0, 0]
    assert not bench.output.read()


def test_a_long_line_does_not_wait_in_memory(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """O2: A line longer than a block is journaled as it arrives."""
    monkeypatch.setattr(agent_process, "BLOCK", 10)
    for _ in range(5):
        bench.say(b"1234567")
    assert [frame.head.length for frame in read_journal(bench.path / "journal")] == [14, 14]
    assert bench.lines() == []
    bench.say(b"8\nnext\n")
    assert bench.lines() == [b"1234567" * 5 + b"8", b"next"]


@pytest.mark.parametrize("words", [b"last words", b"x" * 25])
def test_a_line_cut_off_by_the_end(bench: Bench, monkeypatch: pytest.MonkeyPatch, words: bytes) -> None:
    """O2: The last output of an agent is kept even without a newline."""
    monkeypatch.setattr(agent_process, "BLOCK", 20)
    bench.say(b"one\n")
    bench.say(words)
    bench.output.finish()
    assert bench.output.ended
    assert bench.lines() == [b"one", words]


@pytest.mark.parametrize(
    "pieces", [[b"x" * 101], [b"ok\n" + b"x" * 60, b"x" * 41], [b"x" * 60, b"x" * 41 + b"\nmore\n"]]
)
def test_a_line_beyond_the_cap(bench: Bench, monkeypatch: pytest.MonkeyPatch, pieces: list[bytes]) -> None:
    """C1: A line that never ends is dropped, but whole lines before it are kept."""
    monkeypatch.setattr(agent_process, "LINE_CAP", 100)
    for piece in pieces:
        assert not bench.output.overflow
        bench.say(piece)
    assert bench.output.overflow
    bench.output.finish()
    assert bench.lines() == ([b"ok"] if pieces[0].startswith(b"ok") else [])


def test_a_line_up_to_the_cap(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """C1: Accepts the longest allowed line."""
    monkeypatch.setattr(agent_process, "LINE_CAP", 100)
    bench.say(b"x" * 60)
    bench.say(b"x" * 40)
    bench.say(b"\ny\n")
    assert not bench.output.overflow
    assert bench.lines() == [b"x" * 100, b"y"]


def test_the_tail_of_stderr() -> None:
    """O2: Keeps only the end of stderr, and sends a server only what it does not have yet."""
    read, write = os.pipe()
    os.set_blocking(read, False)
    errors = AgentErrors(read)
    assert errors.tail() == b""
    for number in range(40):
        os.write(write, b"%09d\n" % number * 1000)
        assert errors.read()
    assert errors.total == 400_000
    assert len(errors.tail()) == agent_process.STDERR_TAIL
    assert errors.tail().endswith(b"000000039\n")
    assert errors.tail(399_980) == b"000000039\n" * 2
    assert errors.tail(400_000) == b""
    os.close(write)
    assert errors.read()
    assert errors.ended
    os.close(read)


def test_an_agent_that_does_not_read() -> None:
    """Q4: Lines wait in order, and are dropped when their reader is gone."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    stdin = AgentInput(write)
    lines = [b"%d" % number * 10_000 for number in range(10)]
    for line in lines:
        stdin.put(line)
    assert stdin.size > 0
    output = b""
    while stdin.size or len(output) < sum(len(line) + 1 for line in lines):
        output += os.read(read, 65536)
        stdin.write()
    assert output.split(b"\n") == [*lines, b""]
    os.close(read)
    stdin.put(b"nobody hears this")
    assert stdin.shut
    assert stdin.size == 0
    os.close(write)
