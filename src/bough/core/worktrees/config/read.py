"""Reads the two files from a folder, never through links, and computes the fingerprint of what needs permission."""

from __future__ import annotations

import hashlib
import os
import stat

import msgspec

from bough.core.worktrees.config.include import INCLUDE_FILE, parse_patterns, pattern_error
from bough.core.worktrees.config.parse import CONFIG_FILE, ConfigFile, ConfigProblem, RunCommand, parse_config
from bough.model.session import PermissionMode

LARGEST_FILE = 64 * 1024


class RepositoryConfig(msgspec.Struct, rename="camel"):
    """Holds what a repository's files say about worktrees. `digest` names what a person has to allow: the setup
    commands, the copied files and the run commands; null if there are none."""

    files: list[str]
    setup: list[str]
    copies: list[str]
    run: list[RunCommand]
    ports: int
    preset: str | None
    agent: str | None
    mode: PermissionMode | None
    problems: list[ConfigProblem]
    digest: str | None


def is_configured(*folders: str) -> bool:
    """Tells whether one of the folders has one of the files."""
    return any(
        os.path.lexists(os.path.join(folder, name)) for folder in folders for name in (CONFIG_FILE, INCLUDE_FILE)
    )


def read_config(*folders: str) -> RepositoryConfig:
    """Reads each of the files from the first folder that has it: a worktree has its branch's own, else the repository's
    folder counts. Reads the disk, so call it in a thread."""
    files: list[str] = []
    text, problems = _first(CONFIG_FILE, folders, files)
    config = parse_config(text) if text is not None else ConfigFile()
    include, more = _first(INCLUDE_FILE, folders, files)
    patterns, wrong = parse_patterns(include) if include is not None else ([], [])
    problems = [*problems, *config.problems, *more, *wrong]
    copies = [*patterns]
    for pattern in config.copies:
        if (message := pattern_error(pattern)) is None:
            copies.append(pattern)
        else:
            problems.append(ConfigProblem(CONFIG_FILE, None, message))
    risky = [config.setup, copies, config.run]
    digest = hashlib.sha256(msgspec.json.encode(risky)).hexdigest() if any(risky) else None
    return RepositoryConfig(
        files=files,
        setup=config.setup,
        copies=copies,
        run=config.run,
        ports=config.ports,
        preset=config.preset,
        agent=config.agent,
        mode=config.mode,
        problems=problems,
        digest=digest,
    )


def _first(name: str, folders: tuple[str, ...], files: list[str]) -> tuple[str | None, list[ConfigProblem]]:
    for folder in folders:
        try:
            fd = os.open(os.path.join(folder, name), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            return None, [ConfigProblem(name, None, "This is not a readable file. Links are not followed.")]
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                return None, [ConfigProblem(name, None, "This is not a file.")]
            content = os.read(fd, LARGEST_FILE + 1)
        finally:
            os.close(fd)
        if len(content) > LARGEST_FILE:
            return None, [ConfigProblem(name, None, f"The file is larger than {LARGEST_FILE // 1024} KiB.")]
        try:
            text = content.decode()
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            return None, [ConfigProblem(name, line, "The file is not UTF-8.")]
        files.append(name)
        return text, []
    return None, []
