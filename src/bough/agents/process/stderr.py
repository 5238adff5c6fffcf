"""Finds the line that tells why a program ended, in what it wrote to stderr."""

import re

_NOISE = re.compile(
    r"""
    \s*at\s.+            # a frame of a JavaScript stack
    | \s*File\s".+       # a frame of a Python traceback
    | \s*\d+:\s+\S.*     # a frame of a Rust or native backtrace
    | Node\.js\sv\S+     # the last line of every crash of Node
    | note:\s.*          # how to get a backtrace from a Rust program
    | [\s{}^~|\-.]*       # punctuation around an object or below a line of code
    """,
    re.VERBOSE,
)
_ERROR = re.compile(
    r"(?i)error|exception|fatal|panic|abort|cannot|could not|failed|denied|refused|out of memory|killed"
)


def telling_line(stderr: str, *, errors: bool = False) -> str:
    """Returns the last line that speaks of an error; if there is none, the last line that is not part of a stack, or
    with `errors` an empty one."""
    lines = [line.strip() for line in stderr.splitlines() if not _NOISE.fullmatch(line)]
    return next((line for line in reversed(lines) if _ERROR.search(line)), lines[-1] if lines and not errors else "")
