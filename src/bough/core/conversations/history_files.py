"""Finds and reads the files in which an agent keeps its conversations. Agents can write them, so a file is opened only
if it is a regular one, never through a link, and reads are bounded."""

from __future__ import annotations

import contextlib
import glob
import os
import secrets
import stat
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import IO

import msgspec

from bough.agents.catalog.entry import CatalogEntry
from bough.agents.catalog.prepare import conversation_paths
from bough.core.conversations.line_fields import Line, TokenCount, Tokens, parse, prompt_of, text_of
from bough.errors import Conflict
from bough.git.paths import open_folder
from bough.model.values.times import of_seconds

MOST_FILES = 5000
"""Conversations of one agent that are listed, the newest."""
HEAD = 256 * 1024
"""Bytes at the beginning of a file that are read to list it."""
LONGEST_LINE = 16 * 1024 * 1024
LARGEST_FILE = 512 * 1024 * 1024
LONGEST_TITLE = 200


class HistoryFile(msgspec.Struct, frozen=True):
    """A conversation as its file describes it."""

    id: str
    path: str
    folder: str
    title: str
    updated_at: str


class FileMark(msgspec.Struct, frozen=True):
    """Marks how much of a file is known."""

    size: int


def list_files(entry: CatalogEntry, env: dict[str, str], data: Path) -> list[HistoryFile]:
    """Returns the conversations in the agent's files, newest first."""
    paths: list[tuple[float, str, str]] = []
    for pattern in conversation_paths(entry, env, data, user=True):
        before, mark, after = pattern.rpartition("{id}")
        if not mark:
            continue
        for path in glob.iglob(before + "*" + after):
            with contextlib.suppress(OSError):
                info = os.lstat(path)
                if stat.S_ISREG(info.st_mode):
                    paths.append((info.st_mtime, path, pattern))
    paths.sort(reverse=True)
    listed: dict[str, HistoryFile] = {}
    for changed, path, pattern in paths[:MOST_FILES]:
        with contextlib.suppress(OSError):
            file = _read_head(entry, path, pattern, changed)
            if file is not None:
                listed.setdefault(file.id, file)
    return list(listed.values())


def _read_head(entry: CatalogEntry, path: str, pattern: str, changed: float) -> HistoryFile | None:
    files = entry.conversations
    conversation_id = "" if files.id is not None else id_in_name(path, pattern)
    folder = _folder_beside(path, files.folder_file) if files.folder_file else ""
    title = ""
    for line in parse(_lines(path, most=HEAD)):
        if not conversation_id and files.id is not None:
            conversation_id = text_of(line, files.id)
        folder = folder or text_of(line, files.folder)
        title = title or prompt_of(line, files)
        if conversation_id and folder and title:
            break
    if not conversation_id or not folder:
        return None
    return HistoryFile(conversation_id, path, folder, " ".join(title.split())[:LONGEST_TITLE], of_seconds(changed))


def id_in_name(path: str, pattern: str) -> str:
    """Returns the part of a file's name that stands at `{id}`."""
    before, _, after = os.path.basename(pattern).partition("{id}")
    name = os.path.basename(path)
    name = name[: len(name) - len(after)] if after and name.endswith(after) else name
    # Ids are UUIDs wherever something precedes them in the name.
    return name[-36:] if "*" in before else name[len(before) :]


def _folder_beside(path: str, name: str) -> str:
    beside = os.path.normpath(os.path.join(os.path.dirname(path), name))
    try:
        with _opened(beside) as file:
            return file.read(4096).decode("utf-8", "replace").strip()
    except OSError:
        return ""


