"""Tests that the OpenAPI document is complete and correct."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from jsonschema import Draft202012Validator
from litestar.routes import HTTPRoute

from bough.api.page.assets import BuiltPage
from bough.api.page.routes import BUILT
from bough.api.server.app import application
from tests.api.error_responses import Json
from tests.api.server_processes import started
from tests.support.client import Client
from tests.support.images import picture
from tests.support.repos import make_repo
from tests.support.server import Running, ServerProcess

# Paths for browsers: the page with its files, and the document itself.
DOCUMENT = {"/docs", "/openapi.json", "/openapi", "/openapi/openapi.json", "/openapi/{path}"}
NO_OPERATIONS = {"/", "/sign-in", "/assets/{name}", *BuiltPage(BUILT).unhashed_paths(), *DOCUMENT}
# What must hold for any request. The check that valid data is always accepted is left out, because no schema can say
# whether a name is free or a path exists.
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "missing_required_header",
    "unsupported_method",
    "ignored_auth",
)
# Requests per operation in addition to those that cover its schema; with these the test takes about 20 seconds.
EXAMPLES = 8


def operations(document: Json) -> Iterator[tuple[str, str, Json]]:
    for path, item in document["paths"].items():
        for method, operation in item.items():
            yield path, method, operation


async def test_every_route_is_in_the_document(server: Running) -> None:
    """A4: The application's routes are exactly those in the document."""
    document = await server.client.get("/openapi.json")
    app = application(server.services.settings.max_body, BUILT)
    routes = [route for route in app.routes if isinstance(route, HTTPRoute)]
    answered = {(route.path_format, str(method).lower()) for route in routes for method in route.methods}
    documented = {(bare(path), method) for path, method, _ in operations(document)}
    served = {(bare(path), method) for path, method in answered if method != "options" and path not in NO_OPERATIONS}
    assert served == documented
    for path in ("/openapi", "/openapi/openapi.json"):
        assert await server.client.get(path) == document


def bare(path: str) -> str:
    """Returns a path without the names of its parameters."""
    return re.sub(r"{\w+}", "{}", path)


async def test_every_operation_is_described_with_its_failures(server: Running) -> None:
    """A4: Each operation has a description and a unique id, each failure has the common shape, and only health needs no
    token."""
    document = await server.client.get("/openapi.json")
    ids: list[str] = []
    for path, method, operation in operations(document):
        name = f"{method} {path}"
        assert operation["summary"].strip(), name
        ids.append(operation["operationId"])
        answers = operation["responses"]
        assert any(status.startswith("2") for status in answers), name
        for status, answer in answers.items():
            assert answer["description"].strip(), name
            assert "document" not in answer["description"], name
            (content,) = answer["content"].values() if status[0] in "4d" else [None]
            assert content is None or content == {"schema": {"$ref": "#/components/schemas/ErrorAnswer"}}, name
        open_to_all = operation.get("security") == []
        assert open_to_all == (path == "/api/health")
        expected = {"403"} if open_to_all else {"400", "401", "403"}
        expected |= {"404", "409"} if "{" in path else set()
        expected |= {"413"} if "requestBody" in operation else set()
        assert expected | {"default"} <= answers.keys(), name
        keyed = "Idempotency-Key" in [item["name"] for item in operation.get("parameters", [])]
        assert keyed == (method == "post"), name
        bodies = [document["components"]["schemas"][_body(operation)]] if method == "post" else []
        assert all("idempotencyKey" in json.dumps(body) for body in bodies), name
        for parameter in operation.get("parameters", []):
            assert parameter["description"].strip(), f"{name} {parameter['name']}"
            assert parameter["in"] == "header" or "_" not in parameter["name"], f"{name} {parameter['name']}"
            assert parameter["in"] != "path" or f"{{{parameter['name']}}}" in path, name
    assert len(set(ids)) == len(ids)


def _body(operation: Json) -> str:
    """Returns the name of a body's schema, if it has one."""
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    names = re.findall(r"#/components/schemas/(\w+)", json.dumps(schema))
    assert len(names) == 1
    return names[0]


async def test_names_for_generated_clients(server: Running) -> None:
    """A4: Operation ids are what people would call the functions; every schema and tag is described; no object inside a
    schema gets the name of another schema, as generators would give it."""
    document = await server.client.get("/openapi.json")
    ids = {(method, path): operation["operationId"] for path, method, operation in operations(document)}
    assert ids["post", "/api/sessions"] == "createSession"
    assert ids["get", "/api/sessions/{sessionId}"] == "getSession"
    assert ids["patch", "/api/worktrees/{worktreeId}"] == "updateWorktree"
    assert all(re.fullmatch(r"[a-z]+([A-Z][a-z]*)*", name) and "Api" not in name for name in ids.values()), ids
    described = {tag["name"] for tag in document["tags"] if tag["description"].strip()}
    assert {tag for _, _, operation in operations(document) for tag in operation["tags"]} <= described
    schemas: dict[str, Json] = document["components"]["schemas"]
    assert not [name for name, schema in schemas.items() if len(schema["description"]) < 8]
    inner = {
        f"{name}{field[0].upper()}{field[1:]}"
        for name, schema in schemas.items()
        for field, part in schema.get("properties", {}).items()
        if part.get("type") == "object"
    }
    assert not inner & schemas.keys()
    assert schemas["NewSession"]["properties"]["makeRoom"]["description"].startswith("At the limit on sessions")


