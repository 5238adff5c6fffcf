"""Answers the prompt with a line of the given number of bytes, or with a line that never ends if the number is 0."""

import sys

from tests.support.misbehaving_agents.protocol import answer, messages

if __name__ == "__main__":
    size = int(sys.argv[1])
    for message in messages():
        if message["method"] == "session/prompt":
            while size == 0:
                sys.stdout.buffer.write(b"x" * 65536)
            sys.stdout.buffer.write(b"x" * size + b"\n")
        answer(message)
