"""Writes JSON that is not a message (an array, a string, null, a number) before each answer."""

from tests.support.misbehaving_agents.protocol import answer, messages, write

if __name__ == "__main__":
    for message in messages():
        for line in (b"[1,2]", b'"x"', b"null", b"7", b"[{}]"):
            write(line)
        answer(message)
