"""Exits at once, with code 3 and a reason on stderr."""

import sys

if __name__ == "__main__":
    print("no credentials: run `agent login` first", file=sys.stderr)
    sys.exit(3)
