"""Installs bubblewrap if it is missing and that is allowed, so that the tests of the sandbox run on a new machine too:
`python -m tests.support.bubblewrap`. Says what will be left out otherwise, and never fails."""

from __future__ import annotations

from bough.agents.sandbox.detect import detect
from bough.search_path import find_own_program
from tests.support import debian


def main() -> None:
    if find_own_program("bwrap") is None and debian.may_install():
        print("Installing bubblewrap …", flush=True)
        debian.install("bubblewrap")
    sandbox = detect()
    if sandbox.program is None:
        print(f"LEFT OUT: tests that need a sandbox. {sandbox.reason}", flush=True)
    elif sandbox.network_reason:
        print(f"LEFT OUT: tests that need the profile strict. {sandbox.network_reason}", flush=True)


if __name__ == "__main__":
    main()
