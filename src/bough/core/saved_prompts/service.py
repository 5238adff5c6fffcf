"""Saves, lists, changes and removes the prompts of a person, and lists them with those that a repository offers."""

from __future__ import annotations

import asyncio

import msgspec

from bough.core.saved_prompts.repo_files import OfferedPrompt, read_prompts
from bough.core.saved_prompts.requests import NewSavedPrompt, SavedPrompt, SavedPromptPatch, check_prompt
from bough.core.store.records import session as session_record
from bough.core.store.short_ids import find
from bough.core.store.sql import REPOS, SAVED_PROMPTS
from bough.core.store.transactions import Change, Store
from bough.errors import Conflict, Denied, Invalid, NotFound
from bough.git.workspace import check_workspace
from bough.model.repo import Repo
from bough.model.session import Caller
from bough.model.values.ids import new_id
from bough.settings import Settings
from bough.storage.backend import Tx

MOST_SAVED = 200


class SavedPrompts:
    """Keeps each person's prompts; nobody else sees them."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings

    async def add(self, caller: Caller, new: NewSavedPrompt) -> SavedPrompt:
        user = _person(caller)
        check_prompt(new.name, new.text)

        async def work(change: Change) -> SavedPrompt:
            if (await change.tx.value(SAVED_PROMPTS.count, user_id=user) or 0) >= MOST_SAVED:
                raise Conflict("too_many_saved_prompts", f"You have {MOST_SAVED} saved prompts. Remove some first.")
            row = await change.tx.one(
                SAVED_PROMPTS.add,
                SavedPrompt,
                id=new_id(),
                user_id=user,
                name=new.name,
                text=new.text,
                now=change.now,
            )
            if row is None:
                raise _taken(new.name)
            return row

        request = msgspec.structs.replace(new, idempotency_key=None)
        return await self._store.write_once(caller, "saved_prompts.add", request, SavedPrompt, work)

    async def list(self, caller: Caller) -> list[SavedPrompt]:
        """Lists the caller's own prompts by name."""
        user = _person(caller)
        return await self._store.read(lambda tx: tx.all(SAVED_PROMPTS.of_user, SavedPrompt, user_id=user))

    async def offered(self, caller: Caller, session_id: str | None, repo_id: str | None) -> list[OfferedPrompt]:
        """Lists what the caller can insert: own prompts, then those of a session's folder or a repository's own. An own
        prompt hides a repository's with the same name."""
        own = [OfferedPrompt(row.name, row.text) for row in await self.list(caller)]
        folder = await self._store.read(lambda tx: _folder(tx, session_id, repo_id))
        if folder is None:
            return own
        await asyncio.to_thread(check_workspace, self._settings.root_path, self._settings.data_path, folder)
        names = {prompt.name for prompt in own}
        others = await asyncio.to_thread(read_prompts, folder)
        return [*own, *(prompt for prompt in others if prompt.name not in names)]

    async def get(self, caller: Caller, name: str) -> SavedPrompt:
        user = _person(caller)
        return await self._store.read(lambda tx: _get(tx, user, name))

    async def patch(self, caller: Caller, name: str, patch: SavedPromptPatch) -> SavedPrompt:
        user = _person(caller)
        if patch.name is msgspec.UNSET and patch.text is msgspec.UNSET:
            raise Invalid("nothing_to_change", "Give at least one field to change.")

        async def work(change: Change) -> SavedPrompt:
            before = await _get(change.tx, user, name)
            chosen = before.name if patch.name is msgspec.UNSET else patch.name
            text = before.text if patch.text is msgspec.UNSET else patch.text
            check_prompt(chosen, text)
            if chosen != before.name:
                namesake = await change.tx.one(SAVED_PROMPTS.named, SavedPrompt, user_id=user, name=chosen)
                if namesake is not None:
                    raise _taken(chosen)
            row = await change.tx.one(
                SAVED_PROMPTS.change, SavedPrompt, id=before.id, user_id=user, name=chosen, text=text, now=change.now
            )
            assert row is not None
            return row

        return await self._store.write(work)

    async def remove(self, caller: Caller, name: str) -> SavedPrompt:
        user = _person(caller)

        async def work(change: Change) -> SavedPrompt:
            row = await _get(change.tx, user, name)
            await change.tx.run(SAVED_PROMPTS.remove, id=row.id, user_id=user)
            return row

        return await self._store.write(work)


def _person(caller: Caller) -> str:
    """Returns whose prompts are meant: a user's id, or nothing for the server's owner."""
    if caller.kind == "session":
        raise Denied("saved_prompts_for_people", "Only a person has saved prompts.")
    return caller.user_id or ""


async def _get(tx: Tx, user: str, name: str) -> SavedPrompt:
    row = await tx.one(SAVED_PROMPTS.named, SavedPrompt, user_id=user, name=name)
    if row is None:
        raise NotFound("saved_prompt_not_found", f"You have no saved prompt {name!r}.")
    return row


async def _folder(tx: Tx, session_id: str | None, repo_id: str | None) -> str | None:
    if session_id is not None:
        return (await session_record(tx, session_id)).cwd
    if repo_id is not None:
        return (await find(tx, "repos", repo_id, REPOS.get, Repo)).path
    return None


def _taken(name: str) -> Conflict:
    return Conflict("name_taken", f"You already have a saved prompt named {name!r}.")
