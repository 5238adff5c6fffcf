"""Owns the proof that what a shell leaves is read exactly, kept without what is not the user's, and moved with a fork.
It leaves real shells to the integration tests.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bough.agents.acp_server.record_files import now
from bough.agents.terminal.prompts import CUT_OFF
from bough.agents.terminal.records import SettingRecord, ShellRecord
from bough.agents.terminal.shell import MARK, STATE_LIMIT, Left, environment, read_left
from bough.agents.terminal.store import Home
from bough.core.transcripts import replay

BASE = {"PATH": "/bin", "HOME": "/root", "BOUGH_TOKEN": "secret"}
names = st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,8}", fullmatch=True).filter(
    lambda name: name not in ("PWD", "SHLVL", MARK)
)
values = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"))


def _written(cwd: str, env: dict[str, str]) -> bytes:
    return f"{cwd}\n\0".encode() + b"".join(f"{name}={value}\0".encode() for name, value in env.items())


@given(st.dictionaries(names, values, min_size=1))
def test_the_next_environment_is_the_last_one(exported: dict[str, str]) -> None:
    """L5: what a shell ends with, the next one begins with, whatever the values."""
    left = read_left(_written("/", exported), BASE)
    assert left is not None
    again = environment(BASE, left.set, left.unset, cwd="/", mark="m")
    mine = {name: value for name, value in exported.items() if not name.startswith("BOUGH_")}
    assert {name: value for name, value in again.items() if name not in ("PWD", MARK)} == mine


@pytest.mark.parametrize("data", [b"", b"/", b"/\n", b"/\n\0", b"/\n\0PATH=/bin\0HOME=/ro"])
def test_what_is_not_whole_is_not_taken(data: bytes) -> None:
    """L5: a shell that was killed while it wrote has written nothing."""
    assert read_left(data, BASE) is None


def test_the_folder_is_the_way_that_was_taken(tmp_path: Path) -> None:
    """L5: the way over a link if it leads there, else the real path; what is gone is known by its name."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    real, link = str(tmp_path / "real"), str(tmp_path / "link")
    for physical, logical, expected in (
        (real, link, link),
        (real, "/", real),
        (real, "relative", real),
        (real, f"{real}/gone", real),
        ("", f"{real}/gone", f"{real}/gone"),
        (f"{real}\n", f"{real}\n", f"{real}\n"),
    ):
        left = read_left(_written(physical, {"PWD": logical}), {})
        assert left is not None
        assert left.cwd == expected


def test_what_cannot_be_kept_is_left_out() -> None:
    """L5: a value that is no text is not kept, but neither is it taken for gone; too much is known as such."""
    left = read_left(b"/\n\0PATH=/bin\0HOME=\xff\0TERM=dumb\0X=1\0", BASE)
    assert left == Left("/", {"X": "1"}, [])
    assert read_left(b"/\xff\n\0PATH=/bin\0", BASE) is None
    assert not Left("/", {"X": "1"}, []).too_large
    assert Left("/", {"X": "x" * STATE_LIMIT}, []).too_large


def test_a_move_takes_the_shell_along(tmp_path: Path) -> None:
    """B1, B2: a session that goes to another folder stands at the same place of it; one that stood outside stays."""
    home = Home(tmp_path)
    for stands, expected in (("/old/a/b", "/new/a/b"), ("/old", "/new"), ("/older", "/older"), ("/tmp", "/tmp")):
        file = home.create("/old")
        file.append(ShellRecord(at=now(), cwd=stands, set={"X": "1", "OLDPWD": "/old"}))
        fork = home.fork(file, "/new")
        file.append(SettingRecord(at=now(), cwd="/new"))
        for state in (file.state(), fork.state()):
            assert (state.folder, state.cwd, state.set["X"]) == ("/new", expected, "1")
            assert ("OLDPWD" in state.set) == (stands == expected)


def test_the_words_to_go_on_are_known() -> None:
    """O2: what Bough tells an agent that was cut off begins as the terminal expects it."""
    assert replay.CONTINUE.startswith(CUT_OFF)
