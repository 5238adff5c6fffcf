"""Offers every operation on reviews: list the changed files, read one, mark it as viewed (V1), comment, and send the
comments as one prompt (V2)."""

from __future__ import annotations

from collections import Counter

import msgspec
import structlog

from bough.core.checkpoints.diff import Changes
from bough.core.checkpoints.take import Checkpoints
from bough.core.review import drafts
from bough.core.review.changed_files import MOST_FILES, ChangedFiles, FileReview, ReviewFile, review_file
from bough.core.review.comment_lines import Place, Places
from bough.core.review.drafts import About, CommentPatch, NewComment, Viewed, ViewedFile
from bough.core.review.prompt import review_prompt
from bough.core.review.subjects import TABLES, Subject, Subjects, find_subject, sessions_of
from bough.core.sessions.ending.control import Control
from bough.core.sessions.tasks import Tasks
from bough.core.state.enqueue import checked_prompt
from bough.core.state.limits.session_limit import MadeRoom
from bough.core.store import records
from bough.core.store.idempotency import RecordScope
from bough.core.store.sql import REVIEWS
from bough.core.store.transactions import Change, Store
from bough.core.worktrees.records import SessionUse
from bough.errors import Conflict, Invalid, NotFound
from bough.git.decode import shown
from bough.model.review import Comment, CommentRow, CommentStatus, SubjectKind
from bough.model.session import Caller, Session
from bough.model.task import Task
from bough.settings import Settings
from bough.storage.backend import Tx

log = structlog.get_logger("bough.reviews")

# Of the comments that were sent, the newest ones are shown.
MOST_SHOWN = 500


class Review(msgspec.Struct, rename="camel"):
    """The changed files of a subject, the caller's draft and all sent comments. `sessions` are those that the draft can
    be sent to."""

    kind: SubjectKind
    id: str
    title: str
    worktree_id: str | None
    old: str
    new: str
    files: list[ReviewFile]
    additions: int
    deletions: int
    comments: list[Comment]
    drafts: int
    sessions: list[SessionUse]
    truncated: bool
    note: str | None


class ReviewComments(msgspec.Struct, rename="camel"):
    """The caller's draft and all sent comments, at the lines that they were written about."""

    comments: list[Comment]
    drafts: int


