"""Writes 1 MB to stderr before it reads anything, and again before each answer."""

import sys

from tests.support.misbehaving_agents.protocol import answer, messages


def flood() -> None:
    for number in range(16_384):
        sys.stderr.write(f"{number:063d}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    flood()
    for message in messages():
        flood()
        answer(message)
