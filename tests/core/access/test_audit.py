"""Tests in both databases that nothing changes the audit trail, how it is pruned, and that a downgrade leaves no key of
a user."""

from __future__ import annotations

import pytest

from bough.core.access import audit
from bough.core.store.transactions import Store
from bough.errors import BoughError
from bough.model.session import Caller
from bough.model.values import times
from bough.storage import migrate
from bough.storage.backend import Backend
from bough.storage.open import open_backend
from bough.storage.queries import Query


async def opened(url: str) -> tuple[Backend, Store]:
    db = await open_backend(url)
    await migrate.upgrade(db)
    return db, Store(db)


async def add(store: Store, name: str) -> None:
    await audit.Audit(store).add(Caller(), "user.added", user=name)


async def test_nothing_changes_the_trail(database_url: str) -> None:
    """L1: The database itself refuses to change, remove or replace entries."""
    db, store = await opened(database_url)
    try:
        await add(store, "anna")
        await add(store, "bob")
        before = await audit.Audit(store).list(audit.AuditFilter(), 10, 0)
        statements = [
            "UPDATE audit SET user_name = 'x'",
            "DELETE FROM audit",
            "DELETE FROM audit WHERE number = 2",
            "TRUNCATE audit" if db.dialect == "postgres" else "REPLACE INTO audit SELECT * FROM audit",
        ]
        for statement in statements:
            query = Query("attack", statement, "Changes the trail.")
            with pytest.raises(BoughError):
                await db.transaction(lambda tx, query=query: tx.run(query))
        assert await audit.Audit(store).list(audit.AuditFilter(), 10, 0) == before
    finally:
        await db.close()


async def test_pruning(database_url: str) -> None:
    """L1: `bough db` removes entries up to a time, and records that; later ones stay protected."""
    db, store = await opened(database_url)
    try:
        assert await audit.prune(store, times.now()) == 0
        await add(store, "anna")
        await add(store, "bob")
        cut = times.now()
        await add(store, "carl")
        assert await audit.prune(store, cut) == 2
        page = await audit.Audit(store).list(audit.AuditFilter(), 10, 0)
        assert [(entry.number, entry.action, entry.door) for entry in page.rows] == [
            (4, "audit.pruned", "machine"),
            (3, "user.added", "rest"),
        ]
        with pytest.raises(BoughError):
            await db.transaction(lambda tx: tx.run(Query("attack", "DELETE FROM audit", "Removes the rest.")))
    finally:
        await db.close()


async def test_a_downgrade_signs_users_out(database_url: str) -> None:
    """L1: Without users, no key of theirs may count as the owner's."""
    db, _ = await opened(database_url)
    try:
        before = next(item.version for item in migrate.read_folder(migrate.FOLDER, db.dialect) if item.name == "users")
        rows = "('a', '', '', 'h', 'c', '', '', '9', 'token'), ('b', '', '', 'i', 'd', '', '', '9', NULL)"
        keys = Query("keys", f"INSERT INTO page_keys VALUES {rows}", "Adds keys of a user and of the owner.")
        await db.transaction(lambda tx: tx.run(keys))
        await migrate.downgrade(db, before - 1)
        left = Query("left", "SELECT id FROM page_keys", "Lists the keys that are left.")
        assert await db.read(lambda tx: tx.all(left, tuple[str])) == [("b",)]
        await migrate.upgrade(db)
        assert (await migrate.status(db)).pending == []
    finally:
        await db.close()
