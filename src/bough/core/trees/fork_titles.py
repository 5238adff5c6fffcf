"""Names forks, so that a tree of them can be told apart: by their first prompt, or by the session they began from."""

from __future__ import annotations

import re

from bough.core.store.session_secrets import redactor_with
from bough.core.store.sql import TREES
from bough.core.store.transactions import Change
from bough.model.session import Session

# The length of the prompt's beginning that names a fork.
LONGEST_TITLE = 80
_NUMBERED = re.compile(r" \(fork(?: \d+)?\)$")


def prompt_title(prompt: str) -> str:
    """Returns the first line of a prompt, shortened at the end of a word."""
    line = " ".join(next((row for row in prompt.splitlines() if row.strip()), "").split())
    if len(line) <= LONGEST_TITLE:
        return line
    cut = line[: LONGEST_TITLE - 1]
    space = cut.rfind(" ")
    return f"{cut[:space] if space > LONGEST_TITLE // 2 else cut}…"


async def fork_title(change: Change, source: Session, prompt: str | None, env: dict[str, str]) -> str:
    """Returns the title of a fork that got none: the beginning of its prompt, or the next free number after its
    origin's title. A fork of an untitled session is named by its first prompt once it has one. `env` is the fork's."""
    if prompt and prompt.strip():
        # Masked before it is cut, which could leave a part of a secret value.
        return prompt_title((await redactor_with(change.tx, source.id, env.values())).text(prompt))
    if not source.title:
        return ""
    origin = _NUMBERED.sub("", source.title)
    taken = {title for (title,) in await change.tx.all(TREES.titles, tuple[str], root=source.root_session_id)}
    title, number = f"{origin} (fork)", 1
    while title in taken:
        number += 1
        title = f"{origin} (fork {number})"
    return title
