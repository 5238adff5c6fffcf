"""Tests events over WebSocket and SSE: in commit order, and complete after any connection failure."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed

from bough.core.events.hub import PAGE
from bough.model.event import EVENT_TYPES, LIVE_TYPES
from bough.model.session import Caller
from tests.api.error_responses import NOBODY, Json, refused
from tests.api.event_streams import Transcript, sse
from tests.support.client import Client
from tests.support.server import Running, serving


def stored(events: list[Json]) -> list[Json]:
    """Returns only the stored events, which describe changes."""
    return [event for event in events if "objectId" in event]


def is_ready(event: Json) -> bool:
    return event["type"] == "stream.ready"


async def past(client: Client, cursor: int = 0, session_id: str | None = None) -> list[Json]:
    """Returns every event so far."""
    async with client.events(session_id, cursor) as events:
        await events.until(is_ready)
        return stored(events.seen)


async def rename(server: Running, times: int) -> str:
    """Makes this many changes one after another; each is one event."""
    board = await server.services.boards.add(Caller(), "board")
    for number in range(times - 1):
        await server.services.boards.rename(board.id, f"name {number}")
    return board.id


async def test_events_come_in_commit_order(server: Running) -> None:
    """A3: Cursors grow by one, and a turn's events come in the order in which they were committed."""
    client = server.client
    repo = await client.repo(server.repo())
    async with client.events() as live:
        session = await client.session(repo["id"], permissionMode="ask", initialPrompt="[[say a]][[run true]]")
        approval = await client.approval(session["id"])
        await client.post(f"/api/approvals/{approval['id']}", {"decision": "allow"})
        await client.wait_task(session["taskId"])
        await client.call("DELETE", f"/api/sessions/{session['id']}")
        stored_events = await past(client, live.seen[0]["cursor"])
        await client.call("DELETE", f"/api/sessions/{session['id']}?purge=true")
        await live.until(lambda event: event["type"] == "session.removed")
    events = stored(live.seen)
    cursors = [event["cursor"] for event in events]
    assert cursors == list(range(cursors[0], cursors[0] + len(cursors)))
    assert {event["type"] for event in live.seen} <= {*EVENT_TYPES, *LIVE_TYPES}
    assert all(event.keys() == {"cursor", "type", "sessionId", "objectId", "data", "createdAt"} for event in events)
    assert all(event["data"]["id"] == event["objectId"] for event in events)
    assert [event["createdAt"] for event in events] == sorted(event["createdAt"] for event in events)
    kinds = [event["type"] for event in events]
    assert kinds[:3] == ["session.created", "task.created", "message.created"]
    statuses = [event["data"]["status"] for event in events if event["type"].startswith("task.")]
    followed = [status for status, before in zip(statuses, [None, *statuses], strict=False) if status != before]
    assert followed == ["queued", "dispatching", "running", "waiting_permission", "running", "completed"]
    decided = [event["data"]["status"] for event in events if event["type"].startswith("approval.")]
    assert decided == ["pending", "allowed"]
    assert stored_events == events[:-1]
    # Purging a session removes its events, except for the removal itself.
    assert await past(client, cursors[0] - 1) == events[-1:]


async def test_sse_sends_the_same_events(server: Running) -> None:
    """A3, L3: `GET /api/events` streams server-sent events with ids, from `cursor` or `Last-Event-ID`."""
    client = server.client
    await rename(server, 5)
    expected = await past(client)
    async with sse(client, "?cursor=0") as stream:
        assert stream.answer.status_code == 200
        assert stream.answer.headers["content-type"].startswith("text/event-stream")
        assert stream.answer.headers["cache-control"] == "no-store"
        for event in expected:
            number, kind, data = await stream.next()
            assert (number, kind, data) == (str(event["cursor"]), event["type"], event)
        number, kind, data = await stream.next()
        assert (kind, data["cursor"]) == ("stream.ready", expected[-1]["cursor"])
        assert number == str(data["cursor"])
    async with sse(client, "?cursor=0", last_event_id=str(expected[2]["cursor"])) as stream:
        assert stored(await stream.until(is_ready)) == expected[3:]


