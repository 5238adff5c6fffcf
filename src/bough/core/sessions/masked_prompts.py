"""Puts secret values back into prompts that people saw masked and send again, so that agents get no asterisks."""

from __future__ import annotations

from bough.core.store.session_secrets import prompt_redactor, shown_task
from bough.core.store.sql import TASKS
from bough.errors import Invalid
from bough.model.task import Task
from bough.model.values.redaction import MASK
from bough.storage.backend import Tx

MOST_EARLIER = 200
"""Prompts among which a repeated one is looked for, the newest ones."""


async def edited_prompt(tx: Tx, task: Task, text: str) -> str:
    """Returns the new text of a queued prompt, with its secret values in the places of their masks. Raises `Invalid` if
    masks were added or removed, unless all were: then nobody can tell what the others stand for."""
    restored = (await prompt_redactor(tx, task)).restore(text, task.prompt)
    if restored is None:
        raise Invalid(
            "masked_prompt",
            f"This prompt holds secret values, shown as {MASK}. Leave every {MASK} in its place, or write the whole "
            f"text without {MASK}.",
        )
    return restored


async def repeated_prompt(tx: Tx, session_id: str, text: str) -> str:
    """Returns the text of an earlier prompt of the session that is shown as this one; otherwise the text itself."""
    if MASK not in text:
        return text
    query = TASKS.newest.with_(where="session_id = :session_id")
    for task in await tx.all(query, Task, session_id=session_id, limit=MOST_EARLIER, offset=0):
        if task.prompt != text and (await shown_task(tx, task)).prompt == text:
            return task.prompt
    return text