class SendReview(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Sends the draft to a session that works in the subject's folder; `note` begins the prompt. An ended session is
    refused unless `resume` is set. At the limit on sessions, `makeRoom` then completes the one that has been idle
    longest."""

    session_id: str | None = None
    note: str = ""
    resume: bool = False
    make_room: bool = False
    idempotency_key: str | None = None


class SentReview(msgspec.Struct, rename="camel"):
    """The prompt that carries the comments, how many it carries, and the session that was completed to make room for
    the one that it reopened."""

    task: Task
    comments: int
    made_room: MadeRoom | None = None


class _TaskStatus(msgspec.Struct):
    id: str
    status: str


class Reviews:
    """Shows reviews and keeps the drafts of people."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        checkpoints: Checkpoints,
        changes: Changes,
        tasks: Tasks,
        control: Control,
    ) -> None:
        self._store = store
        self._settings = settings
        self._subjects = Subjects(store, checkpoints, changes)
        self._tasks = tasks
        self._control = control
        self._files = ChangedFiles()

    async def get(self, caller: Caller, kind: SubjectKind, subject_id: str) -> Review:
        """Returns the review of a worktree, session or task."""
        subject, versions = await self._subjects.find(kind, subject_id)
        files = await self._files.list(subject.cwd, versions)
        params = {"kind": subject.kind, "id": subject.id, "person": caller.own_id}

        async def read(tx: Tx) -> tuple[list[CommentRow], set[str], dict[str, str], list[SessionUse]]:
            viewed = dict(await tx.all(REVIEWS.viewed, tuple[str, str], **params))
            return *await _comments(tx, caller, subject), viewed, await sessions_of(tx, subject)

        rows, done, viewed, sessions = await self._store.read(read)
        places = Places(subject.cwd, versions.new)
        comments = [await _shown(caller, places, row, done) for row in rows]
        counts = Counter(comment.path for comment in comments)
        listed = [review_file(file, viewed, counts[shown(file.name)]) for file in files[:MOST_FILES]]
        note = [versions.note] if versions.note else []
        if len(files) > MOST_FILES:
            note.append(f"{MOST_FILES} of {len(files)} files are listed.")
        return Review(
            kind=subject.kind,
            id=subject.id,
            title=subject.title,
            worktree_id=subject.worktree_id,
            old=versions.old,
            new=versions.new,
            files=listed,
            additions=sum(file.additions for file in files),
            deletions=sum(file.deletions for file in files),
            comments=comments,
            drafts=sum(comment.sent_at is None for comment in comments),
            sessions=sessions,
            truncated=len(files) > MOST_FILES,
            note=" ".join(note) or None,
        )

    async def comments(self, caller: Caller, kind: SubjectKind, subject_id: str) -> ReviewComments:
        """Returns the comments of a review without looking at its files."""

        async def read(tx: Tx) -> tuple[list[CommentRow], set[str]]:
            subject, _ = await find_subject(tx, kind, subject_id)
            return await _comments(tx, caller, subject)

        rows, done = await self._store.read(read)
        comments = [await _shown(caller, None, row, done) for row in rows]
        return ReviewComments(comments, sum(comment.sent_at is None for comment in comments))

    async def file(self, kind: SubjectKind, subject_id: str, path: str, *, whole: bool = False) -> FileReview:
        """Returns the change of one file, with its unchanged lines if `whole`."""
        subject, versions = await self._subjects.find(kind, subject_id)
        return await self._files.read(subject.cwd, versions, path, whole=whole)

    async def view(self, caller: Caller, kind: SubjectKind, subject_id: str, file: ViewedFile) -> Viewed:
        """Marks a file's version as viewed or not. The mark is gone when the file changes."""
        owner = drafts.person_of(caller)
        subject, versions = await self._subjects.find(kind, subject_id)
        if file.viewed:
            changed = await self._files.find(subject.cwd, versions, file.path, file.hash)
            params = {**owner, **drafts.subject_columns(subject), "path": file.path, "hash": changed.hash}
            await self._store.write(lambda change: change.tx.run(REVIEWS.view, **params, now=change.now))
            return Viewed(file.path, changed.hash, viewed=True)
        where = {"person": owner["person"], "kind": subject.kind, "id": subject.id, "path": file.path}
        await self._store.write(lambda change: change.tx.run(REVIEWS.unview, **where))
        return Viewed(file.path, file.hash, viewed=False)

    async def comment(self, caller: Caller, kind: SubjectKind, subject_id: str, new: NewComment) -> Comment:
        """Adds a comment to the caller's draft."""
        drafts.person_of(caller)
        body = drafts.checked_body(new.body)
        scope = RecordScope("reviews.comment", TABLES[kind], subject_id)
        request = [body, new.path, new.side, new.start_line, new.end_line, new.message_id, new.quote]
        if (answer := await self._store.stored_answer(caller, scope, request, Comment)) is not None:
            # The file may have changed since.
            return answer
        about: About | None = None
        if new.message_id is None:
            subject, versions = await self._subjects.find(kind, subject_id)
            about = await drafts.about_lines(self._files, subject, versions, new)
        else:
            subject, _ = await self._store.read(lambda tx: find_subject(tx, kind, subject_id))

        async def work(change: Change) -> Comment:
            what = about or await drafts.about_message(change.tx, subject, new)
            row = await drafts.add_comment(change, caller, subject, what, body)
            return _comment(caller, row, "draft", _written_place(row))

        return await self._store.write_once(caller, scope, request, Comment, work)

    async def edit(self, caller: Caller, comment_id: str, patch: CommentPatch) -> Comment:
        """Changes the text of one of the caller's draft comments."""
        body = drafts.checked_body(patch.body)

        async def work(change: Change) -> Comment:
            row = await drafts.own_draft(change.tx, caller, comment_id)
            fresh = await change.tx.one(REVIEWS.edit, CommentRow, id=row.id, body=body, now=change.now)
            assert fresh is not None
            return _comment(caller, fresh, "draft", _written_place(fresh))

        return await self._store.write(work)

    async def remove(self, caller: Caller, comment_id: str) -> Comment:
        """Deletes one of the caller's draft comments."""

        async def work(change: Change) -> Comment:
            row = await drafts.own_draft(change.tx, caller, comment_id)
            await change.tx.one(REVIEWS.remove, CommentRow, id=row.id)
            return _comment(caller, row, "draft", _written_place(row))

        return await self._store.write(work)

    async def send(self, caller: Caller, kind: SubjectKind, subject_id: str, body: SendReview) -> SentReview:
        """Queues one prompt with all comments of the caller's draft, which are then no draft anymore. Both happen in
        one transaction, so no comment is lost or sent twice."""
        drafts.person_of(caller)
        scope = RecordScope("reviews.send", TABLES[kind], subject_id)
        request = [body.session_id, body.note, body.resume, *(["makeRoom"] if body.make_room else [])]
        if (answer := await self._store.stored_answer(caller, scope, request, SentReview)) is not None:
            return answer
        subject, recipient = await self._store.read(lambda tx: _recipient(tx, kind, subject_id, body.session_id))
        escaped = await self._tasks.escaped(recipient.id)
        places = await self._places(caller, subject)

        async def work(change: Change) -> SentReview:
            session = await records.session(change.tx, recipient.id)
            rows = await drafts.draft_of(change.tx, caller, subject)
            if not rows:
                raise Conflict("draft_empty", "There are no comments to send. Add one first.")
            text = review_prompt([_at(row, places.get(row.id)) for row in rows], body.note, _outdated(places))
            prompt = checked_prompt(text, self._settings.max_prompt)
            session, made_room = await self._tasks.open(
                change, caller, session, escaped, resume=body.resume, make_room=body.make_room
            )
            task = await self._tasks.queue(change, caller, session, prompt)
            for row in rows:
                await change.tx.run(REVIEWS.sent, id=row.id, task_id=task.id, now=change.now)
            return SentReview(task, len(rows), made_room)

        sent = await self._store.write_once(caller, scope, request, SentReview, work)
        await self._control.end_agent_of(sent.made_room)
        return sent

    async def _places(self, caller: Caller, subject: Subject) -> dict[str, Place | None]:
        """Returns where the lines of the caller's draft are now, for the agent that looks there; None for lines that
        have changed. If the files cannot be read, the comments keep the lines that they were written about."""
        draft = await self._store.read(lambda tx: drafts.draft_of(tx, caller, subject))
        on_lines = [row for row in draft if row.path is not None]
        if not on_lines:
            return {}
        try:
            places = Places(subject.cwd, await self._subjects.current(subject))
            return {row.id: await places.find(row) for row in on_lines}
        except (Conflict, NotFound) as error:
            log.warning("draft_not_placed", subject=subject.id, error=error.code)
            return {}


