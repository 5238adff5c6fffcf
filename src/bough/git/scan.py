"""One look at a working copy, read for programs: HEAD, branch, and every path that differs from the index. What is made
of it is `snapshot`; what people are told of it is `status`."""

from __future__ import annotations

import time

import msgspec

from bough.git.run import git


class Scan(msgspec.Struct):
    """What was seen. `changed` are paths whose file differs from the index or is not in it, `lines` counts all that git
    listed, `text` is its own words, `at` when it was asked."""

    head: str | None
    branch: str | None
    changed: list[str]
    lines: int
    text: str
    at: int


async def scan(path: str, settings: tuple[str, ...] = (), *, ignored: bool = False) -> Scan:
    """Looks at the working copy at `path`, with further settings of git."""
    words = ["status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--no-renames"]
    words += ["--ignore-submodules=dirty", *(("--ignored=traditional",) if ignored else ())]
    at = time.time_ns()
    return parse_scan(await git(path, *settings, *words), at)


def parse_scan(text: str, at: int = 0) -> Scan:
    """Reads `git status --porcelain=v2 --branch -z --no-renames`."""
    found = Scan(None, None, [], 0, text, at)
    for line in text.split("\0"):
        kind, _, rest = line.partition(" ")
        if kind == "#":
            name, _, value = rest.partition(" ")
            if name == "branch.oid" and value != "(initial)":
                found.head = value
            elif name == "branch.head" and value != "(detached)":
                found.branch = value
            continue
        if not kind:
            continue
        found.lines += 1
        if kind in "?!":
            # A slash at its end: a repository of its own, whose files are not ours.
            if not rest.endswith("/"):
                found.changed.append(rest)
        elif kind == "u":
            found.changed.append(rest.split(" ", 9)[9])
        elif rest[1] != ".":
            found.changed.append(rest.split(" ", 7)[7])
    return found
