"""L1, O3: Tests names owned by one process, and counted slots, on both databases."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bough.errors import Busy
from bough.storage.backend import Backend
from bough.storage.open import open_backend
from tests.support.eventually import eventually
from tests.support.processes import running

HOLDER = Path(__file__).parents[1] / "holder.py"


async def is_free(backend: Backend, name: str) -> bool:
    try:
        async with backend.own(name):
            return True
    except Busy:
        return False


async def test_a_name_has_one_owner_even_within_a_process(empty: Backend, database_url: str) -> None:
    """L1: Refuses a second server on the same data with a clear error."""
    other = await open_backend(database_url)
    async with empty.own("server"):
        for backend in (empty, other):
            with pytest.raises(Busy, match="server") as caught:
                async with backend.own("server"):
                    pytest.fail("owned twice")
            assert caught.value.code == "database_in_use"
        async with other.own("host-h7/ü"):
            assert not await is_free(empty, "host-h7/ü")
    assert await is_free(other, "server")
    await other.close()


async def test_an_owner_that_fails_frees_the_name(empty: Backend) -> None:
    """L1: Frees the name however the owner ends."""
    with pytest.raises(LookupError):
        async with empty.own("server"):
            raise LookupError
    assert await is_free(empty, "server")


async def test_a_killed_process_frees_its_name(empty: Backend, database_url: str) -> None:
    """Q4: Nobody has to clean up after a kill -9."""
    async with running(sys.executable, str(HOLDER), database_url, "server") as (holder, output):
        assert await output.readline() == b"held\n"
        assert not await is_free(empty, "server")
        holder.kill()
        await eventually(lambda: is_free(empty, "server"))
