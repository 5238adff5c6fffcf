"""Session files keep every record, whichever process writes, and whatever else they contain."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bough.agents.acp_server.records import (
    EndRecord,
    PermissionRecord,
    PromptRecord,
    Record,
    SessionRecord,
    SettingRecord,
    Tokens,
    UpdateRecord,
    encode_record,
)
from bough.agents.acp_server.session_store import PAGE
from bough.agents.demo.state import DemoFile, DemoStore, open_store
from bough.agents.json_rpc import Json

AT = "2026-01-01T00:00:00.000+00:00"


def _prompt(turn: int, *texts: str) -> PromptRecord:
    content: list[Json] = [{"type": "text", "text": text} for text in texts]
    return PromptRecord(at=AT, turn=turn, message_id="m", content=content)


def _file(store: DemoStore) -> DemoFile:
    return store.create("/project")


def test_state_follows_from_the_records(tmp_path: Path) -> None:
    """L5: Mode, options, title, texts, remembered permissions and usage are what the records say."""
    file = _file(open_store(tmp_path))
    file.append(SettingRecord(at=AT, mode="plan"))
    file.append(SettingRecord(at=AT, model="demo-large", effort="low"))
    file.append(_prompt(1, "a", "b"))
    file.append(UpdateRecord(at=AT, update={"sessionUpdate": "session_info_update", "title": "T"}))
    file.append(PermissionRecord(at=AT, tool_call_id="c", kind="edit", answer="allow_always"))
    file.append(PermissionRecord(at=AT, tool_call_id="d", kind="execute", answer="allow_once"))
    file.append(EndRecord(at=AT, turn=1, usage=Tokens(1, 2, 3), cost=0.1, stop_reason="end_turn"))
    file.append(EndRecord(at=AT, turn=2, usage=Tokens(1, 2, 3), cost=0.2, error="oh"))
    state = file.state()
    assert (state.folder, state.mode, state.model, state.effort) == ("/project", "plan", "demo-large", "low")
    assert (state.title, state.turns, state.texts, state.always_allowed) == ("T", 1, ["a", "b"], {"edit"})
    assert (state.tokens.total, state.cost) == (12, 0.3)


def test_each_reader_sees_what_others_append(tmp_path: Path) -> None:
    """L5: Two processes may share a file; each reads what the other appends, once."""
    store = open_store(tmp_path)
    path = _file(store)
    two = store.find(path.id)
    assert two is not None
    for turn, file in enumerate([path, two, path, two], start=1):
        file.append(_prompt(turn, f"text {turn}"))
        assert path.state().turns == two.state().turns == turn


@given(cut=st.integers(min_value=0))
def test_a_line_cut_anywhere_affects_no_other(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    """L5: A writer killed in the middle of a line leaves a record that is ignored, and no other damage."""
    folder = tmp_path_factory.mktemp("home")
    store = open_store(folder)
    file = _file(store)
    file.append(_prompt(1, "before"))
    line = encode_record(_prompt(2, "cut"))
    with (folder / f"{file.id}.jsonl").open("ab") as raw:
        raw.write(line[: cut % len(line)])
    assert file.state().texts == ["before"]
    file.append(_prompt(2, "after"))
    again = store.find(file.id)
    assert again is not None
    assert file.state().texts == again.state().texts == ["before", "after"]


@given(rubbish=st.lists(st.binary(max_size=20).filter(lambda line: b"\n" not in line), max_size=4))
def test_other_lines_are_ignored(tmp_path_factory: pytest.TempPathFactory, rubbish: list[bytes]) -> None:
    """L5: Lines that are not records are ignored."""
    folder = tmp_path_factory.mktemp("home")
    store = open_store(folder)
    file = _file(store)
    with (folder / f"{file.id}.jsonl").open("ab") as raw:
        raw.writelines(line + b"\n" for line in rubbish)
    file.append(_prompt(1, "kept"))
    assert file.state().texts == ["kept"]


def test_a_fork_is_a_copy_with_its_own_header(tmp_path: Path) -> None:
    """L5: A fork has the parent's records so far, its own id and folder, and develops independently."""
    store = open_store(tmp_path)
    parent = _file(store)
    records: list[Record] = [SettingRecord(at=AT, mode="auto", cwd="/moved"), _prompt(1, "a")]
    for record in records:
        parent.append(record)
    fork = store.fork(parent, "/elsewhere")
    parent.append(_prompt(2, "b"))
    header, *copied, _ = fork.records()
    assert isinstance(header, SessionRecord)
    assert (header.id, header.forked_from, copied) == (fork.id, parent.id, records)
    state = fork.state()
    assert (state.folder, state.mode, state.texts) == ("/elsewhere", "auto", ["a"])
    assert sorted(os.listdir(tmp_path)) == sorted(f"{each.id}.jsonl" for each in (parent, fork))


def test_pages_are_stable_while_sessions_change(tmp_path: Path) -> None:
    """L5: Paging by cursor skips no session that was not changed meanwhile, and repeats none."""
    store = open_store(tmp_path)
    files = [_file(store) for _ in range(PAGE + 5)]
    for index, file in enumerate(files):
        os.utime(tmp_path / f"{file.id}.jsonl", (index, index))
    first, cursor = store.page(None, None)
    files[0].append(_prompt(1, "touched"))
    second, end = store.page(None, cursor)
    listed = [file.id for file, _ in (*first, *second)]
    assert listed == [file.id for file in reversed(files[1:])]
    assert end is None


@pytest.mark.parametrize("name", ["", "x", "../x", "demo-" + "g" * 32, "demo-" + "0" * 32 + "/../x"])
def test_only_ids_name_files(tmp_path: Path, name: str) -> None:
    """L5: An id from a client can never name a file elsewhere."""
    (tmp_path / "x.jsonl").touch()
    store = open_store(tmp_path / "home")
    (tmp_path / "home").mkdir()
    assert store.find(name) is None
    store.delete(name)
    assert (tmp_path / "x.jsonl").exists()


def test_a_deleted_session_is_not_recreated(tmp_path: Path) -> None:
    """L5: Appending to a deleted session fails instead of creating half a file."""
    store = open_store(tmp_path)
    file = _file(store)
    store.delete(file.id)
    with pytest.raises(FileNotFoundError):
        file.append(_prompt(1, "x"))
    assert os.listdir(tmp_path) == []
