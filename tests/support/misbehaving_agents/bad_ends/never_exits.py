"""Never exits: ignores the end of input and SIGTERM, and so does the grandchild that it starts in a session of its
own.

It answers the prompt with the pid of that grandchild, as text."""

import os
import signal
import time

from tests.support.misbehaving_agents.protocol import answer, chunk_line, messages, write


def linger() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        time.sleep(3600)


def start_grandchild() -> int:
    read, report = os.pipe()
    if os.fork() == 0:
        os.setsid()
        grandchild = os.fork()
        if grandchild == 0:
            os.setsid()
            linger()
        os.write(report, str(grandchild).encode())
        linger()
    return int(os.read(read, 20))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    grandchild = start_grandchild()
    for message in messages():
        if message["method"] == "session/prompt":
            write(chunk_line(str(grandchild)))
        answer(message)
    linger()
