"""A program that adds boxes and prints the id of each one once it is stored."""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
from pathlib import Path

from bough.storage import queries
from bough.storage.open import open_backend

Q = queries.load("boxes", Path(__file__).with_name("sql"))


async def main(url: str) -> None:
    backend = await open_backend(url)
    numbers = itertools.count()

    async def write() -> None:
        while True:
            id = f"box-{next(numbers):06}"
            await backend.transaction(lambda tx, id=id: tx.run(Q.add, id=id, label=id))
            os.write(1, f"{id}\n".encode())

    await asyncio.gather(*(write() for _ in range(8)))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
