"""`python -m tests.fuzz MINUTES` runs random rounds of fuzzing until the time is up or a round fails. The round that
has begun is finished, so it runs at least one."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time

EXAMPLES = 400
"""Inputs per target and round."""
LIVES = 6
"""Lives of sessions per round."""


def main(minutes: float) -> int:
    """Returns pytest's exit code of the last round."""
    end = time.monotonic() + 60 * minutes
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "tests/fuzz", *sys.argv[2:]]
    env = os.environ | {"FUZZ_EXAMPLES": str(EXAMPLES), "FUZZ_LIVES": str(LIVES)}
    rounds = 0
    while True:
        rounds += 1
        seed = os.environ.get("FUZZ_SEED") or str(random.randrange(1_000_000))
        print(f"Round {rounds}: FUZZ_SEED={seed} plays the same lives of sessions again.", flush=True)
        env["FUZZ_SEED"] = seed
        code = subprocess.run(command, env=env, check=False).returncode
        if code:
            print(f"Round {rounds} failed. The smallest failing input is `failed` in tests/fuzz/corpus/NAME.")
            return code
        if time.monotonic() >= end:
            print(f"Rounds passed: {rounds}.")
            return 0


if __name__ == "__main__":
    raise SystemExit(main(float(sys.argv[1])))