async def test_a_quiet_sse_stream_can_be_resumed(server: Running) -> None:
    """A3: A browser that received only `stream.ready` reconnects with its id and misses nothing."""
    async with sse(server.client) as stream:
        await stream.until(is_ready)
    assert stream.last_id is not None
    await rename(server, 3)
    async with sse(server.client, last_event_id=stream.last_id) as stream:
        assert len(stored(await stream.until(is_ready))) == 3


def is_last(event: Json) -> bool:
    return event["type"] == "board.patched" and event["data"]["name"] == "the last"


async def reconnecting(client: Client, kind: str, chance: random.Random) -> list[Json]:
    """Reads a few events at a time and reconnects from the last cursor until the last event arrives."""
    seen: list[Json] = []
    cursor = 0
    while not (seen and is_last(seen[-1])):
        few = chance.randrange(1, 40)
        came: list[Json] = []
        if kind == "websocket":
            async with client.events(cursor=cursor) as events:
                while len(came) < few and not (came and is_last(came[-1])):
                    came.append(await events.next())
        else:
            async with sse(client, last_event_id=str(cursor)) as stream:
                while len(came) < few and not (came and is_last(came[-1])):
                    came.append((await stream.next())[2])
        seen += stored(came)
        cursor = seen[-1]["cursor"] if seen else 0
    return seen


@pytest.mark.parametrize("kind", ["websocket", "sse"])
@pytest.mark.parametrize("seed", [1, 2])
async def test_reconnecting_misses_nothing(server: Running, kind: str, seed: int) -> None:
    """A3: During 200 changes, a client that keeps reconnecting sees exactly what a connected client sees."""
    client = server.client
    chance = random.Random(seed)
    board = (await client.get("/api/boards"))["boards"][0]["id"]

    async def change() -> None:
        for number in range(199):
            await server.services.boards.rename(board, f"name {number}")
            # Sometimes slower than the readers, so that they catch up.
            await asyncio.sleep(chance.choice((0, 0, 0, 0.005)))
        await server.services.boards.rename(board, "the last")

    async with client.events(cursor=0) as staying, asyncio.timeout(20):
        seen, _, _ = await asyncio.gather(reconnecting(client, kind, chance), staying.until(is_last), change())
    assert len(seen) > 200
    assert seen == stored(staying.seen)


async def test_one_session_can_be_followed(server: Running) -> None:
    """A3: With `sessionId`, WebSocket and SSE send only that session's events, both live and past."""
    client = server.client
    repo = await client.repo(server.repo())
    first, second = [await client.session(repo["id"]) for _ in range(2)]
    async with client.events(first["id"]) as live:
        await client.ask(second["id"], "hello")
        done = await client.ask(first["id"], "hello")
        await live.until(lambda event: event.get("objectId") == done["id"] and event["data"]["status"] == "completed")
    assert {event["sessionId"] for event in live.seen if not is_ready(event)} == {first["id"]}
    mine = await past(client, 0, first["id"])
    everything = await past(client)
    assert mine == [event for event in everything if event["sessionId"] == first["id"]]
    assert len(everything) > len(mine) > len(stored(live.seen))
    async with sse(client, f"?cursor=0&sessionId={first['id'][-12:]}") as stream:
        assert stored(await stream.until(is_ready)) == mine


async def test_a_gap_is_reported(tmp_path: Path) -> None:
    """A3: Events that are no longer stored are reported as a gap before the rest; a recent cursor has no gap."""
    async with serving(tmp_path, keep_events=10) as server:
        await rename(server, 50)
        await server.services.maintenance.run_once()
        async with server.client.events(cursor=0) as events:
            await events.until(is_ready)
        gap, *remaining, ready = events.seen
        newest = ready["cursor"]
        assert gap == {"type": "stream.gap", "from": 0, "to": newest - 10}
        assert [event["cursor"] for event in remaining] == list(range(newest - 9, newest + 1))
        for cursor, missed in ((newest - 11, True), (newest - 10, False), (newest - 5, False), (newest, False)):
            async with server.client.events(cursor=cursor) as events:
                await events.until(is_ready)
            assert (events.seen[0]["type"] == "stream.gap") is missed, newest - cursor
            assert len(stored(events.seen)) == min(newest - cursor, 10)
        async with sse(server.client, last_event_id="0") as stream:
            assert (await stream.next())[1] == "stream.gap"


