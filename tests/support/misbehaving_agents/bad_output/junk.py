"""Prints junk on stdout before each answer: log lines, bad UTF-8, an empty line; with a number, that many."""

import sys

from tests.support.misbehaving_agents.protocol import answer, messages, write

JUNK = [
    b"Loading plugins...",
    b"\xff\xfe not text",
    b"",
    b"{",
    b'{"id":1.5,"result":{}}',
    b'{"no":"message"}',
]

if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else len(JUNK)
    for message in messages():
        for number in range(count):
            write(JUNK[number % len(JUNK)])
        answer(message)
