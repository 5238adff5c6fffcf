"""Tests that any invalid request gets a well-formed error of the right family."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import httpx
import pytest

from tests.api.error_responses import NOBODY, Json, refused
from tests.support.server import Running, serving

JSON = {"content-type": "application/json"}


@pytest.fixture
async def prompt(server: Running) -> AsyncGenerator[str]:
    """Yields the path for prompts of a session, and checks that none of the requests reached it."""
    repo = await server.client.repo(server.repo())
    session = await server.client.session(repo["id"])
    yield f"/api/sessions/{session['id']}/prompt"
    assert (await server.client.get("/api/tasks"))["total"] == 0


def deep(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


BODIES = {
    "nothing": b"",
    "half": b'{"text": "a',
    "null": b"null",
    "array": b"[]",
    "number": b"7",
    "text": b'"text"',
    "no utf-8": b'{"text": "\xff\xfe"}',
    "cut utf-8": b'{"text": "\xf0\x9f"}',
    "utf-16": '{"text": "a"}'.encode("utf-16"),
    "lone high surrogate": rb'{"text": "\ud800"}',
    "lone low surrogate": rb'{"text": "a\udc00b"}',
    "surrogates in wrong order": rb'{"text": "\udc00\ud800"}',
    "NUL": rb'{"text": "a\u0000b"}',
    "raw NUL": b'{"text": "a\0b"}',
    "raw line end": b'{"text": "a\nb"}',
    "NaN": b'{"text": NaN}',
    "two values": b'{"text": "a"}{"text": "b"}',
    "trailing comma": b'{"text": "a",}',
    "no text": b"{}",
    "null text": b'{"text": null}',
    "number for text": b'{"text": 7}',
    "list for text": b'{"text": ["a"]}',
    "text for flag": b'{"text": "a", "resume": "yes"}',
    "number for flag": b'{"text": "a", "resume": 1}',
    "unknown field": b'{"text": "a", "txet": "b"}',
    "wrong case": b'{"Text": "a"}',
    "snake case": b'{"text": "a", "idempotency_key": "k"}',
    "huge integer": b'{"text": ' + b"9" * 5000 + b"}",
    "huge float": b'{"text": 1e999999}',
    "deep list": deep(100_000),
    "deep in a field": b'{"text": ' + deep(100_000) + b"}",
    "deep and open": b'{"text": ' + b"[" * 100_000,
    "deep objects": b'{"text":' * 50_000 + b"1" + b"}" * 50_000,
    "deep in an unknown field": b'{"text": "a", "more": ' + deep(100_000) + b"}",
    "empty": b'{"text": ""}',
    "blank": '{"text": " \\n\\t\u2003"}'.encode(),
}


async def test_invalid_bodies(server: Running, prompt: str) -> None:
    """A4: A body that is not the expected JSON is 400 in the common shape."""
    for name, body in BODIES.items():
        answer = await server.client.http.post(prompt, content=body, headers=JSON)
        assert answer.status_code == 400, (name, answer.text)
        refused(answer, 400)


async def test_other_kinds_of_content(server: Running, prompt: str) -> None:
    """A4: Refuses a form, a file or nothing where JSON is expected."""
    http = server.client.http
    for answer in (
        await http.post(prompt, data={"text": "a"}),
        await http.post(prompt, files={"text": b"a"}),
        await http.post(prompt),
        await http.post(prompt, content=b"text=a", headers={"content-type": "text/plain"}),
    ):
        refused(answer, 400)


async def test_errors_name_valid_values(server: Running, prompt: str) -> None:
    """A4: An error names the parameter as the caller does, the valid values and the limits, in our own words."""
    http = server.client.http
    session = prompt.removesuffix("/prompt")
    new = {"name": "a", "transport": "pigeon"}
    for answer, status, code, words in (
        (await http.post("/api/repos"), 400, "bad_request", ("body", "JSON")),
        (await http.get("/api/boards?limit=0"), 400, "bad_limit", ("limit", "1", "500")),
        (await http.get("/api/boards?limit=x"), 400, "bad_limit", ("limit", "number")),
        (await http.get(f"{session}/messages?limit=0"), 400, "bad_limit", ("limit", "10000")),
        (await http.get("/api/boards?offset=-1"), 400, "bad_offset", ("offset", "0")),
        (await http.get(f"{session}/export?format=pdf"), 400, "bad_request", ("format", "json", "markdown")),
        (await http.delete(f"{session}?worktree=burn"), 400, "bad_request", ("worktree", "keep")),
        (await http.get("/api/sessions?archived=x"), 400, "bad_request", ("archived", "true", "false")),
        (await http.post("/api/mcp-servers", json=new), 400, "bad_request", ("transport", "stdio", "http", "sse")),
        (await http.patch(session, json={"permissionMode": "x"}), 400, "bad_request", ("permissionMode", "on-failure")),
        (await http.post(prompt, content=rb'{"text": "\udc00"}'), 400, "text_not_unicode", ("surrogate",)),
        (await http.post(prompt, content=rb'{"text": "\ud83c\ud83c"}'), 400, "text_not_unicode", ("surrogate",)),
        (await http.post(prompt, content=b"a" * 9_000_000), 413, "body_too_large", ("8388608", "bytes")),
        (await http.put("/api/boards"), 405, "method_not_allowed", ("PUT", "Allow")),
        (await http.get("/api/nothing"), 404, "not_found", ("/api/nothing",)),
    ):
        message = refused(answer, status, code)["message"]
        assert all(word in message for word in words), message
        assert not any(word in message for word in ("Validation failed", "form:", "'data'", "Entity")), message
    for text in (r"\ud83c\udf31", r"\\ud83c", r"\\\ud83c\udf31"):
        answer = await http.patch(session, content=b'{"title": "%b"}' % text.encode(), headers=JSON)
        assert answer.status_code == 200, answer.text


async def test_fields_are_checked_at_every_route(server: Running) -> None:
    """A4: Every body of the contract refuses an unknown field and names it."""
    document = await server.client.get("/openapi.json")
    with_bodies = [
        (method, path.replace("{", "").replace("}", ""))
        for path, item in document["paths"].items()
        for method, operation in item.items()
        if "requestBody" in operation
    ]
    assert len(with_bodies) >= 15
    for method, path in with_bodies:
        answer = await server.client.http.request(method, path, json={"surprise": 1})
        assert "surprise" in refused(answer, 400)["message"], path


async def test_text_that_cannot_be_stored(server: Running) -> None:
    """A4: Refuses NUL everywhere, because not every database can store it; other odd text is kept."""
    client = server.client
    repo = await client.repo(server.repo())
    session = await client.session(repo["id"])
    bodies: list[tuple[str, str, Json]] = [
        ("POST", "/api/boards", {"name": "a\0b"}),
        ("PATCH", f"/api/repos/{repo['id']}", {"name": "a\0b"}),
        ("POST", "/api/mcp-servers", {"name": "a\0b", "transport": "http", "url": "http://x"}),
        ("POST", "/api/mcp-servers", {"name": "a", "transport": "http", "url": "http://x\0"}),
        ("POST", "/api/mcp-servers", {"name": "a", "transport": "stdio", "command": "/bin/\0"}),
        ("POST", "/api/mcp-servers", {"name": "a", "transport": "stdio", "command": "/bin/a", "args": ["\0"]}),
        ("POST", "/api/mcp-servers", {"name": "a", "transport": "stdio", "command": "/bin/a", "env": {"A": "\0"}}),
        ("POST", "/api/mcp-servers", {"name": "a", "transport": "http", "url": "http://x", "headers": {"A": "\0"}}),
    ]
    fields = ("title", "description", "model", "effort")
    new: Json = {"repoId": repo["id"], "agent": "demo"}
    path = f"/api/sessions/{session['id']}"
    bodies += [("POST", "/api/sessions", new | {field: "a\0b"}) for field in (*fields, "initialPrompt")]
    bodies += [("PATCH", path, {field: "a\0b"}) for field in fields]
    bodies.append(("PATCH", path, {"env": {"A": "a\0b"}}))
    for method, path, body in bodies:
        refused(await client.http.request(method, path, json=body), 400)
    odd = "\u202e\ufeff\u2028🌱 \x01\x7f' \" \\ %s {} </script>"
    fresh = await client.call("PATCH", f"/api/sessions/{session['id']}", json={"description": odd})
    assert fresh["description"] == odd
    task = await client.prompt(session["id"], odd)
    assert (await client.get(f"/api/tasks/{task}"))["prompt"] == odd
    assert await client.texts(session["id"], "user") == [odd]


async def test_invalid_settings_of_a_session(server: Running) -> None:
    """R2: An empty model or effort means none, an environment has limits, and errors say what is wrong."""
    client = server.client
    repo = await client.repo(server.repo())
    session = await client.session(repo["id"], model="m[1m]", effort="high")
    path = f"/api/sessions/{session['id']}"
    new: Json = {"repoId": session["repoId"], "agent": "demo"}
    wrong: list[tuple[Json, int, str, str]] = [
        ({"model": ""}, 400, "bad_choice", "model"),
        ({"effort": " "}, 400, "bad_choice", "effort"),
        ({"model": "x" * 201}, 400, "bad_choice", "200"),
        ({"env": {"KEY": "a\0b"}}, 400, "bad_env", "value"),
        ({"env": {"K=Y": "b"}}, 400, "bad_env", "name"),
        ({"env": {"A": "x" * 131_072}}, 413, "env_too_large", "131071"),
        ({"env": {f"A{number}": "é" * 1000 for number in range(100)}}, 413, "env_too_large", "limit"),
    ]
    for body, status, code, word in wrong:
        for answer in (
            await client.http.post("/api/sessions", json=new | body),
            await client.http.patch(path, json=body),
        ):
            assert word in refused(answer, status, code)["message"]
    fresh = await client.call("PATCH", path, json={"model": None, "env": {"A": "x" * 100_000}})
    assert (fresh["model"], fresh["effort"], fresh["env"]) == (None, "high", {"A": "***"})
    assert (await client.ask(session["id"], "hello"))["status"] == "completed"


async def test_huge_limits_and_offsets(server: Running) -> None:
    """A4: Huge limits and offsets are refused or give an empty page."""
    http = server.client.http
    nouns = ("sessions", "tasks", "approvals", "repos", "boards", "mcp-servers")
    for noun in nouns:
        for query in ("limit=0", "limit=-1", "limit=501", "limit=x", "limit=1.5", "limit=", "offset=-1"):
            refused(await http.get(f"/api/{noun}?{query}"), 400)
        for number in (str(1 << 41), str(1 << 63), "9" * 30, "9" * 5000):
            refused(await http.get(f"/api/{noun}?offset={number}"), 400)
            refused(await http.get(f"/api/{noun}?limit={number}"), 400)
        assert (await server.client.get(f"/api/{noun}?limit=500&offset={1 << 40}"))["limit"] == 500


async def test_too_large(server: Running, prompt: str) -> None:
    """A4: A prompt beyond 1 MiB or a body beyond the limit is 413, announced or not, and the server continues."""
    http = server.client.http
    error = refused(await http.post(prompt, json={"text": "a" * 2_000_000}), 413, "prompt_too_large")
    assert error["details"]["limit"] == 1024 * 1024
    refused(await http.post(prompt, json={"text": "é" * 600_000}), 413, "prompt_too_large")
    refused(await http.post(prompt, json={"text": "a" * 9_000_000}), 413, "body_too_large")

    async def pieces() -> AsyncGenerator[bytes]:
        for _ in range(9):
            yield b"a" * 1_000_000

    refused(await http.post(prompt, content=pieces(), headers=JSON), 413, "body_too_large")
    assert (await server.client.get("/api/health"))["status"] == "ok"


async def test_the_limit_of_a_body_is_a_setting(tmp_path: Path) -> None:
    """L2: `max_body` and `max_prompt` limit requests to the byte."""
    async with serving(tmp_path, max_body=1000, max_prompt=100) as server:
        repo = await server.client.repo(server.repo())
        session = await server.client.session(repo["id"])
        path = f"/api/sessions/{session['id']}/prompt"
        assert (await server.client.http.post(path, json={"text": "a" * 100})).status_code == 202
        refused(await server.client.http.post(path, json={"text": "a" * 101}), 413, "prompt_too_large")
        body = b'{"text": "x"}'
        assert (await server.client.http.post(path, content=body.ljust(1000), headers=JSON)).status_code == 202
        refused(await server.client.http.post(path, content=body.ljust(1001), headers=JSON), 413, "body_too_large")


async def test_the_largest_prompt_arrives_whole(server: Running) -> None:
    """A1: Stores and answers a prompt of exactly the limit."""
    repo = await server.client.repo(server.repo())
    session = await server.client.session(repo["id"])
    text = "a" * (1024 * 1024)
    task = await server.client.prompt(session["id"], text)
    assert (await server.client.wait_task(task))["status"] == "completed"
    assert await server.client.texts(session["id"], "user") == [text]


async def test_unknown_routes_and_methods(server: Running) -> None:
    """A4: An unknown path is 404; an unknown method is 405 and names the allowed ones."""
    http = server.client.http
    for path in ("/nowhere", "/api", "/api/", "/api/nothing", "/api/sessions/x/y/z", "//api/sessions", "/api/../etc"):
        refused(await http.get(path), 404)
    for method, path in (("PUT", "/api/sessions"), ("DELETE", "/api/sessions"), ("POST", "/api/health")):
        answer = await http.request(method, path)
        refused(answer, 405, "method_not_allowed")
        assert "GET" in answer.headers["allow"]
    answer = await http.request("TRACE", "/api/sessions")
    refused(answer, 405, "method_not_allowed")


async def test_every_family_of_errors(server: Running) -> None:
    """A4: One shape and the right status for invalid, missing, conflicting, denied, unknown and busy."""
    client = server.client
    repo = await client.repo(server.repo())
    session, *_ = [await client.session(repo["id"]) for _ in range(5)]
    await client.post(f"/api/sessions/{session['id']}/complete")
    last = await client.session(repo["id"])
    http = client.http
    refused(await http.get("/api/sessions?status=x"), 400, "bad_status")
    refused(await http.get(f"/api/sessions/{NOBODY}"), 404, "session_not_found")
    refused(await http.post(f"/api/sessions/{session['id']}/prompt", json={"text": "a"}), 409, "session_ended")
    refused(await http.post("/api/repos", json={"path": "/etc"}), 403, "path_outside_root")
    busy = await http.post("/api/sessions", json={"repoId": repo["id"], "agent": "demo"})
    refused(busy, 429, "too_many_sessions")
    assert busy.headers["retry-after"] == "60"
    refused(await http.post(f"/api/sessions/{last['id']}/prompt", json={"text": "a" * 2_000_000}), 413)
    async with httpx.AsyncClient(base_url=server.url) as stranger:
        refused(await stranger.get("/api/sessions"), 401, "unauthenticated")


async def test_ids_of_errors_differ(server: Running) -> None:
    """A4: Each error has its own id, which the logs contain too."""
    answers = [await server.client.http.get("/nowhere") for _ in range(5)]
    assert len({refused(answer, 404)["id"] for answer in answers}) == 5
