"""P2: The scripted model speaks each service as agents expect it: it reads the requests, and its responses have the
right shape, streamed and whole."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.support.scripted_model.running import ScriptedModel

Json = dict[str, Any]

SCHEMA = {"type": "object", "properties": {"title": {"type": "string"}}}
SCRIPT = '[[think hm]] [[say one two three four]] [[tool Read {"path": "a"}]] [[say end]]'


def anthropic(script: str, **more: Any) -> tuple[str, Json]:
    tools = [{"name": "Read"}]
    return "/v1/messages", {"model": "m", "messages": [{"role": "user", "content": script}], "tools": tools} | more


def responses(script: str, **more: Any) -> tuple[str, Json]:
    tools = [
        {"type": "function", "name": "Read"},
        {"type": "custom", "name": "apply_patch"},
        {"type": "namespace", "name": "mcp__probe", "tools": [{"type": "function", "name": "shout"}]},
    ]
    return "/v1/responses", {"model": "m", "input": script, "tools": tools} | more


def chat(script: str, **more: Any) -> tuple[str, Json]:
    tools = [{"type": "function", "function": {"name": "Read"}}]
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": script}]
    return "/v1/chat/completions", {"model": "m", "messages": messages, "tools": tools} | more


def gemini(script: str, *, stream: bool = False, **more: Any) -> tuple[str, Json]:
    tools = [{"functionDeclarations": [{"name": "Read"}]}]
    method = "streamGenerateContent?alt=sse" if stream else "generateContent"
    body = {"contents": [{"role": "user", "parts": [{"text": script}]}], "tools": tools}
    return f"/v1beta/models/m:{method}", body | more


async def events(http: httpx.AsyncClient, path: str, body: Json) -> list[tuple[str, Any]]:
    """Returns the whole stream: event names, if there are any, and data."""
    answer = await http.post(path, json=body)
    assert answer.headers["content-type"] == "text/event-stream"
    events: list[tuple[str, Any]] = []
    for block in answer.text.strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n"))
        data = fields["data"]
        events.append((fields.get("event", ""), data if data == "[DONE]" else json.loads(data)))
    return events


async def whole(http: httpx.AsyncClient, path: str, body: Json) -> Any:
    return (await http.post(path, json=body)).raise_for_status().json()


async def test_anthropic_streams_blocks(http: httpx.AsyncClient) -> None:
    got = await events(http, *anthropic(SCRIPT, stream=True))
    assert all(name == data["type"] for name, data in got)
    started = [data["content_block"]["type"] for name, data in got if name == "content_block_start"]
    assert started == ["thinking", "text", "tool_use"]
    assert [data["index"] for name, data in got if name == "content_block_stop"] == [0, 1, 2]
    deltas = [data["delta"] for name, data in got if name == "content_block_delta"]
    assert [delta["type"] for delta in deltas].index("signature_delta") == 1
    assert [delta["text"] for delta in deltas if "text" in delta] == ["one two three ", "four "]
    assert json.loads("".join(delta.get("partial_json", "") for delta in deltas)) == {"path": "a"}
    assert got[0][0] == "message_start" and got[-1][0] == "message_stop"
    assert got[-2][1]["delta"]["stop_reason"] == "tool_use"


async def test_anthropic_continues_after_a_result(http: httpx.AsyncClient) -> None:
    path, body = anthropic(SCRIPT)
    first = await whole(http, path, body)
    assert first["stop_reason"] == "tool_use"
    call = first["content"][-1]
    result = {"type": "tool_result", "tool_use_id": call["id"], "content": [{"type": "text", "text": "found"}]}
    reminder = {"type": "text", "text": "<system-reminder>[[say no]]</system-reminder>"}
    body["messages"] += [
        {"role": "assistant", "content": first["content"]},
        {"role": "system", "content": "[[say no]]"},
        {"role": "user", "content": [result, reminder]},
    ]
    second = await whole(http, path, body)
    assert second["content"] == [{"type": "text", "text": "Tool Read returned: found end "}]
    assert second["stop_reason"] == "end_turn" and second["usage"]["input_tokens"] > 1


async def test_responses_streams_items(http: httpx.AsyncClient) -> None:
    got = await events(http, *responses(SCRIPT, stream=True))
    assert [data["sequence_number"] for _, data in got] == list(range(1, len(got) + 1))
    assert got[0][0] == "response.created" and got[-1][0] == "response.completed"
    items = [data["item"] for name, data in got if name == "response.output_item.done"]
    assert [item["type"] for item in items] == ["reasoning", "message", "function_call"]
    assert got[-1][1]["response"]["output"] == items
    text = "".join(data["delta"] for name, data in got if name == "response.output_text.delta")
    assert text == items[1]["content"][0]["text"] == "one two three four "
    arguments = [data["arguments"] for name, data in got if name == "response.function_call_arguments.done"]
    assert arguments == [items[2]["arguments"]] == ['{"path":"a"}']


async def test_responses_call_free_form_and_namespaced_tools(http: httpx.AsyncClient) -> None:
    script = "[[raw apply_patch *** Begin\n+x]] [[and ~probe__shout {}]]"
    got = await whole(http, *responses(script))
    patch, shout = got["output"]
    assert (patch["type"], patch["input"]) == ("custom_tool_call", "*** Begin\n+x")
    assert (shout["type"], shout["name"], shout["namespace"]) == ("function_call", "shout", "mcp__probe")


async def test_responses_continues_after_a_result(http: httpx.AsyncClient) -> None:
    path, body = responses(SCRIPT)
    first = await whole(http, path, body)
    call = first["output"][-1]
    message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": SCRIPT}]}
    result = {"type": "function_call_output", "call_id": call["call_id"], "output": "found"}
    second = await whole(http, path, body | {"input": [message, *first["output"], result]})
    assert second["output"][0]["content"][0]["text"] == "Tool Read returned: found end "


async def test_responses_takes_tools_from_an_item(http: httpx.AsyncClient) -> None:
    more = {"type": "additional_tools", "tools": [{"type": "custom", "name": "exec"}]}
    asked = {"role": "user", "content": "[[tools]]"}
    got = await whole(http, *responses("", input=[more, asked], tools=None))
    assert got["output"][0]["content"][0]["text"] == "1 tools: exec "


async def test_chat_streams_deltas(http: httpx.AsyncClient) -> None:
    got = [data for _, data in await events(http, *chat(SCRIPT, stream=True))]
    assert got.pop() == "[DONE]"
    assert got.pop()["usage"]["total_tokens"] > 1
    deltas = [data["choices"][0]["delta"] for data in got]
    assert "".join(delta.get("content", "") for delta in deltas) == "one two three four "
    assert "".join(delta.get("reasoning_content", "") for delta in deltas) == "hm"
    calls = [call for delta in deltas for call in delta.get("tool_calls", [])]
    assert [call["index"] for call in calls] == [0, 0] and calls[0]["function"]["name"] == "Read"
    assert calls[1]["function"]["arguments"] == '{"path":"a"}'
    assert got[-1]["choices"][0]["finish_reason"] == "tool_calls"


async def test_chat_continues_after_a_result(http: httpx.AsyncClient) -> None:
    path, body = chat(SCRIPT)
    message = (await whole(http, path, body))["choices"][0]["message"]
    result = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "found"}
    body["messages"] += [message, result]
    choice = (await whole(http, path, body))["choices"][0]
    assert choice["message"] == {"role": "assistant", "content": "Tool Read returned: found end "}
    assert choice["finish_reason"] == "stop"


async def test_gemini_streams_parts(http: httpx.AsyncClient) -> None:
    got = [data for _, data in await events(http, *gemini(SCRIPT, stream=True))]
    parts = [data["candidates"][0]["content"]["parts"][0] for data in got]
    assert parts[0] == {"text": "hm", "thought": True}
    assert parts[-2]["functionCall"]["args"] == {"path": "a"}
    assert got[-1]["candidates"][0]["finishReason"] == "STOP" and got[0]["modelVersion"] == "m"


async def test_gemini_continues_after_a_result(http: httpx.AsyncClient) -> None:
    path, body = gemini(SCRIPT)
    content = (await whole(http, path, body))["candidates"][0]["content"]
    answer = {"functionResponse": {"name": "Read", "response": {"output": "found"}}}
    body["contents"] += [content, {"role": "user", "parts": [answer]}]
    [*parts] = (await whole(http, path, body))["candidates"][0]["content"]["parts"]
    assert "".join(part["text"] for part in parts) == "Tool Read returned: found end "


@pytest.mark.parametrize(
    ("path", "body"),
    [
        anthropic("t", output_config={"format": {"schema": SCHEMA}}),
        responses("t", text={"format": {"schema": SCHEMA}}),
        chat("t", response_format={"json_schema": {"schema": SCHEMA}}),
        gemini("t", generationConfig={"responseJsonSchema": SCHEMA}),
        gemini("t", generationConfig={"responseSchema": SCHEMA}),
    ],
)
async def test_a_schema_is_answered_with_json(http: httpx.AsyncClient, path: str, body: Json) -> None:
    assert '{\\"title\\": \\"fake\\"}' in (await http.post(path, json=body)).text


@pytest.mark.parametrize(
    ("path", "body"),
    [anthropic("[[http 529]]"), responses("[[http 529]]"), chat("[[http 529]]"), gemini("[[http 529]]")],
)
async def test_errors_of_the_service(http: httpx.AsyncClient, path: str, body: Json) -> None:
    answer = await http.post(path, json=body | {"stream": True})
    assert (answer.status_code, answer.json()["error"]["type"]) == (529, "overloaded_error")


async def test_counting_and_lists(http: httpx.AsyncClient, model: ScriptedModel) -> None:
    assert (await whole(http, "/v1/messages/count_tokens", {"messages": []}))["input_tokens"] >= 1
    assert (await whole(http, "/v1beta/models/m:countTokens", {}))["totalTokens"] == 1
    assert (await http.get("/v1/models")).json()["data"][0]["id"] == "fake-model"
    assert (await http.get("/v1beta/models")).json()["models"][0]["name"] == "models/fake-model"
    assert (await http.post("/v1/messages", content=b"{")).status_code == 400
    assert (await http.get("/elsewhere")).status_code == 404
    assert (await http.head("/")).status_code == 200
    notes = [entry.note for entry in await model.log()]
    assert notes[:4] == ["count_tokens", "countTokens", "models", "models"]
    assert notes[4].startswith("bad JSON") and notes[5:] == ["unhandled", "unhandled"]
