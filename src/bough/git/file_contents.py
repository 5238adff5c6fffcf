"""Reads single files of commits: the text of a change, the lines of a version, and where its lines are in another."""

from __future__ import annotations

import re

import msgspec

from bough.git.commit_diff import COMPARE, DiffedFile
from bough.git.decode import shown
from bough.git.run import git, git_head

# Reading a file or comparing two versions of it.
WITHIN = 120.0
# More text of one file's change than anybody reads.
LARGEST_PATCH = 1024 * 1024
# Versions of a file are read whole up to this size.
LARGEST_FILE = 8 * 1024 * 1024
# As many unchanged lines around a change as a file can have.
WHOLE_FILE = 1_000_000
_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


class FilePatch(msgspec.Struct, frozen=True):
    """The text of one file's change, up to a limit."""

    text: str
    truncated: bool


class Edit(msgspec.Struct, frozen=True):
    """Lines of an old version that became lines of a new one. With a `count` of 0, lines were inserted after the line
    `start`."""

    start: int
    count: int
    new_count: int
    added: list[str]


async def file_patch(path: str, old: str, new: str, file: DiffedFile, context: int) -> FilePatch:
    """Returns the change of one file between two commits, with `context` unchanged lines around each place."""
    names = (*((file.old_name,) if file.old_name is not None else ()), file.name)
    words = (*COMPARE, "-p", "--full-index", f"-U{context}", old, new, "--", *names)
    patch, cut = await git_head(path, LARGEST_PATCH, *words, timeout=WITHIN)
    text = patch[: patch.rfind(b"\n") + 1 if cut else None].decode("utf-8", "surrogateescape")
    return FilePatch(shown(text), cut)


async def file_object(path: str, commit: str, name: str) -> str | None:
    """Returns the object of a file in a commit; None if there is no such file."""
    listed = await git(path, "--literal-pathspecs", "ls-tree", "-z", "--full-tree", commit, "--", name, timeout=WITHIN)
    for line in listed.split("\0"):
        about, _, listed_name = line.partition("\t")
        fields = about.split(" ")
        if listed_name == name and fields[1] == "blob":
            return fields[2]
    return None


async def file_lines(path: str, blob: str) -> list[str] | None:
    """Returns the lines of an object; None if it is larger than any text that people comment on."""
    content, cut = await git_head(path, LARGEST_FILE, "cat-file", "blob", blob, timeout=WITHIN)
    if cut:
        return None
    lines = shown(content.decode("utf-8", "surrogateescape")).split("\n")
    return lines[:-1] if lines[-1] == "" else lines


async def edits(path: str, old: str, new: str) -> list[Edit]:
    """Returns the places that differ between two objects, in order. Raises `GitFailed` if git no longer has one."""
    words = ("diff", "--no-ext-diff", "--no-textconv", "--no-color", "-U0", "--text", old, new, "--")
    text, _ = await git_head(path, LARGEST_FILE, *words, timeout=WITHIN)
    places: list[Edit] = []
    for line in shown(text.decode("utf-8", "surrogateescape")).split("\n"):
        match = _HUNK.match(line)
        if match is not None:
            places.append(Edit(int(match[1]), int(match[2] or 1), int(match[4] or 1), []))
        elif places and line.startswith("+"):
            places[-1].added.append(line[1:])
    return places
