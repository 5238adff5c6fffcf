"""The state that a shell leaves: read exactly, without Bough's variables, and moved with a fork."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bough.agents.acp_server.records import SettingRecord, ShellRecord
from bough.agents.acp_server.session_store import now
from bough.agents.terminal.prompts import CUT_OFF
from bough.agents.terminal.shell import MARK, STATE_LIMIT, ShellState, environment, read_state
from bough.agents.terminal.state import open_store
from bough.core.turns.continuation_prompt import CONTINUE

BASE = {"PATH": "/bin", "HOME": "/root", "BOUGH_TOKEN": "secret"}
names = st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,8}", fullmatch=True).filter(
    lambda name: name not in ("PWD", "SHLVL", MARK)
)
values = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"))


def _written(cwd: str, env: dict[str, str]) -> bytes:
    return f"{cwd}\n\0".encode() + b"".join(f"{name}={value}\0".encode() for name, value in env.items())


@given(st.dictionaries(names, values, min_size=1))
def test_the_next_shell_gets_the_exported_variables(exported: dict[str, str]) -> None:
    """L5: A shell starts with the variables that the previous one ended with, whatever their values."""
    state = read_state(_written("/", exported), BASE)
    assert state is not None
    following = environment(BASE, state.set, state.unset, cwd="/", mark="m")
    expected = {name: value for name, value in exported.items() if not name.startswith("BOUGH_")}
    assert {name: value for name, value in following.items() if name not in ("PWD", MARK)} == expected


@pytest.mark.parametrize("data", [b"", b"/", b"/\n", b"/\n\0", b"/\n\0PATH=/bin\0HOME=/ro"])
def test_an_incomplete_state_is_ignored(data: bytes) -> None:
    """L5: The state of a shell that was killed while writing it does not count."""
    assert read_state(data, BASE) is None


def test_the_folder_is_the_path_that_the_shell_shows(tmp_path: Path) -> None:
    """L5: A path through a link is kept if it leads to the folder, else the real path is used; a deleted folder keeps
    its name."""
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
        state = read_state(_written(physical, {"PWD": logical}), {})
        assert state is not None
        assert state.cwd == expected


def test_values_that_are_not_text_are_left_out() -> None:
    """L5: A value that is not text is not kept, and its variable does not count as unset; a state beyond the limit is
    detected."""
    state = read_state(b"/\n\0PATH=/bin\0HOME=\xff\0TERM=dumb\0X=1\0", BASE)
    assert state == ShellState("/", {"X": "1"}, [])
    assert read_state(b"/\xff\n\0PATH=/bin\0", BASE) is None
    assert not ShellState("/", {"X": "1"}, []).too_large
    assert ShellState("/", {"X": "x" * STATE_LIMIT}, []).too_large


def test_a_shell_moves_with_its_session(tmp_path: Path) -> None:
    """B1, B2: When a session moves, its shell moves to the same place in the new folder, unless it was outside."""
    store = open_store(tmp_path)
    for folder, expected in (("/old/a/b", "/new/a/b"), ("/old", "/new"), ("/older", "/older"), ("/tmp", "/tmp")):
        file = store.create("/old")
        file.append(ShellRecord(at=now(), cwd=folder, set={"X": "1", "OLDPWD": "/old"}))
        fork = store.fork(file, "/new")
        file.append(SettingRecord(at=now(), cwd="/new"))
        for state in (file.state(), fork.state()):
            assert (state.folder, state.cwd, state.set["X"]) == ("/new", expected, "1")
            assert ("OLDPWD" in state.set) == (folder == expected)


def test_the_prompt_to_continue_is_recognized() -> None:
    """O2: Bough's prompt to an interrupted agent starts as the terminal agent expects."""
    assert CONTINUE.startswith(CUT_OFF)
