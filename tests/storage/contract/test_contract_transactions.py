"""R6, Q4: Tests what transactions and reads promise, on both databases."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from bough.errors import Busy, Conflict, Internal
from bough.storage import queries
from bough.storage.backend import Backend, Tx
from bough.storage.open import open_backend
from tests.support.processes import running

WRITER = Path(__file__).parents[1] / "writer.py"
Q = queries.load("boxes", Path(__file__).parents[1] / "sql")


async def ids(backend: Backend) -> list[str]:
    return [id for (id,) in await backend.read(lambda tx: tx.all(Q.ids, tuple[str]))]


async def add(backend: Backend, id: str) -> None:
    await backend.transaction(lambda tx: tx.run(Q.add, id=id, label=id))


async def test_commit_is_seen_by_the_next_read_and_by_other_connections(backend: Backend, database_url: str) -> None:
    """Q4: An acknowledged write is visible to everyone."""
    other = await open_backend(database_url)
    for number in range(20):
        await add(backend, f"box-{number:02}")
        assert len(await ids(backend)) == number + 1
        assert len(await ids(other)) == number + 1
    await other.close()


async def test_the_state_changes_with_every_commit(backend: Backend, database_url: str) -> None:
    """A1: The state changes with every commit, also with those of another process, unless the backend reports no
    state."""
    other = await open_backend(database_url)
    states = [backend.state()]
    for number in range(5):
        for writer in (backend, other):
            await add(writer, f"box-{number}-{writer is other}")
            states.append(backend.state())
            await ids(backend)
            await backend.read(lambda tx: tx.all(Q.ids, tuple[str]), long=True)
            assert backend.state() == states[-1]
    await other.close()
    assert states == [None] * 11 or len(set(states)) == 11


async def test_a_transaction_returns_its_result(backend: Backend) -> None:
    """R6: Returns the result of the transaction's function."""

    async def work(tx: Tx) -> tuple[int, object]:
        await tx.run(Q.add, id="b1", label="one")
        return await tx.run(Q.hit, id="b1"), await tx.value(Q.hits, id="b1")

    assert await backend.transaction(work) == (1, 1)


async def test_a_transaction_that_raises_leaves_nothing(backend: Backend) -> None:
    """R6: Stores all of a transaction or none of it."""

    async def work(tx: Tx) -> None:
        await tx.run(Q.add, id="b1", label="one")
        raise LookupError("on purpose")

    with pytest.raises(LookupError, match="on purpose"):
        await backend.transaction(work)
    assert await ids(backend) == []


async def test_a_failing_transaction_does_not_fail_others(backend: Backend) -> None:
    """R6: Transactions that are queued together share a commit, but one that fails does not fail the others."""

    async def work(tx: Tx, number: int) -> int:
        await tx.run(Q.add, id=f"box-{number:02}", label=f"label {number}")
        if number % 3 == 0:
            raise LookupError(str(number))
        if number % 5 == 0:
            await tx.run(Q.add, id=f"box-{number:02}", label="twice")
        return number

    results = await asyncio.gather(
        *(backend.transaction(lambda tx, n=number: work(tx, n)) for number in range(50)),
        return_exceptions=True,
    )
    stored = [number for number in range(50) if number % 3 and number % 5]
    assert [result for result in results if isinstance(result, int)] == stored
    assert {type(result) for result in results} == {int, LookupError, Conflict}
    assert await ids(backend) == [f"box-{number:02}" for number in stored]


async def test_concurrent_increments_in_one_statement_lose_nothing(backend: Backend) -> None:
    """Q4: 200 increments at once make 200."""
    await add(backend, "b1")
    await asyncio.gather(*(backend.transaction(lambda tx: tx.run(Q.hit, id="b1")) for _ in range(200)))
    assert await backend.read(lambda tx: tx.value(Q.hits, id="b1")) == 200


async def test_concurrent_read_then_write_loses_nothing(backend: Backend) -> None:
    """Q4: A transaction may read, compute and write as if it were alone."""
    await add(backend, "b1")

    async def work(tx: Tx) -> None:
        hits = await tx.value(Q.hits, id="b1")
        assert isinstance(hits, int)
        await tx.run(Q.set_hits, id="b1", hits=hits + 1)

    await asyncio.gather(*(backend.transaction(work) for _ in range(200)))
    assert await backend.read(lambda tx: tx.value(Q.hits, id="b1")) == 200


async def test_two_processes_writing_lose_nothing(backend: Backend, database_url: str) -> None:
    """Q4: The same holds with a second backend on the database, as another process would have."""
    await add(backend, "b1")
    other = await open_backend(database_url)

    async def work(tx: Tx) -> None:
        hits = await tx.value(Q.hits, id="b1")
        assert isinstance(hits, int)
        await tx.run(Q.set_hits, id="b1", hits=hits + 1)

    await asyncio.gather(*(database.transaction(work) for _ in range(30) for database in (backend, other)))
    assert await backend.read(lambda tx: tx.value(Q.hits, id="b1")) == 60
    await other.close()


