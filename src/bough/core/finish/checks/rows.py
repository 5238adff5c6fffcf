"""Defines what is stored about a pull request, and what doors show of it."""

from __future__ import annotations

from typing import Any

import msgspec

from bough.core.store.sql import CHECKS
from bough.core.store.transactions import Change
from bough.git.finish.forge_checks import CheckRun, RequestStatus, RequestThread
from bough.git.finish.forges import Forge, ForgeKind
from bough.storage.backend import Tx

# At most this many prompts about one pull request; then a person should look.
MOST_PROMPTS = 5


class PullRequestRow(msgspec.Struct):
    """A pull request as it was last read."""

    worktree_id: str
    forge: ForgeKind
    host: str
    project: str
    number: int
    url: str
    state: RequestStatus
    head: str | None
    checks: str
    threads: str
    error: str | None
    auto_send: bool | None
    checked_at: str | None

    @property
    def server(self) -> Forge:
        return Forge(self.forge, self.host, self.project)


class CheckCounts(msgspec.Struct):
    """Counts the checks of the last commit, and the threads that are not resolved."""

    passed: int
    failed: int
    pending: int
    skipped: int
    threads: int


class PullRequestChecks(msgspec.Struct, rename="camel"):
    """The checks and review threads of a worktree's pull request, as they were at `checkedAt`.

    - `error`: why they could not be read last time.
    - `autoSend`: whether failures are sent to the session automatically; null uses the server's setting, and `sends`
      is the result.
    - `unsent`: how many failed checks and threads no session was told of.
    - `prompts`: how many prompts about it were sent, of `mostPrompts`; `needsPerson` says that no more will be."""

    worktree_id: str
    number: int
    url: str
    state: RequestStatus
    head: str | None
    checks: list[CheckRun]
    threads: list[RequestThread]
    counts: CheckCounts
    error: str | None
    checked_at: str | None
    auto_send: bool | None
    sends: bool
    unsent: int
    prompts: int
    most_prompts: int
    needs_person: bool


class Failures(msgspec.Struct):
    """The failed checks and open threads of a pull request that no session was told of, by the name under which each
    is sent once; and the number of the next prompt."""

    checks: dict[str, CheckRun]
    threads: dict[str, RequestThread]
    prompt: int

    @property
    def total(self) -> int:
        return len(self.checks) + len(self.threads)

    def first(self, most: int) -> Failures:
        """Returns the first ones, checks before threads."""
        checks, threads = list(self.checks.items())[:most], list(self.threads.items())
        return Failures(dict(checks), dict(threads[: most - len(checks)]), self.prompt)


class _Sent(msgspec.Struct):
    item: str
    prompt: int


async def find_row(tx: Tx, worktree_id: str) -> PullRequestRow | None:
    return await tx.one(CHECKS.get, PullRequestRow, worktree_id=worktree_id)


async def track(change: Change, worktree_id: str, forge: Forge, number: int, url: str) -> None:
    """Stores that a pull request is open for the worktree's branch."""
    fields = {"forge": forge.kind, "host": forge.host, "project": forge.project, "number": number, "url": url}
    await change.tx.run(CHECKS.track, worktree_id=worktree_id, **fields)


async def find_failures(tx: Tx, row: PullRequestRow, *, by_rule: bool = False) -> Failures:
    """Returns what no session was told of yet. A check counts once per run and commit, a thread once per comment.
    `by_rule` leaves out threads with comments of strangers: a person decides about those."""
    sent = await tx.all(CHECKS.sent, _Sent, worktree_id=row.worktree_id, number=row.number)
    items = {item.item for item in sent}
    checks, threads = read_checks(row), read_threads(row)
    failed = {f"check:{check.id}@{row.head}": check for check in checks if check.status == "failed"}
    opened = {f"thread:{thread.id}#{thread.last}": thread for thread in threads}
    if by_rule:
        trusted = {item: all(comment.member for comment in thread.comments) for item, thread in opened.items()}
        opened = {item: thread for item, thread in opened.items() if trusted[item]}
    return Failures(
        {item: check for item, check in failed.items() if item not in items},
        {item: thread for item, thread in opened.items() if item not in items},
        1 + max((item.prompt for item in sent), default=0),
    )


async def show(tx: Tx, row: PullRequestRow, *, sends_by_default: bool) -> PullRequestChecks:
    """Returns a pull request as doors show it."""
    failures = await find_failures(tx, row)
    checks, threads = read_checks(row), read_threads(row)
    counts: dict[str, Any] = {
        status: sum(check.status == status for check in checks) for status in ("passed", "failed", "pending", "skipped")
    }
    prompts = failures.prompt - 1
    return PullRequestChecks(
        row.worktree_id,
        row.number,
        row.url,
        row.state,
        row.head,
        checks,
        threads,
        CheckCounts(**counts, threads=len(threads)),
        row.error,
        row.checked_at,
        row.auto_send,
        sends_by_default if row.auto_send is None else row.auto_send,
        failures.total,
        prompts,
        MOST_PROMPTS,
        prompts >= MOST_PROMPTS and failures.total > 0,
    )


def read_checks(row: PullRequestRow) -> list[CheckRun]:
    return msgspec.json.decode(row.checks, type=list[CheckRun])


def read_threads(row: PullRequestRow) -> list[RequestThread]:
    return msgspec.json.decode(row.threads, type=list[RequestThread])
