"""R6: Tests the schema forward, back and forward again, on both databases."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from bough.errors import BoughError, Conflict, Internal, Invalid
from bough.storage import migrate, queries
from bough.storage.backend import Backend
from bough.storage.open import open_backend
from bough.storage.queries import Query

FOLDER = Path(__file__).parents[1] / "migrations"
Q = queries.load("boxes", Path(__file__).parents[1] / "sql")
COLOURS = Query("colours", "SELECT id, colour FROM boxes ORDER BY id", "The colour of each box.")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the migrations that a test may change."""
    return Path(shutil.copytree(FOLDER, tmp_path / "migrations"))


async def test_up_down_up(empty: Backend) -> None:
    """R6: Migrations run forward and back, and data survives migrations that do not concern it."""
    assert (await migrate.status(empty, FOLDER)).version == 0
    assert await migrate.upgrade(empty, to=1, folder=FOLDER) == [1]
    await empty.transaction(lambda tx: tx.run(Q.add, id="b1", label="one"))
    assert await migrate.upgrade(empty, folder=FOLDER) == [2]
    assert await empty.read(lambda tx: tx.all(COLOURS, tuple[str, str])) == [("b1", "0 red")]
    assert await migrate.downgrade(empty, 1, folder=FOLDER) == [2]
    with pytest.raises(BoughError):
        await empty.read(lambda tx: tx.all(COLOURS, tuple[str, str]))
    assert await empty.read(lambda tx: tx.value(Q.count)) == 1
    assert await migrate.downgrade(empty, 0, folder=FOLDER) == [1]
    assert await migrate.upgrade(empty, folder=FOLDER) == [1, 2]
    assert await migrate.upgrade(empty, folder=FOLDER) == []
    now = await migrate.status(empty, FOLDER)
    assert (now.version, [row.name for row in now.applied], now.pending) == (2, ["boxes", "colour"], [])


async def test_a_migration_that_fails_leaves_the_schema_as_it_was(empty: Backend, folder: Path) -> None:
    """R6: Each migration is one transaction, including its tables."""
    (folder / "0002_colour.up.sql").write_text("ALTER TABLE boxes ADD COLUMN colour TEXT; UPDATE nowhere SET x = 1;")
    with pytest.raises(BoughError):
        await migrate.upgrade(empty, folder=folder)
    assert (await migrate.status(empty, folder)).version == 1
    with pytest.raises(BoughError):
        await empty.read(lambda tx: tx.all(COLOURS, tuple[str, str]))


async def test_two_processes_that_start_at_once_upgrade_once(empty: Backend, database_url: str) -> None:
    """R6: Two processes that start at once upgrade once."""
    other = await open_backend(database_url)
    done = await asyncio.gather(*(migrate.upgrade(backend, folder=FOLDER) for backend in (empty, other)))
    assert sorted(done) == [[], [1, 2]]
    await other.close()


async def test_a_newer_database_is_refused(empty: Backend, folder: Path) -> None:
    """R6: An older Bough does not touch a schema that it does not know."""
    await migrate.upgrade(empty, folder=folder)
    (folder / "0002_colour.up.sql").unlink()
    (folder / "0002_colour.down.sql").unlink()
    with pytest.raises(Conflict, match="written by a newer Bough: it has schema 2, this Bough knows 1") as caught:
        await migrate.upgrade(empty, folder=folder)
    assert caught.value.code == "schema_newer"
    with pytest.raises(Conflict):
        await migrate.downgrade(empty, 0, folder=folder)


async def test_an_edited_migration_is_refused(empty: Backend, folder: Path) -> None:
    """R6: Refuses a migration whose file changed after it was applied."""
    await migrate.upgrade(empty, folder=folder, to=1)
    file = folder / "0001_boxes.up.sql"
    file.write_text(file.read_text() + "\n-- a second thought\n")
    with pytest.raises(Conflict, match=r"Migration 1 \(boxes\)") as caught:
        await migrate.upgrade(empty, folder=folder)
    assert caught.value.code == "schema_edited"


@pytest.mark.parametrize("missing", ["0001_boxes.up.sql", "0001_boxes.down.sql", "0002_colour.down.sql"])
async def test_a_gap_is_refused(empty: Backend, folder: Path, missing: str) -> None:
    """R6: Every step has both directions, and none is missing."""
    (folder / missing).unlink()
    with pytest.raises(Internal) as caught:
        await migrate.upgrade(empty, folder=folder)
    assert caught.value.code == "migrations_broken"


@pytest.mark.parametrize("to", [-1, 0, 3])
async def test_an_impossible_target_is_refused(empty: Backend, to: int) -> None:
    """R6: Upgrades only go forward, downgrades only back, and only to existing versions."""
    await migrate.upgrade(empty, to=1, folder=FOLDER)
    with pytest.raises(Invalid):
        await migrate.upgrade(empty, to=to, folder=FOLDER)
    with pytest.raises(Invalid):
        await migrate.downgrade(empty, to if to else 2, folder=FOLDER)
