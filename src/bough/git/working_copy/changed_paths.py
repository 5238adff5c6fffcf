"""Scans a working copy for programs: HEAD, branch, and every path that differs from the index."""

from __future__ import annotations

import time

import msgspec

from bough.git.run import git


class Scan(msgspec.Struct):
    """The scan's result. `changed` are paths whose file differs from the index or is not in it, `lines` counts
    everything git listed, `text` is git's raw output, `at` is the time."""

    head: str | None
    branch: str | None
    changed: list[str]
    lines: int
    text: str
    at: int


async def scan(path: str, settings: tuple[str, ...] = (), *, ignored: bool = False) -> Scan:
    """Scans the working copy at `path` with additional git settings."""
    words = ["status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--no-renames"]
    words += ["--ignore-submodules=dirty", *(("--ignored=traditional",) if ignored else ())]
    at = time.time_ns()
    return parse_scan(await git(path, *settings, *words), at)


def parse_scan(text: str, at: int = 0) -> Scan:
    """Parses `git status --porcelain=v2 --branch -z --no-renames`."""
    scanned = Scan(None, None, [], 0, text, at)
    for line in text.split("\0"):
        kind, _, rest = line.partition(" ")
        if kind == "#":
            name, _, value = rest.partition(" ")
            if name == "branch.oid" and value != "(initial)":
                scanned.head = value
            elif name == "branch.head" and value != "(detached)":
                scanned.branch = value
            continue
        if not kind:
            continue
        scanned.lines += 1
        if kind in "?!":
            # A trailing slash: a nested repository, whose files are not ours.
            if not rest.endswith("/"):
                scanned.changed.append(rest)
        elif kind == "u":
            scanned.changed.append(rest.split(" ", 9)[9])
        elif rest[1] != ".":
            scanned.changed.append(rest.split(" ", 7)[7])
    return scanned
