"""Starts a turn with each prompt and never ends it: it sends a word ten times a second for as long as it lives."""

import sys
import threading
import time

from tests.support.misbehaving_agents.protocol import answer, chunk_line, messages, write

PAUSE = 0.1


def talk() -> None:
    line = chunk_line("and so on ")
    try:
        while True:
            write(line)
            time.sleep(PAUSE)
    except (BrokenPipeError, ValueError):  # nobody reads anymore
        return


if __name__ == "__main__":
    for message in messages():
        if message["method"] == "session/prompt":
            threading.Thread(target=talk, daemon=True).start()
        else:
            answer(message)
    sys.stdout.flush()
