"""What people are told of an error: the server's sentences are for those who write requests, so where they name fields
and paths the commands have words of their own, chosen by code. Codes are explained in docs/reference/errors.md."""

from __future__ import annotations

from bough.api.cli.framework.formats import shorten
from bough.errors import BoughError

# Words in braces are details of the error; a sentence whose details are missing is not used.
SENTENCES = {
    "unauthenticated": "The server does not know this token. Check --token and BOUGH_TOKEN; "
    "with --data alone neither is needed.",
    "session_ended": "The session has ended ({status}). Prompt it with --resume, "
    "or reopen it with: bough session resume SESSION",
    "session_busy": "A turn runs in the session, or prompts wait in it ({queued} waiting). Cancel it all with --force.",
    "tree_busy": "{count} of these sessions are at work or have prompts that wait; nothing was done. See them with: "
    "bough tree, end them with: bough session complete --cascade --force SESSION",
    "session_failed": "The session ended in an error and cannot be resumed. Open another with: bough session new",
    "repo_in_use": "Sessions or worktrees of this repository are left. "
    "Remove each session for good first: bough session rm --purge SESSION",
}


def told(error: BoughError) -> str:
    """The sentence for people, ids in it as short as they can be used; what was not found stands as it was given."""
    try:
        return SENTENCES[error.code].format_map(error.details)
    except KeyError:
        return error.message if error.code.endswith("_not_found") else shorten(error.message)
