"""Reads the prompt only after it has flooded stdout with chunks (50,000, or the given number)."""

import sys

from tests.support.misbehaving_agents.protocol import answer, chunk_line, messages

if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    for message in messages():
        answer(message)
        if message["method"] == "session/new":
            sys.stdout.buffer.write(b"".join(chunk_line(f"tick {number}") + b"\n" for number in range(count)))
            sys.stdout.buffer.flush()
