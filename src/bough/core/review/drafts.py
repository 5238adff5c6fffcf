"""Writes a person's draft: viewed files and comments, until they are sent."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from bough.core.review.changed_files import ChangedFiles
from bough.core.review.subjects import Subject, Versions
from bough.core.store import records
from bough.core.store.short_ids import find
from bough.core.store.sql import MESSAGES, REVIEWS
from bough.core.store.transactions import Change
from bough.errors import Conflict, Denied, Invalid, TooLarge
from bough.git.decode import shown
from bough.git.file_contents import file_lines
from bough.model.message import Message
from bough.model.review import CommentRow, Side
from bough.model.session import Caller
from bough.model.values.ids import new_id
from bough.storage.backend import Tx

LONGEST_BODY = 20_000
LONGEST_QUOTE = 20_000
MOST_LINES = 1000
# More comments than one prompt should carry.
MOST_COMMENTS = 200


class NewComment(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A comment on lines of a changed file (`path`, `startLine`, and `hash` of the version that the person saw), or on
    a message of the session (`messageId`), such as a plan. Without `endLine` it is about one line; `side` is `old` for
    removed lines. `quote` is the part of a message that it is about; the server quotes the lines of a file."""

    body: str
    path: str | None = None
    side: Side = "new"
    start_line: int | None = None
    end_line: int | None = None
    hash: str | None = None
    message_id: str | None = None
    quote: str | None = None
    idempotency_key: str | None = None


class CommentPatch(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """The new text of a comment."""

    body: str


class ViewedFile(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Marks a file as viewed in the version with this hash, or as not viewed."""

    path: str
    hash: str | None = None
    viewed: bool = True


class Viewed(msgspec.Struct, rename="camel"):
    """A file's version and whether the caller has viewed it."""

    path: str
    hash: str | None
    viewed: bool


class About(msgspec.Struct, frozen=True):
    """The columns that say what a comment is about."""

    quote: str
    path: str | None = None
    side: Side | None = None
    start_line: int | None = None
    end_line: int | None = None
    object: str | None = None
    message_id: str | None = None
    message_kind: Literal["plan", "text"] | None = None


def person_of(caller: Caller) -> dict[str, str | None]:
    """Returns the columns that name the owner of a draft. Raises `Denied` for callers that are not people."""
    if caller.kind != "person":
        raise Denied("not_a_person", "Only people have drafts of reviews.")
    return {"person": caller.own_id, "user_id": caller.user_id}


def subject_columns(subject: Subject) -> dict[str, str | None]:
    """Returns the columns that name the subject."""
    return {
        "subject_kind": subject.kind,
        "subject_id": subject.id,
        "worktree_id": subject.id if subject.kind == "worktree" else None,
        "session_id": subject.session.id if subject.session is not None else None,
    }


def checked_body(text: str) -> str:
    """Returns the text of a comment, or raises `Invalid`."""
    if not text.strip() or "\0" in text:
        raise Invalid("bad_comment", "A comment needs text, without NUL characters.")
    if len(text) > LONGEST_BODY:
        raise TooLarge("comment_too_long", f"A comment may have at most {LONGEST_BODY} characters.", limit=LONGEST_BODY)
    return text.strip()


async def about_lines(files: ChangedFiles, subject: Subject, versions: Versions, new: NewComment) -> About:
    """Checks a comment on lines of a file, and quotes them."""
    if new.path is None or new.start_line is None:
        raise Invalid("bad_comment", "Give path and startLine, or messageId.")
    first, last = new.start_line, new.end_line if new.end_line is not None else new.start_line
    if not 1 <= first <= last or last - first >= MOST_LINES:
        raise Invalid("bad_lines", f"Lines must begin at 1, end after they begin, and be at most {MOST_LINES}.")
    file = await files.find(subject.cwd, versions, new.path, new.hash)
    blob = file.old_object if new.side == "old" else file.new_object
    if file.binary or file.is_submodule or not blob.strip("0"):
        raise Invalid("bad_lines", f"{new.path} has no lines on the {new.side} side.")
    lines = await file_lines(subject.cwd, blob)
    if lines is None:
        raise Invalid("bad_lines", f"{new.path} is too large for comments on its lines.")
    if last > len(lines):
        raise Invalid("bad_lines", f"{new.path} has {len(lines)} lines on the {new.side} side.", lines=len(lines))
    current = file.new_object if file.new_object.strip("0") else None
    quote = "\n".join(lines[first - 1 : last])
    return About(_checked_quote(quote), shown(file.name), new.side, first, last, current)


async def about_message(tx: Tx, subject: Subject, new: NewComment) -> About:
    """Checks a comment on a message of the subject's session, or of one that it was forked from."""
    assert new.message_id is not None
    if new.path is not None or new.start_line is not None:
        raise Invalid("bad_comment", "Give path and startLine, or messageId; not both.")
    message = await find(tx, "messages", new.message_id, MESSAGES.get, Message)
    if subject.session is None:
        raise Invalid("bad_comment", "Comment on a message in the review of its session.")
    other = await records.session(tx, message.session_id)
    if other.root_session_id != subject.session.root_session_id:
        raise Invalid("bad_comment", f"Message {message.id} belongs to another session.")
    content = msgspec.json.decode(message.content)
    kind = "plan" if content.get("type") == "plan" else "text"
    text = new.quote if new.quote is not None else _text_of(content)
    quote = _checked_quote(text.strip("\n").replace("\0", "�"))
    return About(quote, message_id=message.id, message_kind=kind)


def _text_of(content: dict[str, Any]) -> str:
    if content.get("type") == "plan":
        return "\n".join(f"- {step.get('content', '')}" for step in content.get("steps", []))
    return str(content.get("text", ""))


def _checked_quote(quote: str) -> str:
    if len(quote) > LONGEST_QUOTE:
        raise TooLarge("comment_too_long", f"A quote may have at most {LONGEST_QUOTE} characters. Choose fewer lines.")
    return quote


async def add_comment(change: Change, caller: Caller, subject: Subject, about: About, body: str) -> CommentRow:
    """Adds a comment to the caller's draft."""
    owner = person_of(caller)
    draft = await draft_of(change.tx, caller, subject)
    if len(draft) >= MOST_COMMENTS:
        raise Conflict("draft_full", f"The draft has {MOST_COMMENTS} comments, which is the limit. Send them first.")
    row = await change.tx.one(
        REVIEWS.add,
        CommentRow,
        id=new_id(),
        author=caller.person,
        **owner,
        **subject_columns(subject),
        **msgspec.structs.asdict(about),
        body=body,
        now=change.now,
    )
    assert row is not None
    return row


async def draft_of(tx: Tx, caller: Caller, subject: Subject) -> list[CommentRow]:
    """Returns the caller's comments that are not sent yet."""
    params = {"kind": subject.kind, "id": subject.id, "person": caller.own_id}
    return await tx.all(REVIEWS.draft, CommentRow, **params)


async def own_draft(tx: Tx, caller: Caller, comment_id: str) -> CommentRow:
    """Returns a comment of the caller that can still be changed."""
    row = await find(tx, "review_comments", comment_id, REVIEWS.get, CommentRow)
    if row.person != person_of(caller)["person"]:
        raise Denied("not_your_comment", "This comment is somebody else's.")
    if row.sent_at is not None:
        raise Conflict("comment_sent", "This comment was sent, so it can no longer be changed.")
    return row
