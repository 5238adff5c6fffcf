"""Rewrites some of the server's errors for people: where a message names fields and paths, the command line has its own
sentence with the command to use, chosen by error code."""

from __future__ import annotations

import re

from bough.api.cli.framework.formats import shorten
from bough.errors import BoughError

# Names in braces are details of the error; a sentence is used only if all of its details are present.
SENTENCES = {
    "unauthenticated": "The server rejected this token. Check --token and BOUGH_TOKEN; "
    "neither is needed with --data alone.",
    "session_ended": "The session has ended ({status}). Prompt it with --resume, "
    "or reopen it: bough session resume SESSION",
    "session_busy": "The session is running a turn or has queued prompts ({queued} queued). "
    "Cancel them all with --force.",
    "tree_busy": "{count} of these sessions are running or have queued prompts; nothing was done. See them: "
    "bough tree. End them: bough session complete --cascade --force SESSION",
    "session_failed": "The session ended in an error and cannot be resumed. Continue from its "
    "transcript: bough session fork SESSION",
    "too_many_sessions": "{active} sessions are active and the limit is {limit}. End one: bough session complete "
    "SESSION. To allow more, restart the server: bough serve --max-sessions N",
    "repo_in_use": "This repo still has sessions or worktrees. "
    "Purge each session and remove each worktree first: bough session rm --purge SESSION, bough worktree rm WORKTREE",
}


# A field that a program would send, and the option that does the same.
_FORCE = re.compile(r"\b([Ss]end|with) force: true\b")
_WORDS = {"send": "use --force", "Send": "Use --force", "with": "with --force"}


def explain(error: BoughError) -> str:
    """Returns the sentence for people, with short ids and options in place of fields; an id that was not found is
    repeated as the user typed it."""
    try:
        return SENTENCES[error.code].format_map(error.details)
    except KeyError:
        if error.code.endswith("_not_found"):
            return error.message
        return with_options(shorten(error.message))


def with_options(message: str) -> str:
    """Returns a refusal with the option of a command in place of the field that forces a request."""
    return _FORCE.sub(lambda match: _WORDS[match[1]], message)