async def test_a_caught_failure_still_fails_the_transaction(backend: Backend) -> None:
    """R6: After a failed statement nothing of the transaction is stored, even if it catches the error."""
    await add(backend, "b1")

    async def work(tx: Tx) -> str:
        await tx.run(Q.add, id="b2", label="two")
        with pytest.raises(Conflict):
            await tx.run(Q.add, id="b1", label="again")
        return "fine"

    with pytest.raises(Conflict) as caught:
        await backend.transaction(work)
    assert caught.value.code == "constraint_unique"
    assert await ids(backend) == ["b1"]


async def test_constraints_have_the_same_names(backend: Backend) -> None:
    """R6: Enforces foreign keys, and each violation has its code."""
    await add(backend, "b1")
    works: dict[str, Callable[[Tx], Awaitable[int]]] = {
        "constraint_foreign_key": lambda tx: tx.run(Q.add_thing, id="t1", box_id="nowhere", body=None),
        "constraint_unique": lambda tx: tx.run(Q.add, id="b2", label="b1"),
        "constraint_check": lambda tx: tx.run(Q.set_hits, id="b1", hits=-1),
        "constraint_not_null": lambda tx: tx.run(Q.set_hits, id="b1", hits=None),
    }
    for code, work in works.items():
        with pytest.raises(Conflict) as caught:
            await backend.transaction(work)
        assert caught.value.code == code
    await backend.transaction(lambda tx: tx.run(Q.add_thing, id="t1", box_id="b1", body=None))
    with pytest.raises(Conflict):
        await backend.transaction(lambda tx: tx.run(Q.remove, id="other"))


async def test_a_read_is_one_snapshot(backend: Backend, database_url: str) -> None:
    """A1: A page and its total agree, whatever is written in between."""
    other = await open_backend(database_url)
    await add(backend, "b1")
    first_read, written = asyncio.Event(), asyncio.Event()

    if backend.dialect == "sqlite":
        # There the transaction runs in a thread, so that thread waits.
        loop = asyncio.get_running_loop()

        async def work(tx: Tx) -> tuple[object, object]:
            before = await tx.value(Q.count)
            loop.call_soon_threadsafe(first_read.set)
            asyncio.run_coroutine_threadsafe(written.wait(), loop).result(10)
            return before, await tx.value(Q.count)
    else:

        async def work(tx: Tx) -> tuple[object, object]:
            before = await tx.value(Q.count)
            first_read.set()
            await written.wait()
            return before, await tx.value(Q.count)

    reading = asyncio.create_task(backend.read(work, long=True))
    await first_read.wait()
    await add(other, "b2")
    written.set()
    assert await reading == (1, 1)
    assert len(await ids(backend)) == 2
    await other.close()


async def test_reads_cannot_write(backend: Backend) -> None:
    """A1: A read that writes is a bug, and raises an error."""
    for long in (False, True):
        with pytest.raises(Internal):
            await backend.read(lambda tx: tx.run(Q.add, id="b1", label="one"), long=long)
    assert await ids(backend) == []


async def test_long_reads_block_neither_writers_nor_readers_nor_the_loop(backend: Backend) -> None:
    """A1: A long search delays nobody else."""
    beats = 0

    async def heart() -> None:
        nonlocal beats
        while True:
            await asyncio.sleep(0.001)
            beats += 1

    beating = asyncio.create_task(heart())
    long = asyncio.create_task(backend.read(lambda tx: tx.value(Q.slow, n=1_000_000), long=True))
    for number in range(10):
        await add(backend, f"box-{number}")
        assert len(await ids(backend)) == number + 1
    assert not long.done()
    assert await long == 1_000_000
    beating.cancel()
    assert beats > 5


async def test_the_writer_is_not_starved_by_reads(backend: Backend) -> None:
    """Q4: A write gets through while readers never pause."""
    stop = False

    async def reader() -> None:
        while not stop:
            await ids(backend)
            await asyncio.sleep(0)

    readers = [asyncio.create_task(reader()) for _ in range(8)]
    async with asyncio.timeout(10):
        for number in range(20):
            await add(backend, f"box-{number}")
    stop = True
    await asyncio.gather(*readers)


async def test_a_cancelled_caller_does_not_disturb_others(backend: Backend) -> None:
    """A4: A client that hangs up does not affect others."""
    tasks = [asyncio.create_task(add(backend, f"box-{number:02}")) for number in range(20)]
    await asyncio.sleep(0)
    for task in tasks[::2]:
        task.cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(result is None for result in results[1::2])
    assert {f"box-{number:02}" for number in range(1, 20, 2)} <= set(await ids(backend))


async def test_after_close_everything_is_refused(empty: Backend) -> None:
    """L1: Closing is final, and may be repeated."""
    await empty.close()
    await empty.close()
    for call in (empty.transaction, empty.read):
        with pytest.raises(Busy) as caught:
            await call(lambda tx: tx.value(Q.count))
        assert caught.value.code == "database_closed"


async def test_acknowledged_writes_outlive_a_killed_process(backend: Backend, database_url: str) -> None:
    """Q4: kill -9 in the middle of writing loses nothing that was acknowledged."""
    async with running(sys.executable, str(WRITER), database_url) as (writer, output):
        acknowledged = [(await output.readline()).decode().strip() for _ in range(100)]
        writer.kill()
        acknowledged += (await output.read()).decode().split("\n")[:-1]
    assert set(acknowledged) <= set(await ids(backend))
