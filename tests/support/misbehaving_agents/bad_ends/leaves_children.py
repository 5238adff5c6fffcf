"""Exits at the end of input as it should, but its command, in a session of its own, lives on and holds stdout open.

It answers the prompt with the pid of that command, as text. With `crash` it exits at the prompt without answering."""

import os
import subprocess
import sys

from tests.support.misbehaving_agents.protocol import answer, chunk_line, messages, write

if __name__ == "__main__":
    child = subprocess.Popen(["sleep", "3600"], start_new_session=True, stdin=subprocess.DEVNULL)
    for message in messages():
        if message["method"] == "session/prompt":
            write(chunk_line(str(child.pid)))
            if "crash" in sys.argv:
                os._exit(5)
        answer(message)
    os._exit(0)