async def test_events_match_the_document(server: Running) -> None:
    """A4, A3: Every event that a furnished server has stored matches the schema of its type."""
    client = server.client
    document = await client.get("/openapi.json")
    await furnish(client, server.repo())
    schema = {"$ref": "#/components/schemas/Event", "components": document["components"]}
    validator = Draft202012Validator(schema)
    seen: set[str] = set()
    async with client.events(cursor=0) as events:
        while (event := await events.next())["type"] != "stream.ready":
            errors = list(map(str, validator.iter_errors(event)))  # pyright: ignore[reportUnknownMemberType]
            assert not errors, (event["type"], errors[:3])
            seen.add(event["type"])
        assert not list(validator.iter_errors(event))  # pyright: ignore[reportUnknownMemberType]
    assert {"session.created", "task.patched", "message.created", "approval.created", "tree.patched"} <= seen
    assert {"worktree.created", "mcp_server.created", "rule.created", "choice.created", "callback.created"} <= seen
    assert list(validator.iter_errors({"type": "session.created"}))  # pyright: ignore[reportUnknownMemberType]


async def test_no_part_of_a_response_is_untyped(server: Running) -> None:
    """A4: Every field has a type, except the details of an error."""
    document = await server.client.get("/openapi.json")
    untyped = list(empty(document, ""))
    assert untyped == ["/components/schemas/ErrorBody/properties/details/additionalProperties"]


def empty(part: Any, path: str) -> Iterator[str]:
    """Yields the places where a schema says nothing."""
    if isinstance(part, dict):
        entries = cast("Json", part)
        if not entries and not path.endswith("/responses/200/headers") and not re.search(r"/\d{3}/headers$", path):
            yield path
        for name, inner in entries.items():
            yield from empty(inner, f"{path}/{name}")
    elif isinstance(part, list):
        for number, inner in enumerate(cast("list[Any]", part)):
            yield from empty(inner, f"{path}/{number}")


async def test_full_responses_match_the_document(server: Running) -> None:
    """A4: A session with everything it can have, and its tasks, messages, approvals and export, match their schemas."""
    client = server.client
    document = await client.get("/openapi.json")
    ids = await furnish(client, server.repo())
    for template, path in (
        ("/api/sessions", "/api/sessions"),
        ("/api/sessions/{sessionId}", f"/api/sessions/{ids['sessionId']}"),
        ("/api/sessions/{sessionId}/tasks", f"/api/sessions/{ids['sessionId']}/tasks"),
        ("/api/sessions/{sessionId}/messages", f"/api/sessions/{ids['sessionId']}/messages"),
        ("/api/sessions/{sessionId}/export", f"/api/sessions/{ids['sessionId']}/export"),
        ("/api/sessions/{sessionId}/tree", f"/api/sessions/{ids['sessionId']}/tree"),
        ("/api/sessions/{sessionId}/callbacks", f"/api/sessions/{ids['sessionId']}/callbacks"),
        ("/api/sessions/{sessionId}/budget", f"/api/sessions/{ids['sessionId']}/budget"),
        ("/api/sessions/{sessionId}/transcript", f"/api/sessions/{ids['sessionId']}/transcript"),
        ("/api/tasks", "/api/tasks"),
        ("/api/approvals", "/api/approvals"),
        ("/api/policy/rules", "/api/policy/rules"),
        ("/api/policy/choices", "/api/policy/choices"),
        ("/api/worktrees", "/api/worktrees"),
        ("/api/worktrees/{worktreeId}", f"/api/worktrees/{ids['worktreeId']}"),
        ("/api/worktrees/{worktreeId}/diff", f"/api/worktrees/{ids['worktreeId']}/diff"),
        ("/api/repos/{repoId}/worktrees", f"/api/repos/{ids['repoId']}/worktrees"),
        ("/api/mcp-servers", "/api/mcp-servers"),
        ("/api/settings", "/api/settings"),
        ("/api/agents", "/api/agents"),
    ):
        answers = document["paths"][template]["get"]["responses"]
        schema = {**answers["200"]["content"]["application/json"]["schema"], "components": document["components"]}
        answer_body = await client.get(path)
        assert answer_body, path
        errors = list(map(str, Draft202012Validator(schema).iter_errors(answer_body)))  # pyright: ignore[reportUnknownMemberType]
        assert not errors, (path, errors)


