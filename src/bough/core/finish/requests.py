"""Defines the requests and answers about finishing work."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from bough.core.store.idempotency import RecordScope
from bough.core.store.transactions import Change
from bough.errors import BoughError

FinishAction = Literal["commit", "update", "merge", "undo-merge", "push", "pull-request", "cleanup"]
MergeHow = Literal["merge", "ff", "squash"]
UpdateHow = Literal["merge", "rebase"]
Commit = Annotated[str, msgspec.Meta(pattern="^(?:[0-9a-f]{40}|[0-9a-f]{64})$")]
# At most this many files are listed; all are counted.
MOST_NAMED = 200


class FinishBody(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """The fields of every request. `dryRun` returns what would happen, or why it would be refused, and changes nothing.
    `force` continues while a turn runs there. `expectedHead` and `expectedBranch` are the worktree's last commit and
    branch that you looked at: others are refused."""

    dry_run: bool = False
    force: bool = False
    expected_head: str | None = None
    expected_branch: str | None = None
    idempotency_key: str | None = None


Body = TypeVar("Body", bound=FinishBody)


class CommitBody(FinishBody, kw_only=True):
    """Commits `files`, or all changed files, with a message; without one, with the proposed message."""

    message: str | None = None
    files: list[str] | None = None


class UpdateBody(FinishBody, kw_only=True):
    """Brings new commits of the base into the worktree's branch, by a merge or a rebase.

    - `base`: another branch than the worktree's own base.
    - `fetch`: fetch that branch from its remote first.
    - `onConflict`: with `abort` nothing changes; with `agent` a session of the worktree is prompted to resolve it.
      After a merge it finds the files in conflict; a rebase it starts itself.
    - `sessionId`: that session; the newest active one by default."""

    how: UpdateHow = "merge"
    base: str | None = None
    fetch: bool = False
    on_conflict: Literal["abort", "agent"] = "abort"
    session_id: str | None = None


class MergeBody(FinishBody, kw_only=True):
    """Merges the worktree's branch into its base, or into the branch `into`: with a merge commit, by moving the branch
    forward only (`ff`), or as one new commit (`squash`). `force` also leaves uncommitted files out."""

    how: MergeHow = "merge"
    into: str | None = None
    message: str | None = None


class UndoMergeBody(FinishBody, kw_only=True):
    """Moves the base branch back to where it was before the last merge of this worktree."""


class PushBody(FinishBody, kw_only=True):
    """Pushes the worktree's branch to its remote. `rewrite` replaces commits there, unless somebody else pushed since
    Bough last pushed or fetched; `replaces` is the last of the commits to replace, if others may have pushed it.
    `expectedAddress` is the address of the remote that you looked at: another one is refused."""

    remote: str | None = None
    rewrite: bool = False
    replaces: Commit | None = None
    expected_address: str | None = None


class PullRequestBody(FinishBody, kw_only=True):
    """Pushes the worktree's branch and opens a pull request for it. If one is open, only what is given here changes.

    - `title`, `body`: proposed from the session and its commits by default.
    - `base`: another branch than the worktree's own base.
    - `draft`: counts only when the pull request is opened.
    - `remote`, `rewrite`, `replaces`, `expectedAddress`: as for a push."""

    title: str | None = None
    body: str | None = None
    base: str | None = None
    draft: bool = False
    remote: str | None = None
    rewrite: bool = False
    replaces: Commit | None = None
    expected_address: str | None = None


class CleanupBody(FinishBody, kw_only=True):
    """Ends and archives the worktree's sessions, removes it and, if its work is merged, deletes the branch that Bough
    created for it.

    - `keepBranch`: keeps the branch.
    - `endSessions`: if false, active sessions are a reason to refuse.
    - `force`: stops turns, and removes it although work is not committed or not merged. Everything but ignored files is
      kept on a recovery ref, and an unmerged branch stays."""

    keep_branch: bool = False
    end_sessions: bool = True


class PullRequest(msgspec.Struct, rename="camel"):
    """A pull request, or what is needed to open one by hand.

    - `url`: its address, null as long as it is not open.
    - `link`: the page on which a person opens it; null if the kind of the server is unknown.
    - `program`: the program that opens or updates it, null if a person has to.
    - `reason`: why a person has to."""

    title: str
    body: str
    branch: str
    base: str
    draft: bool
    url: str | None = None
    number: int | None = None
    link: str | None = None
    program: str | None = None
    reason: str | None = None


class FinishRefusal(msgspec.Struct, rename="camel"):
    """The reason why an operation would be refused, as the error would say it."""

    code: str
    message: str
    details: dict[str, Any] = {}

    @classmethod
    def of(cls, error: BoughError) -> FinishRefusal:
        return cls(error.code, error.message, error.details)


class Finished(msgspec.Struct, rename="camel"):
    """Tells what an operation did or, as a preview, would do. `steps` says it in sentences.

    - `refusal`: only in previews: why it would be refused.
    - `sha`: the resulting commit, null in previews.
    - `files`: the first of the files concerned; `filesTotal` counts all.
    - `conflicts`: files that both sides changed.
    - `recoveryRef`: the git ref that holds the branch as it was.
    - `taskId`: the prompt that handed a conflict to an agent.
    - `pullRequest`: the pull request, or its text and a link to open it by hand."""

    action: FinishAction
    worktree_id: str
    dry_run: bool
    steps: list[str] = []
    refusal: FinishRefusal | None = None
    branch: str | None = None
    base: str | None = None
    sha: str | None = None
    message: str | None = None
    files: list[str] = []
    files_total: int = 0
    conflicts: list[str] = []
    recovery_ref: str | None = None
    session_id: str | None = None
    task_id: str | None = None
    pull_request: PullRequest | None = None

    def name_files(self, names: list[str]) -> None:
        self.files, self.files_total = names[:MOST_NAMED], len(names)


class FinishPlan(msgspec.Struct):
    """An operation that can be done: its preview, and the function that does it and completes the answer."""

    finished: Finished
    act: Callable[[], Awaitable[None]]
    # Columns of the worktree's row that change with it.
    columns: dict[str, Any] = {}
    # What else is stored together with its answer.
    store: Callable[[Change], Awaitable[None]] | None = None


def scope_of(action: FinishAction, worktree_id: str) -> RecordScope:
    """Returns the scope in which an idempotency key names one request."""
    return RecordScope(f"worktrees.{action}", "worktrees", worktree_id)


def unkeyed(body: Body) -> Body:
    """Returns a request as it is compared with a repeated one."""
    return msgspec.structs.replace(body, idempotency_key=None)


async def nothing() -> None:
    """Does nothing, because nothing has to change."""


def counted(count: int, singular: str, plural: str | None = None) -> str:
    """Returns a number with its noun."""
    return f"{count} {singular if count == 1 else plural or f'{singular}s'}"
