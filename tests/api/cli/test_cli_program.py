"""Tests the helper that runs the command line: a test that fails leaves no server behind."""

from __future__ import annotations

from pathlib import Path

from tests.api.cli.cli_program import end_left, start


async def test_a_program_that_was_left_running_is_ended(tmp_path: Path) -> None:
    """L1: Programs that nobody waited for are ended with the test that started them."""
    program = await start("serve", "--port", "0", "--data", str(tmp_path / "data"), "--workspace-root", str(tmp_path))
    await program.until("\n")
    await end_left()
    assert program.process.returncode == 0
