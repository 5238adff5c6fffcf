"""Compares two commits: files, line counts and text, within limits."""

from __future__ import annotations

from collections.abc import Iterator

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
_COMPARE = (
    *("--literal-pathspecs", "-c", "core.quotePath=false", "diff-tree", "-r", "-M"),
    *("--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short", "--src-prefix=a/", "--dst-prefix=b/"),
)


async def compare(path: str, old: str, new: str, *, only: str | None = None, text: bool = True) -> Diff:
    """Returns the differences between two commits of the repository at `path`, optionally for `only` one file or
    folder. Without `text`, returns only the counts."""
    sides = (old, new, "--", *((only,) if only else ()))
    listed = await git(path, *_COMPARE, "--raw", "--numstat", "-z", *sides, timeout=WITHIN)
    files = list(_files(listed))
    patch, cut = b"", False
    if text:
        patch, cut = await git_head(path, LARGEST_TEXT, *_COMPARE, "-p", *sides, timeout=WITHIN)
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
    """Parses `--raw --numstat -z`: first the status of each file, then in the same order its line counts."""
    words = iter(listed.split("\0"))
    states: list[tuple[FileStatus, str | None, str]] = []
    numbers: list[tuple[str, str]] = []
    for word in words:
        if word.startswith(":"):
            state = word.split(" ")[4][0]
            old = next(words) if state in "RC" else None
            states.append((_WORDS.get(state, "modified"), old, next(words)))
        elif word:
            added, deleted, name = word.split("\t", 2)
            numbers.append((added, deleted))
            if not name:
                # A rename: both names follow separately.
                next(words)
                next(words)
    for (status, old, name), (added, deleted) in zip(states, numbers, strict=True):
        binary = added == "-"
        yield FileDiff(
            path=shown(name),
            old_path=shown(old) if old is not None else None,
            status=status,
            additions=0 if binary else int(added),
            deletions=0 if binary else int(deleted),
            binary=binary,
            untracked=False,
        )
