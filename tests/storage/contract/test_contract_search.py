"""A2: The same words find the same messages on both databases."""

from __future__ import annotations

import asyncio
import functools
from typing import Any

import pytest
from hypothesis import given as whatever
from hypothesis import settings
from hypothesis import strategies as st

from bough.core.search import index, service
from bough.core.search.query import MOST_WORDS
from bough.core.search.service import Search, SearchFilter
from bough.core.search.words import words
from bough.core.store import records
from bough.core.store.sql import MESSAGES
from bough.core.store.transactions import Change, Store
from bough.errors import BoughError
from bough.model.message import Message, Role, raw
from bough.model.values.ids import new_id
from bough.storage import migrate
from bough.storage.backend import Backend
from bough.storage.queries import Query
from tests.support.eventually import eventually

BEFORE_SEARCH = 7
MOMENT = "2026-03-0{day}T00:00:00.000000Z"
REPO = Query(
    "repo",
    "INSERT INTO repos (id, name, path, kind, created_at, updated_at) VALUES (:id, 'r', :id, 'plain', '', '')",
    "A repository.",
)
OLD_SESSION = Query(
    "session",
    "INSERT INTO sessions (id, repo_id, cwd, agent, title, description, status, activity, permission_mode,"
    " allowed_tools, mcp_server_ids, env, context_files, callback, kind, root_session_id, created_by, git_state,"
    " message_count, queue_paused, archived, metadata, created_at, updated_at, active_at)"
    " VALUES (:id, :repo_id, '/', :agent, :title, :description, :status, 'idle', 'default', '[]', '[]', '{}', '[]',"
    " '{}', 'root', :root, '{}', '{}', 0, FALSE, :archived, '{}', :now, :now, :now)",
    "A session of the schema before races.",
)
SESSION = Query(
    "session",
    "INSERT INTO sessions (id, repo_id, cwd, agent, title, description, status, activity, permission_mode,"
    " allowed_tools, mcp_server_ids, env, context_files, callback, kind, root_session_id, created_by, git_state,"
    " message_count, queue_paused, archived, created_at, updated_at, active_at)"
    " VALUES (:id, :repo_id, '/', :agent, :title, :description, :status, 'idle', 'default', '[]', '[]', '{}', '[]',"
    " '{}', 'root', :root, '{}', '{}', 0, FALSE, :archived, :now, :now, :now)",
    "A session.",
)
RETITLE = Query("retitle", "UPDATE sessions SET title = :title WHERE id = :id", "Another title.")
REMOVE = Query("remove", "DELETE FROM sessions WHERE id = :id", "Removes a session.")
ENTRIES = Query("entries", "SELECT COUNT(*) FROM search_entries", "What the index knows.")
INDEXED = Query("indexed", "SELECT COUNT(*) FROM search_index", "What the index holds.")

