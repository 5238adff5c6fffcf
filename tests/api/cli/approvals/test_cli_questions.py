"""Tests `bough approval answer`, and how the command line shows an agent's question."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.api.cli.cli_program import Cli
from tests.api.cli.cli_terminal import terminal
from tests.support.server import Running

Json = dict[str, Any]
FORM: Json = {
    "message": "How shall I deploy?",
    "properties": {
        "name": {"type": "string", "title": "Name", "description": "Of the service"},
        "port": {"type": "integer", "minimum": 1024, "default": 8080},
        "public": {"type": "boolean"},
        "region": {"type": "string", "oneOf": [{"const": "eu", "title": "Europe"}, {"const": "us", "title": "USA"}]},
        "tags": {"type": "array", "items": {"enum": ["a", "b", "c"]}},
    },
    "required": ["name", "region"],
}


async def ask(server: Running, question: Json) -> tuple[str, str, str]:
    """Makes an agent ask; returns the session, the task and the approval."""
    repo = await server.client.repo(server.repo())
    session = (await server.client.session(repo["id"]))["id"]
    task = await server.client.prompt(session, f"[[ask {json.dumps(question)}]]")
    return session, task, (await server.client.approval(session))["id"]


async def said(server: Running, session: str, task: str) -> str:
    assert (await server.client.wait_task(task))["status"] == "completed"
    return (await server.client.texts(session))[-1]


async def test_a_question_is_shown_and_answered_with_options(server: Running, cli: Cli) -> None:
    """P4b, O5: A question is listed and shown with its fields; values are given by name, with their types, on top of
    the agent's defaults."""
    session, task, question = await ask(server, FORM)
    assert "How shall I deploy?" in (await cli("approval", "list")).out
    shown = (await cli("approval", "show", question)).out
    for text in ("Name [name]: text, required", "Of the service", "port: integer, optional, 1024–, default 8080"):
        assert text in shown
    assert "1. eu (Europe)" in shown and "tags: choices, optional" in shown
    for wrong, sentence in (
        (("--field", "name"), "NAME=VALUE"),
        (("--field", "other=1"), "no field 'other'"),
        (("--field", "port=x"), "whole number"),
        (("--field", "region=asia"), "one of: eu, us"),
        (("--field", "public=maybe"), "yes or no"),
        (("--field", "name=a", "--decline"), "Use one of"),
        (("--content", "[]"), "JSON object"),
        ((), "--field"),
    ):
        result = await cli("approval", "answer", question, *wrong)
        assert result.code == 2 and sentence in " ".join(result.err.split()), wrong
    refused = await cli("approval", "answer", question, "--field", "name=web")
    assert refused.code == 1 and "region: This field is required." in refused.err and "(bad_content)" in refused.err
    assert (await cli("approval", "allow", question)).code == 1
    fields = ("name=web", "region=Europe", "public=yes", "tags=a", "tags=c")
    options = [part for field in fields for part in ("--field", field)]
    answered = json.loads((await cli("approval", "answer", question, *options, "--json")).out)
    content = {"name": "web", "port": 8080, "public": True, "region": "eu", "tags": ["a", "c"]}
    assert answered["answer"] == {"action": "accept", "content": content}
    assert json.dumps(content, separators=(",", ":")) in await said(server, session, task)
    shown = (await cli("approval", "show", question)).out
    assert "Answer: accept" in shown and 'tags: ["a", "c"]' in shown


@pytest.mark.parametrize(
    ("options", "question", "quote"),
    [
        (("--decline",), FORM, "You answered decline."),
        (("--cancel",), FORM, "You answered cancel."),
        (("--content", '{"name":"x","region":"us"}'), FORM, 'You answered accept {"name":"x","region":"us"}.'),
        (("--accept",), {"url": "https://example.com/a", "message": "Sign in"}, "You answered accept."),
    ],
)
async def test_other_answers(server: Running, cli: Cli, options: tuple[str, ...], question: Json, quote: str) -> None:
    """P4b, O5: A question is declined, dismissed, answered with JSON, or accepted as an address that was opened."""
    session, task, approval = await ask(server, question)
    about = "Host: example.com" if "url" in question else "Name [name]"
    assert about in (await cli("approval", "show", approval)).out
    assert (await cli("approval", "answer", approval, *options)).code == 0
    assert await said(server, session, task) == quote


async def test_a_form_is_filled_in_at_a_terminal(server: Running) -> None:
    """P4b, O5: At a terminal the form is filled in line by line: defaults by Enter, choices by number, and a wrong line
    is asked for again."""
    session, task, approval = await ask(server, FORM)
    env = {"BOUGH_URL": server.client.url, "BOUGH_TOKEN": server.client.token}
    async with terminal("approval", "answer", approval, **env) as screen:
        await screen.until("Name: ")
        screen.type("\n")
        await screen.until("is required")
        screen.type("web\n")
        await screen.until("port (Enter for 8080): ")
        screen.type("\n")
        await screen.until("public (Enter to skip): ")
        screen.type("\n")
        await screen.until("region: ")
        screen.type("2\n")
        await screen.until("tags (Enter to skip): ")
        screen.type("1 b\n")
        assert await screen.end() == 0
    assert (
        await said(server, session, task)
        == 'You answered accept {"name":"web","port":8080,"region":"us","tags":["a","b"]}.'
    )


async def test_a_question_in_a_followed_turn(server: Running) -> None:
    """P4b, O5: Whoever follows a turn at a terminal answers its questions there."""
    repo = await server.client.repo(server.repo())
    session = (await server.client.session(repo["id"]))["id"]
    env = {"BOUGH_URL": server.client.url, "BOUGH_TOKEN": server.client.token}
    question = {"message": "Which color?", "properties": {"color": {"enum": ["red", "blue"], "type": "string"}}}
    prompt = f"[[ask {json.dumps(question)}]]"
    async with terminal("session", "prompt", session, prompt, "--follow", **env) as screen:
        await screen.until("color (Enter to skip): ")
        screen.type("green\n")
        await screen.until("takes one of: red, blue")
        screen.type("blue\n")
        await screen.until('You answered accept {"color":"blue"}.')
        assert await screen.end() == 0
