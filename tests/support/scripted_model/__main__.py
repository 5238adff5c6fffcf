"""Runs a scripted model: prints its address and serves until interrupted or until standard input ends.

The package docstring describes the script language."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from pathlib import Path

from tests.support.scripted_model.running import scripted_model
from tests.support.scripted_model.server import DELAY


async def _run(port: int, delay: float, log: Path | None, dump: Path | None, *, until_eof: bool) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    if until_eof:
        loop.add_reader(sys.stdin, lambda: None if os.read(sys.stdin.fileno(), 4096) else stop.set())
    async with scripted_model(port=port, delay=delay, log=log, dump=dump) as model:
        print(model.url, flush=True)
        await stop.wait()


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.support.scripted_model", description=(__doc__ or "").split(":")[0]
    )
    parser.add_argument("--port", type=int, default=0, help="0, the default, takes any that is free")
    parser.add_argument("--delay", type=float, default=DELAY, help="seconds between the pieces of a stream")
    parser.add_argument("--log", type=Path, help="a file that gets a line of JSON for each request")
    parser.add_argument("--dump", type=Path, help="a folder that gets a file with each conversation")
    parser.add_argument("--until-eof", action="store_true", help="end when standard input does")
    options = parser.parse_args()
    asyncio.run(_run(options.port, options.delay, options.log, options.dump, until_eof=options.until_eof))


if __name__ == "__main__":
    main()