def find_file(entry: CatalogEntry, env: dict[str, str], data: Path, conversation_id: str, *, user: bool) -> str | None:
    """Returns the file of a conversation: the user's own, or the one that Bough's sessions use."""
    if not conversation_id or any(letter in conversation_id for letter in "/\0*?[") or conversation_id.startswith("."):
        return None
    newest: tuple[float, str] | None = None
    for pattern in conversation_paths(entry, env, data, user=user):
        for path in glob.iglob(pattern.replace("{id}", conversation_id)):
            with contextlib.suppress(OSError):
                info = os.lstat(path)
                is_file = stat.S_ISREG(info.st_mode) and not _is_led_away(path, data)
                if is_file and (newest is None or info.st_mtime > newest[0]):
                    newest = info.st_mtime, path
    return newest[1] if newest is not None else None


def _is_led_away(path: str, data: Path) -> bool:
    """Tells whether a path in the data folder leads elsewhere: an agent has put a link there."""
    inside = os.path.relpath(path, data)
    return not inside.startswith("..") and os.path.realpath(path) != os.path.join(os.path.realpath(data), inside)


def link_file(entry: CatalogEntry, env: dict[str, str], data: Path, conversation_id: str) -> None:
    """Makes a conversation in the user's own settings folder known to the agents of Bough's sessions, which have
    another one: both then continue the same file. Raises `Conflict` if an agent has put a link on the way there."""
    if entry.home is None or find_file(entry, env, data, conversation_id, user=False) is not None:
        return
    source = find_file(entry, env, data, conversation_id, user=True)
    if source is None:
        return
    for theirs, ours in zip(
        conversation_paths(entry, env, data, user=True), conversation_paths(entry, env, data, user=False), strict=True
    ):
        base, own = theirs.split("*")[0], ours.split("*")[0]
        if source.startswith(base):
            target = own + source[len(base) :]
            try:
                folder = open_folder(data, os.path.relpath(os.path.dirname(target), data), create=0o700)
            except OSError as error:
                raise Conflict(
                    "link_in_the_way",
                    f"{os.path.dirname(target)} is reached through a link, or is not a folder. Remove what is there.",
                ) from error
            try:
                _link(source, folder, os.path.basename(target))
            finally:
                os.close(folder)
            return


def _link(source: str, folder: int, name: str) -> None:
    try:
        os.link(source, name, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError:
        pass
    except OSError:
        # Another file system, or one without hard links: Bough then continues a copy.
        part = f"{name}.{secrets.token_hex(8)}.part"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with _opened(source) as file, open(os.open(part, flags, 0o600, dir_fd=folder), "wb") as copy:
            while block := file.read(1 << 20):
                copy.write(block)
        os.rename(part, name, src_dir_fd=folder, dst_dir_fd=folder)


def mark_of(path: str) -> FileMark:
    """Returns the mark at the end of a file as it is now."""
    return FileMark(os.lstat(path).st_size)


def prompts_since(entry: CatalogEntry, path: str, mark: FileMark) -> int:
    """Counts the prompts that a file has gained since a mark. A file that shrank was rewritten and counts as one."""
    if mark_of(path).size < mark.size:
        return 1
    return sum(1 for line in parse(_lines(path, start=mark.size)) if prompt_of(line, entry.conversations))


def count_tokens(entry: CatalogEntry, path: str) -> list[Tokens]:
    """Returns the tokens of each turn of a conversation, as far as its file has them."""
    count = TokenCount(entry.conversations.usage)
    for line in read_lines(path):
        if prompt_of(line, entry.conversations):
            count.begin_turn()
        count.add(line)
    return count.turns()


def read_lines(path: str) -> Iterator[Line]:
    """Reads all lines of a conversation."""
    return parse(_lines(path))


def _lines(path: str, *, start: int = 0, most: int = LARGEST_FILE) -> Iterator[bytes]:
    with _opened(path) as file:
        file.seek(start)
        left = most
        while left > 0 and (line := file.readline(min(LONGEST_LINE, left))):
            left -= len(line)
            yield line


@contextlib.contextmanager
def _opened(path: str) -> Generator[IO[bytes]]:
    """Opens a regular file. Anything else could block, or lead elsewhere."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{path} is not a file")
        yield file
