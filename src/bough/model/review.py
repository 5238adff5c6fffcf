"""Defines reviews: the changed files of a worktree, session or task, and the comments of people on them (V1)."""

from __future__ import annotations

from typing import Literal

import msgspec

SubjectKind = Literal["worktree", "session", "task"]
Side = Literal["old", "new"]
# `outdated`: the lines of a draft have changed. `answered`: those of a sent comment have, or its message has a reply.
CommentStatus = Literal["draft", "outdated", "sent", "answered"]


class CommentRow(msgspec.Struct):
    """A row of `review_comments`. `object` is the file's new content when the comment was written, None if the file
    was deleted."""

    id: str
    person: str
    user_id: str | None
    author: str
    subject_kind: SubjectKind
    subject_id: str
    worktree_id: str | None
    session_id: str | None
    path: str | None
    side: Side | None
    start_line: int | None
    end_line: int | None
    object: str | None
    message_id: str | None
    message_kind: str | None
    quote: str
    body: str
    task_id: str | None
    sent_at: str | None
    created_at: str
    updated_at: str


class Comment(msgspec.Struct, rename="camel"):
    """A comment on lines of a file, or on a message. `line` and `lastLine` are where its lines are now; without them,
    they have changed."""

    id: str
    author: str
    subject_kind: SubjectKind
    subject_id: str
    path: str | None
    side: Side | None
    start_line: int | None
    end_line: int | None
    message_id: str | None
    quote: str
    body: str
    status: CommentStatus
    line: int | None
    last_line: int | None
    mine: bool
    task_id: str | None
    sent_at: str | None
    created_at: str
    updated_at: str
