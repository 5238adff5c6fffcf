"""Finds the ignored files of a working copy that are copied into new worktrees, by patterns in the syntax of
`.gitignore`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from pathspec import GitIgnoreSpec

from bough.core.worktrees.config.parse import LONGEST_PATTERN, MOST_PATTERNS, ConfigProblem
from bough.git.run import GitFailed, git

INCLUDE_FILE = ".worktreeinclude"


def parse_patterns(text: str) -> tuple[list[str], list[ConfigProblem]]:
    """Returns the patterns of a `.worktreeinclude`, and its problems."""
    patterns: list[str] = []
    problems: list[ConfigProblem] = []
    for number, line in enumerate(text.split("\n"), 1):
        pattern = line.rstrip("\r")
        if not pattern.strip() or pattern.startswith("#"):
            continue
        if len(patterns) == MOST_PATTERNS:
            problems.append(ConfigProblem(INCLUDE_FILE, number, f"Only the first {MOST_PATTERNS} patterns apply."))
            break
        message = pattern_error(pattern)
        if message is None:
            patterns.append(pattern)
        else:
            problems.append(ConfigProblem(INCLUDE_FILE, number, message))
    return patterns, problems


def pattern_error(pattern: str) -> str | None:
    """Returns why a pattern is invalid, or None."""
    if len(pattern) > LONGEST_PATTERN or "\0" in pattern:
        return f"A pattern may have at most {LONGEST_PATTERN} characters."
    try:
        GitIgnoreSpec.from_lines([pattern])
    except ValueError:
        return "This is not a pattern in the syntax of .gitignore."
    return None


async def ignored_files(source: str, patterns: Sequence[str]) -> list[str]:
    """Returns the names of the matching files that git ignores."""
    try:
        names = await git(
            *(source, "ls-files", "--others", "--ignored", "--exclude-standard", "-z", "--"),
            ":(exclude,top).worktrees",
        )
    except GitFailed as error:
        # A bare repository has no files to copy.
        if "must be run in a work tree" in error.message:
            return []
        raise
    # Beside the event loop: a folder of packages alone can hold hundreds of thousands of ignored files.
    return await asyncio.to_thread(_matching, names.split("\0"), patterns)


def _matching(names: list[str], patterns: Sequence[str]) -> list[str]:
    spec = GitIgnoreSpec.from_lines(patterns)
    return [name for name in names if name and not name.endswith("/") and spec.match_file(name)]