async def furnish(client: Client, repo: Path) -> dict[str, str]:
    """Creates one of everything, as complete as possible, and returns the ids by path parameter."""
    repo_row = await client.repo(repo)
    board = await client.post("/api/boards", {"name": "A board"})
    tree = await client.post("/api/worktrees", {"repoId": repo_row["id"], "branch": "feature", "boardId": board["id"]})
    tool: Json = {"name": "tool", "transport": "stdio", "command": "/bin/false", "env": {"A": "b"}, "args": ["-x"]}
    mcp = await client.post("/api/mcp-servers", tool)
    session = await client.session(
        repo_row["id"],
        title="Full",
        description="Of everything",
        permissionMode="ask",
        env={"A": "b"},
        mcpServerIds=[mcp["id"]],
        contextFiles=["README.md"],
        files=[picture(), {"name": "a.txt", "text": "a"}],
        initialPrompt="[[think hm]][[plan a; b]][[write a.txt b]][[run true]][[say done]]",
    )
    approval: Json = {}
    for decision in ("allow_always", "deny"):
        approval = await client.approval(session["id"])
        await client.post(f"/api/approvals/{approval['id']}", {"decision": decision})
    await client.wait_task(session["taskId"])
    await client.ask(session["id"], "[[fail on purpose]]")
    await client.call("PUT", f"/api/sessions/{session['id']}/budget", json={"maxTurns": 100_000, "maxCost": 1e6})
    child = await client.post(f"/api/sessions/{session['id']}/spawn", {"prompt": "[[say hi]]"})
    await client.post("/api/wait", {"taskIds": [child["taskId"]], "sessionIds": [session["id"]]})
    message = (await client.get(f"/api/sessions/{session['id']}/messages"))[0]
    rule = await client.post("/api/policy/rules", {"effect": "deny", "command": "rm *", "note": "No."})
    (choice,) = (await client.get("/api/policy/choices"))["choices"]
    return {
        "repoId": repo_row["id"],
        "boardId": board["id"],
        "worktreeId": tree["id"],
        "serverId": mcp["id"],
        "sessionId": session["id"],
        "taskId": session["taskId"],
        "approvalId": approval["id"],
        "messageId": message["id"],
        "fileId": message["content"]["files"][0]["id"],
        "ruleId": rule["id"],
        "choiceId": choice["id"],
    }


def configuration(server: ServerProcess, ids: dict[str, str]) -> str:
    """Returns a configuration in which half of all requests are about something that exists; events are left out
    because they never end."""
    lists = "\n".join(f'{name} = {{ values = ["{value}"] }}' for name, value in ids.items())
    bound = "\n".join(f'"path.{name}" = {{ dictionary = "{name}", probability = 0.5 }}' for name in ids)
    return f"""
base-url = "{server.url}"
headers = {{ Authorization = "Bearer {server.token}" }}
[dictionaries]
{lists}
url = {{ values = ["http://127.0.0.1:1/mcp"] }}
command = {{ values = ["/bin/false"] }}
[parameters]
{bound}
"body.repoId" = {{ dictionary = "repoId", probability = 0.5 }}
"body.url" = {{ dictionary = "url", probability = 0.5 }}
"body.command" = {{ dictionary = "command", probability = 0.5 }}
"query.sessionId" = {{ dictionary = "sessionId", probability = 0.5 }}
"""


@pytest.mark.timeout(300)
async def test_every_request_is_answered_as_documented(tmp_path: Path) -> None:
    """A4: Valid and invalid requests generated from the document get documented responses, and never a 5xx."""
    flags = ("--max-sessions", "10000", "--max-agents", "1", "--default-agent", "demo")
    async with started(ServerProcess(tmp_path / "data", tmp_path / "work", flags)) as server:
        async with server.client() as client:
            ids = await furnish(client, make_repo(server.root / "repo"))
            document = await client.get("/openapi.json")
        (tmp_path / "openapi.json").write_text(json.dumps(document), "utf-8")
        (tmp_path / "schemathesis.toml").write_text(configuration(server, ids), "utf-8")
        program = await asyncio.create_subprocess_exec(
            *(str(Path(sys.executable).parent / "schemathesis"), "--no-color", "run", "openapi.json"),
            *("--phases", "coverage,fuzzing", "--checks", ",".join(CHECKS), "--exclude-path", "/api/events"),
            # It would replace the token that this test sends.
            *("--exclude-path", "/api/tokens/rotate"),
            *("--generation-deterministic", "--max-examples", str(EXAMPLES)),
            *("--no-shrink", "--warnings", "off"),
            cwd=tmp_path,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            output = (await program.communicate())[0].decode()
        finally:
            if program.returncode is None:
                program.kill()
                await program.wait()
        assert program.returncode == 0, output[-6000:]
        tested = re.search(r"Tested: (\d+)", output)
        assert tested is not None
        assert int(tested[1]) == len(list(operations(document))) - 2, output[-2000:]
        log = (server.data / "server.log").read_text()
        assert "request_failed" not in log
        assert '"level": "error"' not in log