async def test_a_gap_that_opens_while_catching_up_is_reported(tmp_path: Path) -> None:
    """A3: If events are pruned while a slow client reads older ones, the client is told which it missed."""
    async with serving(tmp_path, keep_events=50) as server:
        await rename(server, 2 * PAGE + 100)
        async with server.services.hub.subscribe(None, 0) as stream:
            frames = stream.frames()
            first = await anext(frames)
            assert len(first) == PAGE
            await server.services.maintenance.run_once()
            second = await anext(frames)
            assert [frame.kind for frame in second] == ["stream.gap"]
            assert f'"from":{first[-1].cursor}'.encode() in second[0].data
            third = await anext(frames)
            assert f'"to":{(third[0].cursor or 0) - 1}'.encode() in second[0].data
            await frames.aclose()


async def test_invalid_and_future_cursors(server: Running) -> None:
    """A3: A cursor from the future is reported as a gap up to now; an invalid cursor is refused with 400."""
    newest = (await past(server.client))[-1]["cursor"]
    async with server.client.events(cursor=newest + 1000) as events:
        await events.until(is_ready)
        assert events.seen == [
            {"type": "stream.gap", "from": newest + 1000, "to": newest},
            {"type": "stream.ready", "cursor": newest},
        ]
        await rename(server, 1)
        assert (await events.next())["cursor"] == newest + 1
    for wrong in ("x", "-1", "1.5", "1e3", "9" * 19, "٣", "0x1", " 1"):
        refused(await server.client.http.get("/api/events", params={"cursor": wrong}), 400, "bad_cursor")
    refused(await server.client.http.get("/api/events", headers={"Last-Event-ID": "x"}), 400, "bad_cursor")


async def closing(client: Client, query: str) -> tuple[int, str]:
    """Returns the code and reason with which a refused stream is closed."""
    with pytest.raises(ConnectionClosed) as caught:
        async with client.events(query):
            pass
    assert caught.value.rcvd is not None
    return caught.value.rcvd.code, caught.value.rcvd.reason


async def test_invalid_streams_are_closed(server: Running) -> None:
    """A3: A stream with an unknown session or an invalid cursor is closed with 4000 plus the HTTP status."""
    client = server.client
    for query, code in (("x", 4400), (NOBODY, 4404), (NOBODY[:8], 4404), ("00000000&cursor=x", 4404)):
        assert (await closing(client, query))[0] == code, query
    repo = await client.repo(server.repo())
    first, second = [await client.session(repo["id"]) for _ in range(2)]
    assert first["id"][:8] == second["id"][:8]
    code, reason = await closing(client, first["id"][:8])
    assert (code, "matches" in reason) == (4409, True)
    assert (await closing(client, f"{first['id']}&cursor=x"))[0] == 4400
    refused(await client.http.get(f"/api/events?sessionId={first['id'][:8]}"), 409, "ambiguous_id")


@pytest.fixture
async def talking(server: Running) -> AsyncGenerator[Json]:
    repo = await server.client.repo(server.repo())
    yield await server.client.session(repo["id"])


async def final(client: Client, session: Json) -> dict[str, str]:
    messages = await client.get(f"/api/sessions/{session['id']}/messages")
    return {message["id"]: message["content"]["text"] for message in messages if message["role"] == "agent"}


async def follow(client: Client, session: Json, joined: asyncio.Event) -> Transcript:
    """Follows a session from now on, as a client would, until its title becomes `over`."""
    transcript = Transcript()
    async with client.events(session["id"]) as events:
        joined.set()
        while True:
            event = await events.next()
            transcript.take(event)
            if event["type"] == "session.patched" and event["data"]["title"] == "over":
                return transcript


def ended(event: Json) -> bool:
    return event["type"] == "task.patched" and event["data"]["endedAt"] is not None


@pytest.mark.parametrize("text", ["[[slow 60 0.6]]", "[[think é🌱]][[slow 20 0.3]][[say 🌱 end]]"])
async def test_deltas_add_up_to_the_message(server: Running, talking: Json, text: str) -> None:
    """A3: A message plus its deltas equals the final message, for clients that join before or during the turn."""
    first, late = await follow_turn(server.client, talking, text)
    assert first.deltas > 0
    assert any(transcript.snapshots and transcript.deltas for transcript in late)


async def test_a_flood_adds_up_to_the_message(server: Running, talking: Json) -> None:
    """A3: So it does for a flood of chunks, which may be stored completely before any delta is sent."""
    await follow_turn(server.client, talking, "[[flood 3000]]")


async def follow_turn(client: Client, talking: Json, text: str) -> tuple[Transcript, list[Transcript]]:
    """Runs a turn and checks the transcripts of a client that joined before it and of those that joined later."""
    readers: list[asyncio.Task[Transcript]] = []

    async def join() -> None:
        joined = asyncio.Event()
        readers.append(asyncio.create_task(follow(client, talking, joined)))
        await joined.wait()

    async with asyncio.timeout(20), client.events(talking["id"]) as watching:
        await join()
        task = await client.prompt(talking["id"], text)
        for _ in range(4):
            await watching.until(lambda event: event["type"] == "message.delta" or ended(event))
            await join()
            if ended(watching.seen[-1]):
                break
        else:
            await watching.until(ended)
        assert (await client.get(f"/api/tasks/{task}"))["status"] == "completed"
        await client.call("PATCH", f"/api/sessions/{talking['id']}", json={"title": "over"})
        first, *late = [await reader for reader in readers]
    texts = await final(client, talking)
    assert texts.items() <= first.texts.items()
    assert first.snapshots == 0
    for transcript in late:
        assert {id: text for id, text in transcript.texts.items() if id in texts}.items() <= texts.items()
    return first, late


async def test_a_reconnecting_client_gets_the_current_text(server: Running, talking: Json) -> None:
    """A3: Deltas are not stored; a client that reconnects mid-message gets the current text and then the rest."""
    client = server.client
    async with client.events(talking["id"]) as events:
        task = await client.prompt(talking["id"], "[[slow 80 0.8]]")
        for _ in range(3):
            await events.until(lambda event: event["type"] == "message.delta")
    transcript = Transcript()
    cursor = 0
    for event in events.seen:
        transcript.take(event)
        cursor = event.get("cursor", cursor)
    async with client.events(talking["id"], cursor) as events:
        await events.until(ended)
    for event in events.seen:
        transcript.take(event)
    assert transcript.snapshots == 1
    assert [event for event in stored(events.seen) if event["type"] == "message.delta"] == []
    texts = await final(client, talking)
    assert texts.items() <= transcript.texts.items()
    assert (await client.get(f"/api/tasks/{task}"))["status"] == "completed"


async def test_a_long_message_is_announced_without_its_text(server: Running, talking: Json) -> None:
    """A3: An event about a message over 64 KiB gives only its size; the deltas and REST have the whole text."""
    client = server.client
    transcript = Transcript()
    async with client.events(talking["id"]) as events:
        await client.prompt(talking["id"], "[[flood 20000]]")
        await events.until(ended)
    for event in events.seen:
        if event["type"] == "message.patched" and event["data"]["content"]["type"] == "omitted":
            continue
        transcript.take(event)
    ((message_id, text),) = (await final(client, talking)).items()
    assert len(text) > 64 * 1024
    assert transcript.texts[message_id] == text
    last = [event for event in stored(events.seen) if event["objectId"] == message_id][-1]
    assert last["data"]["content"]["type"] == "omitted"
    assert last["data"]["content"]["bytes"] > len(text)