TEXTS = {
    "plain": "The quick brown fox jumps over the lazy dog.",
    "accents": "Crème brûlée in the café of Zürich; STRASSE, Straße, Ångström, re\u0301sume\u0301",
    "greek": "ΟΔΥΣΣΕΥΣ και Οδυσσεύς",
    "code": "def read_folder(path): return self.store[path]  # src/bough/app.py:42, foo-bar v1.2.3 x86_64",
    "numbers": "007 3.14 1e5 0x1F -5 12abc abc12 1_000_000",
    "chinese": "会话已经结束，请重新打开。東京タワー",
    "korean": "세션이 끝났습니다",
    "emoji": "🌳 tree ✅ done",
    "long": "a" * 200 + " " + "b" * 3000,
    "html": "<a href=\"https://example.org/?q=1&r=2\">mail@example.org</a> 'quoted' \\backslash %percent _under_",
    "repeated": "echo " * 400 + "needle in haystack",
    "far": " ".join(f"w{number}" for number in range(20_000)) + " distant marker",
    "dashes": "run it with --dry-run and -v",
    "words": "and or not near AND OR NOT NEAR",
}
# Messages, and the queries that find them.
EXPECTED: dict[tuple[str, ...], tuple[str, ...]] = {
    ("plain",): (
        *("fox", "FOX quick", '"brown fox"', "“brown fox”", '"brown fox', "fox -cat", "qui*", "ju* la*", '"the la"*'),
        *("-quick -fox", "fox -brown_cat"),
    ),
    ("accents",): ("creme", "CAFÉ", "zurich", "strasse", "straße", "angstrom", "résumé", "resume", '-"brown fox" the'),
    ("greek",): ("οδυσσευς", "ΟΔΥΣΣΕΎΣ"),
    ("code",): (
        *("read_folder", "src/bough/app.py", "app.py", "foo-bar", "x86_64", "self.store[path]", "x86*", "v1.2.3"),
        "folder* -fox",
    ),
    ("numbers",): ("007", "3.14", "1e5", "0x1f", "12abc", "12*", "1_000", "-5"),
    ("chinese",): ("会话", "重新打开", "東京", "タワ"),
    ("korean",): ("끝났습니다", "세션*"),
    ("emoji",): ("🌳 tree", "done"),
    ("long",): ("a" * 200, "a" * 64, "b" * 3000),
    ("html",): ("mail@example.org", "example.org", "backslash", "percent%", "_under_", "quoted"),
    ("repeated",): ("needle", '"echo echo"', '"echo needle"', '"needle in"'),
    ("far",): ("w19999", '"w19998 w19999"', '"distant marker"', '"w19999 distant"'),
    ("dashes",): ("--dry-run", "-v", "-dry"),
    ("words",): ("or", "NOT", '"and or"', "near("),
    ("dashes", "words"): ("AND",),
    ("accents", "plain"): ("the the", "the*", '-"fox brown" the'),
    (): (
        *(
            '"fox brown"',
            "fox -dog",
            "fo",
            "1.2.3",
            "1.2.4",
            "7",
            "12",
            "话会",
            "세션",
            "🌳",
            "b" * 70,
            "* *",
            '"',
            '""',
        ),
        *("-", "", "()", "dog -fox*", "NUL\0x", '"w19999 w19998"', '"echo haystack"', "§", "\\", "%", "_"),
    ),
}


@pytest.fixture
async def store(empty: Backend) -> Store:
    await migrate.upgrade(empty)
    return Store(empty)


async def add_session(store: Store, query: Query = SESSION, **columns: Any) -> str:
    session_id = new_id()
    fields = {"agent": "demo", "title": "", "description": "", "status": "active", "archived": False}
    fields |= {"root": session_id, "now": MOMENT.format(day=1), "repo_id": new_id()} | columns

    async def work(change: Change) -> None:
        await change.tx.run(REPO, id=fields["repo_id"])
        await change.tx.run(query, id=session_id, **fields)

    await store.write(work)
    return session_id


async def say(store: Store, session_id: str, text: str | dict[str, Any], role: Role = "agent", day: int = 1) -> str:
    body = text if isinstance(text, dict) else {"type": "text", "text": text}
    message_id, moment = new_id(), MOMENT.format(day=day)
    message = Message(message_id, session_id, None, int(message_id[-12:], 16), role, raw(body), moment, moment)
    await store.write(lambda change: records.insert_messages(change, [message]))
    return message_id


async def found(store: Store, text: str, **filters: Any) -> list[str]:
    """Returns the texts of the results."""
    return [hit.snippet for hit in (await Search(store).find(text, SearchFilter(**filters), 100)).results]


async def test_the_same_words_find_the_same(store: Store) -> None:
    """A2: Both databases find the same messages for any query."""
    session = await add_session(store)
    names = {await say(store, session, text): name for name, text in TEXTS.items()}
    for expected, questions in EXPECTED.items():
        for question in questions:
            answer = await Search(store).find(question, limit=100)
            assert sorted(names[str(hit.message_id)] for hit in answer.results) == sorted(expected), question
            assert (answer.total, answer.total_capped, answer.indexing) == (len(expected), False, False)


