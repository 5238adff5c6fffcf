"""Lists the changed files of a review and reads the change of one file."""

from __future__ import annotations

from collections import OrderedDict

from bough.core.review.subjects import Versions
from bough.errors import Conflict, NotFound
from bough.git.commit_diff import DiffedFile, changed_files
from bough.git.decode import shown
from bough.git.file_contents import WHOLE_FILE, file_patch
from bough.git.working_copy.diff import ComparedFile, FileStatus

# More files than anybody reviews; the rest are counted.
MOST_FILES = 2000
# Lists of changed files between two commits, which never change.
MOST_LISTS = 32
CONTEXT = 3


class ReviewedFile(ComparedFile):
    """A changed file; `hash` changes with its content on either side."""

    submodule: bool
    hash: str


class ReviewFile(ReviewedFile):
    """An entry in the list of a review: whether the caller has viewed this version, and how many comments the caller
    sees on it."""

    viewed: bool
    comments: int


class FileReview(ReviewedFile):
    """The change of one file as text. A binary file has none; that of a large one is `truncated`."""

    patch: str
    truncated: bool


class ChangedFiles:
    """Lists changed files and remembers the lists used last."""

    def __init__(self) -> None:
        self._lists: OrderedDict[tuple[str, str, str], list[DiffedFile]] = OrderedDict()

    async def list(self, cwd: str, versions: Versions) -> list[DiffedFile]:
        """Returns all files that differ between the versions."""
        key = (cwd, versions.old, versions.new)
        if key not in self._lists:
            self._lists[key] = await changed_files(cwd, versions.old, versions.new)
            while len(self._lists) > MOST_LISTS:
                self._lists.popitem(last=False)
        self._lists.move_to_end(key)
        return self._lists[key]

    async def find(self, cwd: str, versions: Versions, path: str, file_hash: str | None = None) -> DiffedFile:
        """Returns one changed file. Raises `NotFound` if it has not changed, and `Conflict` if it is no longer the
        version with the hash."""
        for file in await self.list(cwd, versions):
            if shown(file.name) == path:
                if file_hash is not None and file.hash != file_hash:
                    raise Conflict(
                        "file_changed", f"{path} has changed since you looked at it. Look at it again.", hash=file.hash
                    )
                return file
        raise NotFound("not_in_review", f"{path!r} is not among the changed files. A review lists their paths.")

    async def read(self, cwd: str, versions: Versions, path: str, *, whole: bool) -> FileReview:
        """Returns the change of one file, with some unchanged lines around it or all of them."""
        file = await self.find(cwd, versions, path)
        text, truncated = "", False
        if not file.binary:
            patch = await file_patch(cwd, versions.old, versions.new, file, WHOLE_FILE if whole else CONTEXT)
            text, truncated = patch.text, patch.truncated
        return FileReview(*_facts(file), file.hash, text, truncated)


def review_file(file: DiffedFile, viewed: dict[str, str], comments: int) -> ReviewFile:
    """Builds the entry of a file in a review."""
    return ReviewFile(*_facts(file), file.hash, viewed.get(shown(file.name)) == file.hash, comments)


def _facts(file: DiffedFile) -> tuple[str, str | None, FileStatus, int, int, bool, bool]:
    old_path = shown(file.old_name) if file.old_name is not None else None
    return shown(file.name), old_path, file.status, file.additions, file.deletions, file.binary, file.is_submodule
