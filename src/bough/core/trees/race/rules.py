"""Rules of races that need neither rows nor git: which racer may be kept, and how races are worded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from bough.errors import Conflict, Invalid
from bough.git.finish.merge import Merged
from bough.git.working_copy.diff import Diff
from bough.model.message import raw
from bough.model.trees.race import RaceRow

How = Literal["merge", "checkout", "branch"]

# The length of the prompt's beginning that names a race in titles, notices and commits.
LONGEST_NAME = 60


class ArchivedRacer(msgspec.Struct, rename="camel"):
    """Says what became of a racer that was not kept: `recover` tells how to get its files back, `message` what
    failed."""

    session_id: str
    archived: bool
    worktree_id: str | None
    worktree_removed: bool
    recovery_ref: str | None
    recover: str | None
    message: str | None


class KeptRacer(msgspec.Struct, rename="camel"):
    """The result of keeping a racer: its branch, its last commit and whether that was made now; for a merge its kind
    and target branch; how many files changed where the race began; the checkpoint that undoes a checkout. `others` is
    null while the other racers are being archived."""

    race_id: str
    session_id: str
    how: How
    branch: str | None
    sha: str
    committed: bool
    merged: Merged | None = None
    into: str | None = None
    files: int = 0
    undo_checkpoint_id: str | None = None
    others: list[ArchivedRacer] | None = None


def result_of(race: RaceRow) -> KeptRacer | None:
    """Returns what was kept in a race, if it is decided."""
    return msgspec.json.decode(race.kept, type=KeptRacer) if race.kept is not None else None


def earlier_result(race: RaceRow, chosen: str, how: How) -> KeptRacer | None:
    """Returns the result of an equal request; None if the race is open, or was decided in another way.

    Raises `Conflict` if another racer was kept: a decided race can only be repeated, or kept in another way.
    """
    result = result_of(race)
    if result is None:
        return None
    if result.session_id != chosen:
        raise Conflict(
            "race_decided",
            f"Session {result.session_id} was kept in this race ({result.how}). To continue with another racer, "
            "recover its worktree.",
            sessionId=result.session_id,
        )
    return result if result.how == how else None


def check_racer(session_id: str, chosen: str, racer_ids: Sequence[str]) -> None:
    """Raises `Invalid` if the chosen session does not run in the race; `session_id` is what the caller wrote."""
    if chosen not in racer_ids:
        raise Invalid(
            "not_a_contender",
            f"Session {session_id} does not run in this race. Its racers are: {', '.join(racer_ids)}.",
            sessions=list(racer_ids),
        )


def is_start_needed(race: RaceRow, racers_left: int, deadline: str) -> bool:
    """Tells whether the files that a race began with may still be compared.

    They are needed while both hold:
    - a racer is left that has not been purged;
    - the race is undecided, or began at or after `deadline`.
    """
    return racers_left > 0 and (race.kept_session_id is None or race.created_at >= deadline)


def race_name(prompt: str) -> str:
    """Returns the beginning of a prompt, on one line."""
    line = " ".join(prompt[: 10 * LONGEST_NAME].split())
    return line if len(line) <= LONGEST_NAME else f"{line[: LONGEST_NAME - 1]}…"


def kept_notice(result: KeptRacer, title: str | None) -> msgspec.Raw:
    """Builds the notice that tells which racer was kept, and how to undo a checkout; `kept` is for clients' links."""
    name = title or f"session {result.session_id}"
    where = {
        "merge": f"merged into {result.into}" if result.merged != "none" else f"already in {result.into}",
        "checkout": "checked out here as uncommitted changes",
        "branch": f"left on branch {result.branch}",
    }[result.how]
    undo = f" Restore checkpoint {result.undo_checkpoint_id} to undo this." if result.undo_checkpoint_id else ""
    content: dict[str, Any] = {
        "type": "notice",
        "text": f"The work of {name} was kept, {where}.{undo}",
        "kept": {"raceId": result.race_id, "sessionId": result.session_id, "name": name, "outcome": where},
    }
    if result.undo_checkpoint_id is not None:
        content["undoCheckpointId"] = result.undo_checkpoint_id
    return raw(content)


def cut_diff(diff: Diff, limit: int) -> Diff:
    """Cuts the text of a diff after its last whole line within `limit` characters."""
    if len(diff.text) <= limit:
        return diff
    text = diff.text[: diff.text.rfind("\n", 0, limit) + 1]
    note = f"The text is cut after {limit} characters. Request the diff of this session alone to see all of it."
    return msgspec.structs.replace(diff, text=text, truncated=True, note=note)
