"""Runs a keeper that sometimes dies while it writes to its journal, with half of the frame on disk. Otherwise it is the
keeper, so it too imports only the standard library."""

import os
import random
import signal
import sys
from collections.abc import Sequence

from bough.agents.keeper import journal
from bough.agents.keeper.__main__ import main

# About a third of the keepers in a kill run reach that write; the others are killed before, or live to the end.
WRITES = (1, 400)

last = 0
whole = journal._write  # pyright: ignore[reportPrivateUsage]


def write(fd: int, parts: Sequence[bytes | memoryview], offset: int) -> None:
    global last
    last -= 1
    if last == 0:
        data = b"".join(parts)
        os.pwrite(fd, data[: len(data) // 2], offset)
        os.kill(os.getpid(), signal.SIGKILL)
    whole(fd, parts, offset)


journal._write = write  # pyright: ignore[reportPrivateUsage]

if __name__ == "__main__":
    last = random.Random(sys.argv[1]).randint(*WRITES)
    main(sys.argv[1])