async def test_a_slow_step_may_be_the_last(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A2: `indexing` tells what is missing, not how long the search took: after a slow step that indexed everything, it
    is false; while more is due, it is true."""
    monkeypatch.setattr(index, "CATCH_UP_WITHIN", 0.0)
    session = await add_session(store)
    await say(store, session, "one fox")
    answer = await Search(store).find("fox")
    assert (answer.total, answer.indexing) == (1, False)
    monkeypatch.setattr(index, "BATCH", 1)
    for text in ("another fox", "a third fox"):
        await say(store, session, text)
    assert (await Search(store).find("fox")).indexing


async def test_matches_are_marked(store: Store) -> None:
    """A2: A snippet is a passage around the matches, and its marks are character ranges, whatever the characters."""
    session = await add_session(store)
    for text in TEXTS.values():
        await say(store, session, text)
    for question, marked in {
        "fox dog": ["fox", "dog"],
        "CREME resume strasse": ["Crème", "STRASSE", "Straße", "résumé"],
        "read_folder path": ["read_folder", "path", "path"],
        "会话 重新": ["会话", "重新"],
        '"distant marker"': ["distant marker"],
        "tree": ["tree"],
        "12*": ["12abc"],
    }.items():
        [hit] = (await Search(store).find(question)).results
        assert [hit.snippet[low:high] for low, high in hit.marks] == marked
        assert len(hit.snippet) <= 210
        assert hit.score > 0


TOOL: dict[str, Any] = {
    "type": "tool",
    "tool": "Edit",
    "title": "Editing hedgehog.py",
    "toolCallId": "call-seventeen",
    "args": {"command": "grep --zebra", "nested": [{"deep": "okapi"}], "timeout": 12345},
    "locations": [{"path": "/home/me/lion.py"}],
    "result": {
        "status": "completed",
        "content": [
            {"type": "diff", "path": "src/tiger.py", "oldText": "dodo", "newText": "phoenix rises"},
            {"type": "content", "content": {"type": "text", "text": "panther printed"}},
            {"type": "content", "content": {"type": "image", "data": "UNSEENBASE64", "mimeType": "image/png"}},
        ],
        "output": {"stdout": "leopard output"},
    },
}
BODIES: tuple[dict[str, Any], ...] = (
    TOOL,
    {"type": "text", "text": "said cheetah"},
    {"type": "thought", "text": "thought jaguar"},
    {"type": "plan", "steps": [{"content": "plan the lynx", "status": "pending", "priority": "high"}]},
    {"type": "callback", "text": "reports ocelot", "title": "child puma", "agent": "demo"},
    {"type": "btw", "question": "which serval", "text": "the caracal"},
    {"type": "error", "code": "agent_gone", "text": "margay died"},
    {"type": "update", "kind": "odd", "update": {"sessionUpdate": "odd", "words": "kodkod"}},
)
SAID = {
    "text": "cheetah",
    "thought": "jaguar",
    "plan": "lynx",
    "tool": "edit hedgehog.py zebra okapi lion tiger phoenix panther leopard 12345",
    "callback": "ocelot puma",
    "btw": "serval caracal",
    "error": "margay agent_gone",
    "update": "kodkod",
    "session": "gardens hedges",
}


async def test_every_kind_of_message_is_searched(store: Store) -> None:
    """A2: Finds text, thoughts, plans, tool calls with their arguments and results, reports, side questions and
    failures, but neither the text before an edit nor words of the protocol."""
    session = await add_session(store, title="A session about gardens", description="and their hedges")
    for body in BODIES:
        await say(store, session, body)
    for kind, each in SAID.items():
        for word in each.split():
            [hit] = (await Search(store).find(word)).results
            assert (hit.type, [hit.snippet[low:high].lower() for low, high in hit.marks][:1]) == (kind, [word])
            assert (hit.message_id is None, hit.role is None) == (kind == "session", kind == "session")
    for word in ("dodo", "UNSEENBASE64", "seventeen", "completed", "odd"):
        assert (await Search(store).find(word)).results == []


async def test_filters(store: Store) -> None:
    """A2: Each filter keeps what it names, and all of them work together."""
    archived_session = await add_session(store, title="both stones", agent="codex", status="completed", archived=True)
    two = await add_session(store, title="both sticks", root=archived_session)
    await say(store, archived_session, "both first", "user", day=1)
    await say(store, archived_session, {"type": "thought", "text": "both second"}, day=2)
    await say(store, two, "both third", "agent", day=3)
    [stones] = (await Search(store).find("stones")).results

    async def left(**filters: Any) -> set[str]:
        return {text.split()[-1] for text in await found(store, "both", **filters)}

    assert await left() == {"stones", "sticks", "first", "second", "third"}
    assert await left(session_id=two) == await left(session_id=two[-8:]) == {"sticks", "third"}
    assert await left(root_id=archived_session) == await left()
    assert await left(root_id=two) == set()
    assert await left(repo_id=stones.repo_id) == {"stones", "first", "second"}
    assert await left(agent="codex") == {"stones", "first", "second"}
    assert await left(role="user,agent") == {"first", "second", "third"}
    assert await left(type="thought,session") == {"stones", "sticks", "second"}
    assert await left(status="active") == {"sticks", "third"}
    assert await left(archived=True) == {"stones", "first", "second"}
    assert await left(archived=False) == {"sticks", "third"}
    assert await left(since="2026-03-02", until="2026-03-03") == {"second"}
    assert await left(since="2026-03-02", role="agent", agent="codex", session_id=archived_session, archived=True) == {
        "second"
    }
    for wrong in ({"role": "robot"}, {"status": "odd"}, {"since": "soon"}, {"repo_id": new_id()}):
        with pytest.raises(BoughError):
            await left(**wrong)


async def test_the_best_come_first(store: Store) -> None:
    """A2: Ranks better matches first and, among equals, newer ones; pages do not overlap."""
    session = await add_session(store)
    for day in (1, 3, 2):
        await say(store, session, f"equal owl {'x ' * 20}", day=day)
    await say(store, session, "owl owl owl owl", day=1)
    await say(store, session, f"owl {'far too much else ' * 200}", day=9)
    answer = await Search(store).find("owl")
    assert answer.results[0].snippet == "owl owl owl owl"
    assert [hit.created_at[9] for hit in answer.results[1:]] == ["3", "2", "1", "9"]
    assert [hit.score for hit in answer.results] == sorted((hit.score for hit in answer.results), reverse=True)
    pages = [await Search(store).find("owl", limit=2, offset=offset) for offset in (0, 2, 4, 6)]
    assert [hit.message_id for page in pages for hit in page.results] == [hit.message_id for hit in answer.results]
    assert {page.total for page in pages} == {5}


async def test_only_the_newest_of_many_matches_are_ranked(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A2: Bounds what is counted and ranked, and says so."""
    monkeypatch.setattr(service, "MOST", 3)
    session = await add_session(store)
    ids = [await say(store, session, f"one of many {number}") for number in range(5)]
    answer = await Search(store).find("many")
    assert (answer.total, answer.total_capped) == (3, True)
    assert {hit.message_id for hit in answer.results} == set(ids[2:])


async def test_the_index_follows_changes(store: Store) -> None:
    """A2: Finds growing, changed and renamed items by their current text, and purged ones not at all."""
    session = await add_session(store, title="alpha")
    message = await say(store, session, {"type": "text", "text": "growing apple", "partial": True})
    assert len(await found(store, "apple")) == 1

    async def grow(change: Change) -> None:
        content = raw({"type": "text", "text": "growing banana", "partial": False})
        await change.tx.one(MESSAGES.rewrite, Message, id=message, content=content, now=change.now)
        await change.tx.run(RETITLE, id=session, title="avocado")

    await store.write(grow)
    assert await found(store, "apple") == await found(store, "alpha") == []
    assert await found(store, "banana") == ["growing banana"]
    assert await found(store, "avocado") == ["avocado"]
    await say(store, session, "never indexed apricot")

    async def purge(change: Change) -> None:
        await change.tx.run(MESSAGES.remove_of_session, session_id=session)
        await change.tx.run(REMOVE, id=session)

    await store.write(purge)
    for word in ("banana", "avocado", "apricot"):
        assert await found(store, word) == []
    for left in (ENTRIES, INDEXED):
        assert await store.read(lambda tx, left=left: tx.value(left)) == 0


REFUSE = {
    "sqlite": "CREATE TRIGGER full_up BEFORE INSERT ON search_entries BEGIN SELECT RAISE(ABORT, 'full'); END",
    "postgres": "ALTER TABLE search_entries ADD CONSTRAINT full_up CHECK (id < 0) NOT VALID",
}
TAKE = {"sqlite": "DROP TRIGGER full_up", "postgres": "ALTER TABLE search_entries DROP CONSTRAINT full_up"}


async def test_an_index_that_cannot_be_written_is_searched(store: Store) -> None:
    """A2: Searches the index even while it cannot be updated, and says that something is missing."""
    session = await add_session(store)
    await say(store, session, "old badger")
    assert await found(store, "badger") == ["old badger"]
    await store.write(lambda change: change.tx.run(Query("refuse", REFUSE[store.db.dialect], "A full disk.")))
    await say(store, session, "new badger")
    answer = await Search(store).find("badger")
    assert ([hit.snippet for hit in answer.results], answer.indexing) == (["old badger"], True)
    await store.write(lambda change: change.tx.run(Query("take", TAKE[store.db.dialect], "There is room again.")))
    assert sorted(await found(store, "badger")) == ["new badger", "old badger"]


async def test_an_empty_message_leaves_the_index(store: Store) -> None:
    """A2: Removes items without words or without a title from the index."""
    session = await add_session(store, title="kiwi")
    message = await say(store, session, "kiwi")
    assert len(await found(store, "kiwi")) == 2

    async def silence(change: Change) -> None:
        empty = raw({"type": "text", "text": " … "})
        await change.tx.one(MESSAGES.rewrite, Message, id=message, content=empty, now=change.now)
        await change.tx.run(RETITLE, id=session, title="")

    await store.write(silence)
    assert await found(store, "kiwi") == []
    assert await store.read(lambda tx: tx.value(INDEXED)) == 0


async def test_many_simultaneous_searches(store: Store) -> None:
    """A2: Indexes a new message once, whoever searches first."""
    session = await add_session(store)
    await asyncio.gather(*(say(store, session, f"word {number} plum") for number in range(30)))
    search = Search(store)
    answers = await asyncio.gather(*(search.find("plum", limit=100) for _ in range(5)))
    assert {answer.total for answer in answers} == {30}


async def is_indexed(search: Search) -> bool:
    return not (await search.find("ancient")).indexing


async def test_an_old_database_is_indexed(empty: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    """A2, R6: Makes an older database searchable after the upgrade: results say so while its transcripts are still
    being indexed, and new messages do not wait for them. After a downgrade and another upgrade, everything is found
    again."""
    monkeypatch.setattr(index, "BATCH", 4)
    await migrate.upgrade(empty, to=BEFORE_SEARCH)
    store = Store(empty)
    session = await add_session(store, OLD_SESSION, title="ancient title")
    for number in range(10):
        await say(store, session, f"ancient {number}")
    for _ in range(2):
        await migrate.upgrade(empty)
        search = Search(store)
        fresh = await say(store, session, "fresh words")
        answer = await search.find("fresh")
        assert fresh in {hit.message_id for hit in answer.results} and answer.indexing
        assert (await search.find("ancient")).total == 1
        keeping = asyncio.create_task(search.index.run())
        await eventually(functools.partial(is_indexed, search), "every message is indexed")
        answer = await search.find("ancient")
        keeping.cancel()
        assert answer.total == 11
        await migrate.downgrade(empty, BEFORE_SEARCH)


@pytest.fixture
async def some(store: Store) -> tuple[Store, str]:
    """A session with a few short messages."""
    session = await add_session(store)
    for text in ("a b", "ab é 会 \u0301", 'a-b "ab" a*b'):
        await say(store, session, text)
    return store, session


@whatever(st.text() | st.text(st.sampled_from("ab\"-*()§%_\\'&|!:^+ \0\n“”é会\u0301")), st.booleans())
@settings(max_examples=150)
async def test_any_text_is_a_valid_query(some: tuple[Store, str], text: str, narrow: bool) -> None:
    """A2: Accepts any text as a query, and marks only parts of the snippet."""
    store, session = some
    answer = await Search(store).find(text, SearchFilter(session_id=session) if narrow else None)
    for hit in answer.results:
        assert all(0 <= low < high <= len(hit.snippet) for low, high in hit.marks)


@whatever(st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), min_size=1, max_size=300))
@settings(max_examples=60)
async def test_a_text_is_found_by_its_words(some: tuple[Store, str], text: str) -> None:
    """A2: Finds a message by its text as a phrase, and by each of its words."""
    store, session = some
    message = await say(store, session, text)
    text_words = words(text)[:MOST_WORDS]
    for question in [f'"{" ".join(text_words)}"', " ".join(text_words[:10])] if text_words else []:
        answer = await Search(store).find(question, limit=100)
        assert message in {hit.message_id for hit in answer.results}
