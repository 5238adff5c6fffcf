"""The sandbox's own program runs outside of the box, and loads nothing that the agent wrote."""

from __future__ import annotations

import pytest

from tests.attacks.sandbox.box_agents import Boxed, needs_sandbox


@needs_sandbox
@pytest.mark.parametrize("value", ["", ":", "{repo}"])
async def test_the_sandbox_loads_no_library_of_the_folder(boxed: Boxed, value: str) -> None:
    """S6: A library in the session's folder is not loaded by the sandbox, also where LD_LIBRARY_PATH leads there: its
    agent starts, and gets the variable inside."""
    path = value.format(repo=boxed.repo)
    for name in ("libcap.so.2", "libselinux.so.1"):
        # The loader would refuse it, and the sandbox would not start.
        (boxed.repo / name).write_text("no library")
    session = await boxed.session(env={"LD_LIBRARY_PATH": path})
    assert await boxed.run(session, 'echo "[$LD_LIBRARY_PATH] $(pwd)"') == f"[{path}] {boxed.repo}\n"