def _at(row: CommentRow, place: Place | None) -> CommentRow:
    """Returns a comment at the place where its lines are now; at the written one if they have changed."""
    if place is None:
        return row
    return msgspec.structs.replace(row, start_line=place.line, end_line=place.last_line)


def _outdated(places: dict[str, Place | None]) -> set[str]:
    return {comment_id for comment_id, place in places.items() if place is None}


async def _comments(tx: Tx, caller: Caller, subject: Subject) -> tuple[list[CommentRow], set[str]]:
    """Returns the comments that the caller sees, oldest first, and the completed tasks among those they were sent
    in."""
    params = {"kind": subject.kind, "id": subject.id, "person": caller.own_id}
    rows = await tx.all(REVIEWS.of_subject, CommentRow, **params, limit=MOST_SHOWN)
    ids = tuple({row.task_id for row in rows if row.task_id is not None})
    tasks = await tx.all(REVIEWS.statuses, _TaskStatus, ids=ids) if ids else []
    return rows[::-1], {task.id for task in tasks if task.status == "completed"}


async def _shown(caller: Caller, places: Places | None, row: CommentRow, done: set[str]) -> Comment:
    """Builds a comment with its current place, or without `places` with the one that it was written about. One on a
    message is answered when the turn that it began is over."""
    place = await places.find(row) if places is not None and row.path is not None else _written_place(row)
    changed = place is None if row.path is not None else row.task_id in done
    unsent: CommentStatus = "outdated" if changed else "draft"
    sent: CommentStatus = "answered" if changed else "sent"
    return _comment(caller, row, unsent if row.sent_at is None else sent, place)


async def _recipient(tx: Tx, kind: SubjectKind, subject_id: str, session_id: str | None) -> tuple[Subject, Session]:
    """Returns the session that the comments go to. It works in the subject's folder, where their paths are valid."""
    subject, _ = await find_subject(tx, kind, subject_id)
    if session_id is not None:
        session = await records.session(tx, session_id)
        if session.cwd != subject.cwd and (session.worktree_id is None or session.worktree_id != subject.worktree_id):
            raise Invalid(
                "session_elsewhere",
                f"Session {session.id} works in another folder, {session.cwd}. Choose one that works in {subject.cwd}.",
            )
        return subject, session
    if subject.session is not None:
        return subject, subject.session
    sessions = await sessions_of(tx, subject)
    if len(sessions) != 1:
        ids = [session.id for session in sessions]
        problem = f"{len(sessions)} active sessions work" if sessions else "No active session works"
        raise Conflict("which_session", f"{problem} in this worktree. Give the sessionId to send to.", candidates=ids)
    return subject, await records.session(tx, sessions[0].id)


def _written_place(row: CommentRow) -> Place | None:
    if row.start_line is None or row.end_line is None:
        return None
    return Place(row.start_line, row.end_line)


def _comment(caller: Caller, row: CommentRow, status: CommentStatus, place: Place | None) -> Comment:
    return Comment(
        id=row.id,
        author=row.author,
        subject_kind=row.subject_kind,
        subject_id=row.subject_id,
        path=row.path,
        side=row.side,
        start_line=row.start_line,
        end_line=row.end_line,
        message_id=row.message_id,
        quote=row.quote,
        body=row.body,
        status=status,
        line=place.line if place is not None else None,
        last_line=place.last_line if place is not None else None,
        mine=row.person == caller.own_id,
        task_id=row.task_id,
        sent_at=row.sent_at,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )
