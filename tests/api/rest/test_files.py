"""Tests files that are attached to prompts: stored, shown, limited in size, and removed."""

from __future__ import annotations

import base64
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from bough.model.file import LARGEST_FILE, MOST_FILES
from bough.storage.queries import Query
from tests.api.error_responses import NOBODY, Json, refused
from tests.support.images import PNG, picture
from tests.support.server import Running, serving

NOTES: Json = {"name": "notes.txt", "text": "first\nsecond\n"}
COUNT = Query("count_files", "SELECT count(*) FROM files", "How many files are kept.")


@pytest.fixture
async def either(database_url: str, tmp_path: Path) -> AsyncGenerator[Running]:
    """Yields a server on each kind of database."""
    async with serving(tmp_path, database=database_url) as running:
        yield running


async def opened(server: Running, **fields: Any) -> Json:
    return await server.client.session((await server.client.repo(server.repo()))["id"], **fields)


async def kept(server: Running) -> int:
    return await server.services.store.read(lambda tx: tx.value(COUNT)) or 0


async def named(server: Running, session_id: str) -> list[Json]:
    """Returns the files of a session's last prompt."""
    messages = await server.client.get(f"/api/sessions/{session_id}/messages")
    return [message for message in messages if message["role"] == "user"][-1]["content"].get("files", [])


async def test_files_are_stored_with_their_prompt(either: Running) -> None:
    """Q1, R4: An accepted file is stored, listed in the message, returned byte for byte, listed in exports, and removed
    with its session."""
    session = await opened(either)
    path = f"/api/sessions/{session['id']}"
    task = await either.client.prompt(session["id"], "look", files=[picture(), NOTES])
    await either.client.wait_task(task)
    message = (await either.client.get(f"{path}/messages"))[0]
    shot, notes = message["content"].pop("files")
    assert message["content"] == {"type": "text", "text": "look"}
    assert shot == {"id": shot["id"], "name": "shot.png", "mimeType": "image/png", "size": len(PNG)}
    assert notes == {"id": notes["id"], "name": "notes.txt", "mimeType": "text/plain", "size": 13}
    assert (await either.client.http.get(f"/api/files/{shot['id']}")).content == PNG
    assert (await either.client.http.get(f"/api/files/{notes['id'][-12:]}")).text == NOTES["text"]
    text = (await either.client.http.get(f"{path}/export?format=markdown")).text
    assert f"- shot.png (image/png, {len(PNG)} bytes)" in text and "- notes.txt (text/plain, 13 bytes)" in text
    exported = await either.client.get(f"{path}/export")
    assert exported["messages"][0]["content"]["files"] == [shot, notes]
    assert await kept(either) == 2
    await either.client.call("DELETE", f"{path}?purge=true")
    assert await kept(either) == 0
    refused(await either.client.http.get(f"/api/files/{shot['id']}"), 404, "file_not_found")


async def test_a_prompt_without_files_has_no_files_field(server: Running) -> None:
    """R4: A message's content has a `files` field only if the prompt has files."""
    session = await opened(server, initialPrompt="a")
    await server.client.prompt(session["id"], "b", files=[])
    messages = await server.client.get(f"/api/sessions/{session['id']}/messages")
    contents = [message["content"] for message in messages if message["role"] == "user"]
    assert contents == [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]


@pytest.mark.parametrize(
    ("body", "kind", "how"),
    [
        (picture(), "image/png", "inline"),
        (picture("photo.jpg", mimeType="image/jpeg"), "image/png", "inline"),
        (NOTES, "text/plain; charset=utf-8", "inline"),
        ({"name": "a.html", "text": "<script>alert(1)</script>"}, "application/octet-stream", "attachment"),
        ({"name": "a.svg", "mimeType": "image/svg+xml", "text": "<svg/>"}, "application/octet-stream", "attachment"),
        ({"name": "ü\"'.csv", "text": "a,b"}, "application/octet-stream", "attachment"),
    ],
)
async def test_files_are_never_shown_as_active_content(server: Running, body: Json, kind: str, how: str) -> None:
    """A2: Only pictures and plain text are served inline; a picture's type comes from its bytes, not from the
    client."""
    session = await opened(server)
    await server.client.prompt(session["id"], "look", files=[body])
    (file,) = await named(server, session["id"])
    answer = await server.client.http.get(f"/api/files/{file['id']}")
    assert answer.headers["content-type"] == kind
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-disposition"].startswith(f"{how}; filename*=UTF-8''")
    assert "sandbox" in answer.headers["content-security-policy"]


async def test_a_file_needs_the_token(server: Running) -> None:
    """A2: A file's id alone, without the token, gives no access."""
    session = await opened(server)
    await server.client.prompt(session["id"], "look", files=[picture()])
    (file,) = await named(server, session["id"])
    answer = await server.client.http.get(f"/api/files/{file['id']}", headers={"authorization": "Bearer no"})
    refused(answer, 401)
    refused(await server.client.http.get(f"/api/files/{NOBODY}"), 404, "file_not_found")


def big(size: int) -> str:
    return base64.b64encode(b"a" * size).decode()


@pytest.mark.parametrize(
    ("files", "status", "code"),
    [
        ([{**NOTES, "name": name}], 400, "bad_file")
        for name in ("", "..", "a/b", "a\\b", "a\nb", "a\u202eb", "\x1b[2J", "x" * 201)
    ]
    + [
        ([{"name": "a"}], 400, "bad_file"),
        ([{"name": "a", "text": "x", "data": "eA=="}], 400, "bad_file"),
        ([{"name": "a", "data": "no base64!"}], 400, "bad_file"),
        ([{"name": "a", "data": "é"}], 400, "bad_file"),
        ([{"name": "a.pdf", "data": base64.b64encode(b"%PDF\xff\xfe").decode()}], 400, "bad_file"),
        ([{"name": "a.png", "mimeType": "image/png", "text": "no picture"}], 400, "bad_file"),
        ([{"name": "a", "text": "x\0"}], 400, "bad_file"),
        ([{"name": "a", "mimeType": "text", "text": "x"}], 400, "bad_file"),
        ([{"name": "a", "mimeType": "text/html\r\nx: y", "text": "x"}], 400, "bad_file"),
        ([{"name": "a", "text": "x", "path": "/etc/passwd"}], 400, "bad_request"),
        ([NOTES] * (MOST_FILES + 1), 400, "too_many_files"),
        ([{"name": "a", "data": big(LARGEST_FILE + 1)}], 413, "file_too_large"),
        ([{"name": "a", "data": big(LARGEST_FILE)}, {"name": "b", "data": big(LARGEST_FILE)}], 413, "body_too_large"),
        ("notes.txt", 400, "bad_request"),
        (None, 400, "bad_request"),
    ],
)
async def test_invalid_files_are_refused(server: Running, files: Any, status: int, code: str) -> None:
    """A4: Every route refuses a prompt with an invalid file, and stores nothing."""
    session = await opened(server)
    path = f"/api/sessions/{session['id']}"
    refused(await server.client.http.post(f"{path}/prompt", json={"text": "x", "files": files}), status, code)
    body = {"repoId": session["repoId"], "agent": "demo", "initialPrompt": "x", "files": files}
    refused(await server.client.http.post("/api/sessions", json=body), status, code)
    for kind in ("fork", "spawn", "btw"):
        refused(await server.client.http.post(f"{path}/{kind}", json={"prompt": "x", "files": files}), status, code)
    assert await kept(server) == 0
    assert (await server.client.get("/api/sessions"))["total"] == 1
    assert (await server.client.get(f"{path}/tasks"))["total"] == 0


async def test_files_need_a_prompt(server: Running) -> None:
    """A4: Files without a prompt are refused; the largest allowed file leaves room for a long prompt."""
    session = await opened(server)
    body = {"repoId": session["repoId"], "agent": "demo", "files": [NOTES]}
    refused(await server.client.http.post("/api/sessions", json=body), 400, "bad_file")
    path = f"/api/sessions/{session['id']}"
    refused(await server.client.http.post(f"{path}/fork", json={"files": [NOTES]}), 400, "bad_file")
    refused(await server.client.http.post(f"{path}/prompt", json={"text": " ", "files": [NOTES]}), 400, "empty_prompt")
    task = await server.client.prompt(
        session["id"], "x" * 1024 * 1024, files=[{"name": "a", "data": big(LARGEST_FILE)}]
    )
    assert (await server.client.wait_task(task))["status"] == "completed"


async def test_a_key_covers_the_files(server: Running) -> None:
    """A4: The same key with the same files returns the first answer and stores nothing twice; other files are a
    conflict."""
    session = await opened(server)
    path = f"/api/sessions/{session['id']}/prompt"
    body = {"text": "[[say ok]]", "files": [picture()], "idempotencyKey": "k"}
    first = await server.client.post(path, body)
    assert await server.client.post(path, body) == first
    assert await kept(server) == 1
    for other in ([NOTES], [picture("other.png")], []):
        answer = await server.client.http.post(path, json={**body, "files": other})
        refused(answer, 409, "idempotency_key_reused")
    new = {"repoId": session["repoId"], "agent": "demo", "initialPrompt": "x", "files": [NOTES], "idempotencyKey": "n"}
    made = await server.client.post("/api/sessions", new)
    assert (await server.client.post("/api/sessions", new))["id"] == made["id"]
    assert await kept(server) == 2
    refused(await server.client.http.post("/api/sessions", json={**new, "files": [picture()]}), 409)
