"""Closes stdout at the prompt, but lives on until the client closes its input."""

import os

from tests.support.misbehaving_agents.protocol import answer, messages

if __name__ == "__main__":
    for message in messages():
        if message["method"] == "session/prompt":
            os.close(1)
        else:
            answer(message)
    os._exit(0)
