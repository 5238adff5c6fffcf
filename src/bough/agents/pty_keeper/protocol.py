"""Defines the frames between the keeper of a terminal and its viewers, in the format of `keeper.frames`."""

VERSION = 1
"""The version of the protocol. It changes whenever an older peer could misread a frame."""

# Sent by a viewer, besides HELLO (version, key, and tail, the most bytes of earlier output) and END:
INPUT, RESIZE = 40, 41
# Sent by the keeper, besides WELCOME (columns, rows, start and end of the scrollback), NOTE and EXIT:
OUTPUT, SIZE = 48, 49
"""OUTPUT carries bytes, numbered by the place of the first one in everything that the shell has printed."""

OUTPUT_FILE = "output"
"""The file that holds the end of the output of a run that has ended."""
MOST = 64 * 1024
"""The most bytes in one frame of input or output."""
SMALLEST, LARGEST = 2, 1000
"""The bounds of columns and rows."""


def bounded(size: object) -> int:
    """Returns a number of columns or rows within the bounds."""
    return max(SMALLEST, min(LARGEST, size if isinstance(size, int) else 0))
