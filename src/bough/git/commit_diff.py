"""Compares two commits: files with their contents' hashes, line counts and text, within limits."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import msgspec

from bough.git.decode import shown
from bough.git.run import git, git_head
from bough.git.working_copy.diff import LARGEST_TEXT, MOST_FILES, Diff, FileDiff, FileStatus

# For comparing every file of a large repository.
WITHIN = 600.0
_WORDS: dict[str, FileStatus] = {
    "A": "added",
    "D": "deleted",
    "M": "modified",
    "R": "renamed",
    "C": "copied",
    "T": "typeChanged",
}
# The same output whatever the user configured, without running their programs.
COMPARE = (
    *("--literal-pathspecs", "-c", "core.quotePath=false", "diff-tree", "-r", "-M"),
    *("--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short", "--src-prefix=a/", "--dst-prefix=b/"),
)


class DiffedFile(msgspec.Struct, frozen=True):
    """A file that differs between two commits, with git's own names and the objects on both sides; an object of zeros
    stands for no file."""

    name: str
    old_name: str | None
    status: FileStatus
    additions: int
    deletions: int
    binary: bool
    old_object: str
    new_object: str
    modes: tuple[str, str]

    @property
    def hash(self) -> str:
        """Changes whenever either side of the file does."""
        sides = " ".join((*self.modes, self.old_object, self.new_object))
        return hashlib.sha256(sides.encode()).hexdigest()[:32]

    @property
    def is_submodule(self) -> bool:
        return "160000" in self.modes


async def changed_files(path: str, old: str, new: str) -> list[DiffedFile]:
    """Returns every file that differs between two commits of the repository at `path`."""
    listed = await git(path, *COMPARE, "--raw", "--numstat", "--no-abbrev", "-z", old, new, "--", timeout=WITHIN)
    return list(_changed(listed))


async def compare(path: str, old: str, new: str, *, only: str | None = None, text: bool = True) -> Diff:
    """Returns the differences between two commits of the repository at `path`, optionally for `only` one file or
    folder. Without `text`, returns only the counts."""
    sides = (old, new, "--", *((only,) if only else ()))
    listed = await git(path, *COMPARE, "--raw", "--numstat", "-z", *sides, timeout=WITHIN)
    files = list(_files(listed))
    patch, cut = b"", False
    if text:
        patch, cut = await git_head(path, LARGEST_TEXT, *COMPARE, "-p", *sides, timeout=WITHIN)
    notes = [f"The text is cut after {LARGEST_TEXT} bytes; ask for one path at a time."] if cut else []
    if len(files) > MOST_FILES:
        notes.append(f"{MOST_FILES} of {len(files)} files are listed.")
    return Diff(
        sha=old,
        files=files[:MOST_FILES],
        additions=sum(item.additions for item in files),
        deletions=sum(item.deletions for item in files),
        text=shown(patch[: patch.rfind(b"\n") + 1 if cut else None].decode("utf-8", "surrogateescape")),
        truncated=bool(notes),
        note=" ".join(notes) or None,
    )


def _files(listed: str) -> Iterator[FileDiff]:
    for file in _changed(listed):
        yield FileDiff(
            path=shown(file.name),
            old_path=shown(file.old_name) if file.old_name is not None else None,
            status=file.status,
            additions=file.additions,
            deletions=file.deletions,
            binary=file.binary,
            untracked=False,
        )


def _changed(listed: str) -> Iterator[DiffedFile]:
    """Parses `--raw --numstat -z`: first the status of each file, then in the same order its line counts."""
    words = iter(listed.split("\0"))
    states: list[tuple[list[str], str | None, str]] = []
    numbers: list[tuple[str, str]] = []
    for word in words:
        if word.startswith(":"):
            fields = word[1:].split(" ")
            old = next(words) if fields[4][0] in "RC" else None
            states.append((fields, old, next(words)))
        elif word:
            added, deleted, name = word.split("\t", 2)
            numbers.append((added, deleted))
            if not name:
                # A rename: both names follow separately.
                next(words)
                next(words)
    for (fields, old, name), (added, deleted) in zip(states, numbers, strict=True):
        binary = added == "-"
        yield DiffedFile(
            name=name,
            old_name=old,
            status=_WORDS.get(fields[4][0], "modified"),
            additions=0 if binary else int(added),
            deletions=0 if binary else int(deleted),
            binary=binary,
            old_object=fields[2],
            new_object=fields[3],
            modes=(fields[0], fields[1]),
        )
