"""A program that holds a name of a database until it is killed."""

from __future__ import annotations

import asyncio
import sys

from bough.storage.open import open_backend


async def main(url: str, name: str) -> None:
    backend = await open_backend(url)
    async with backend.own(name):
        print("held", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
