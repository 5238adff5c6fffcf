"""Plans commits, and proposes their messages from the transcript."""

from __future__ import annotations

import msgspec

from bough.core.finish.folder import WorktreeFolder
from bough.core.finish.once import Foresee
from bough.core.finish.requests import CommitBody, Finished, FinishPlan, counted
from bough.core.state.reports.callbacks import last_words
from bough.core.store.sql import WORKTREES
from bough.git.decode import shown
from bough.git.finish import commit as git
from bough.model.task import Task
from bough.storage.backend import Tx

LONGEST_SUBJECT = 72
LONGEST_BODY = 2_000


class TitledTask(Task):
    """A task with the title of its session."""

    title: str


class ProposedMessage(msgspec.Struct, rename="camel"):
    """A commit message, and the session that it was taken from, if any."""

    message: str
    session_id: str | None = None


async def propose_message(tx: Tx, worktree_id: str, name: str) -> ProposedMessage:
    """Builds a message from the last completed turn in a worktree: its session's title and the agent's last words."""
    task = await tx.one(WORKTREES.last_turn, TitledTask, id=worktree_id)
    if task is None:
        return ProposedMessage(_subject(name))
    body = _body(await last_words(tx, task))
    subject = _subject(task.title)
    return ProposedMessage(f"{subject}\n\n{body}" if body else subject, task.session_id)


def _subject(title: str) -> str:
    text = " ".join(title.split())
    if len(text) > LONGEST_SUBJECT:
        start, _, _ = text[: LONGEST_SUBJECT - 1].rpartition(" ")
        text = f"{start or text[: LONGEST_SUBJECT - 1]}…"
    return text or "Changes"


def _body(words: str) -> str:
    """Returns the first paragraphs, without NUL characters and blanks at the ends of lines."""
    text = "\n".join(line.rstrip() for line in words.replace("\0", "").strip().splitlines())
    if len(text) <= LONGEST_BODY:
        return text
    start, _, _ = text[:LONGEST_BODY].rpartition("\n\n")
    return start or f"{text[: LONGEST_BODY - 1]}…"


async def plan_commit(
    folder: WorktreeFolder, body: CommitBody, proposed: str, foresee: Foresee, *, by_agent: bool
) -> FinishPlan:
    """Plans a commit of the chosen files. Hooks do not run for an agent, which could have written them."""
    message = git.checked_message(body.message if body.message is not None else proposed)
    plan = await git.plan_commit(folder.path, body.files)
    finished = Finished("commit", folder.row.id, body.dry_run, branch=folder.branch, message=message)
    finished.name_files([shown(name) for name in plan.files])
    finished.steps.append(f"Commit {counted(len(plan.files), 'file')} to {folder.branch or 'the detached HEAD'}.")
    if plan.others:
        finished.steps.append("This concludes the merge in progress.")
    if plan.hooks and by_agent:
        plan = msgspec.structs.replace(plan, hooks=False)
        finished.steps.append("The repository's hooks do not run for an agent's commit.")
    if plan.hooks:
        finished.steps.append("The repository's hooks run and may change or refuse the commit.")

    async def made(sha: str) -> None:
        finished.sha = sha
        await foresee(finished)

    async def act() -> None:
        finished.sha = await git.commit(plan, message, made)

    return FinishPlan(finished, act)
