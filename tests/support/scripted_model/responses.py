"""Reads the requests of OpenAI Responses and writes its responses."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, cast

from tests.support.scripted_model.conversation import (
    Conversation,
    Json,
    Tool,
    Turn,
    as_text,
    dig,
    objects,
    text_blocks,
)
from tests.support.scripted_model.writing import Event, Writer, encoded, new_id


def read_responses(body: Json) -> Conversation:
    """Returns the conversation of a request to `/v1/responses`."""
    text = body.get("input")
    items: list[Json] = [{"role": "user", "content": text}] if isinstance(text, str) else objects(body, "input")
    conversation = Conversation(
        api="responses",
        model=body.get("model", ""),
        stream=bool(body.get("stream")),
        turns=[],
        tools=list(_tools(body, items)),
        system=as_text(body.get("instructions")),
        schema=dig(body, "text", "format", "schema"),
    )
    names: dict[str, str] = {}
    for item in items:
        kind, role = item.get("type", "message"), item.get("role")
        if kind == "message" and role == "user":
            conversation.add_user(text_blocks(item.get("content")))
        elif kind == "message" and role == "assistant":
            conversation.turns.append(Turn("assistant", as_text(item.get("content"))))
        elif kind in ("function_call", "custom_tool_call"):
            names[item.get("call_id", "")] = item.get("name", "")
            conversation.turns.append(Turn("assistant", calls=[item.get("name", "")]))
        elif kind in ("function_call_output", "custom_tool_call_output"):
            name = names.get(item.get("call_id", ""), "")
            conversation.turns.append(Turn("tool", as_text(item.get("output")), name=name))
    return conversation


def _tools(body: Json, items: list[Json]) -> Iterator[Tool]:
    specs = list(objects(body, "tools"))
    for item in items:  # newer models of Codex get their tools as an item
        if item.get("type") == "additional_tools":
            specs += objects(item, "tools")
    for spec in specs:
        if spec.get("type") == "namespace":
            for inner in objects(spec, "tools"):
                kind = "custom" if inner.get("type") == "custom" else "function"
                yield Tool(inner.get("name", ""), kind, spec.get("name"))
        elif spec.get("type") in ("function", "custom"):
            yield Tool(spec.get("name", ""), spec["type"])


class ResponsesWriter(Writer):
    """Writes a list of items, of which one is open at a time, in numbered events."""

    def __init__(self, conversation: Conversation, size: int) -> None:
        super().__init__(conversation, size)
        self._id = new_id("resp_")
        self._items: list[Json] = []
        self._open: str | None = None
        self._number = 0

    def begin(self) -> Iterator[Event]:
        yield self._event("response.created", response=self._response("in_progress"))
        yield self._event("response.in_progress", response=self._response("in_progress"))

    def text(self, piece: str) -> Iterator[Event]:
        if self._open != "message":
            part: Json = {"type": "output_text", "text": "", "annotations": []}
            about = {"id": new_id("msg_"), "type": "message", "role": "assistant", "status": "in_progress"}
            yield from self._start("message", about | {"content": [part]}, about | {"content": []})
            yield self._event("response.content_part.added", part=dict(part), **self._at(content_index=0))
        self._items[-1]["content"][0]["text"] += piece
        yield self._event("response.output_text.delta", delta=piece, **self._at(content_index=0))

    def think(self, piece: str) -> Iterator[Event]:
        if self._open != "reasoning":
            part: Json = {"type": "summary_text", "text": ""}
            about = {"id": new_id("rs_"), "type": "reasoning", "encrypted_content": None}
            yield from self._start("reasoning", about | {"summary": [part]}, about | {"summary": []})
            yield self._event("response.reasoning_summary_part.added", part=dict(part), **self._at(summary_index=0))
        self._items[-1]["summary"][0]["text"] += piece
        yield self._event("response.reasoning_summary_text.delta", delta=piece, **self._at(summary_index=0))

    def call(self, tool: Tool, arguments: Any) -> Iterator[Event]:
        if tool.kind == "custom":
            kind, field, prefix = "custom_tool_call", "input", "ctc_"
            arguments = cast("Json", arguments).get("input", arguments) if isinstance(arguments, dict) else arguments
        else:
            kind, field, prefix = "function_call", "arguments", "fc_"
        raw = encoded(arguments)
        item: Json = {"type": kind, "id": new_id(prefix), field: raw, "status": "in_progress"}
        item |= {"call_id": new_id("call_"), "name": tool.name}
        if tool.namespace:
            item["namespace"] = tool.namespace
        yield from self._start("call", item, item | {field: ""})
        yield self._event(f"response.{kind}_{field}.delta", delta=raw, **self._at())
        yield self._event(f"response.{kind}_{field}.done", **{field: raw}, **self._at())
        yield from self._close()

    def end(self) -> Iterator[Event]:
        yield from self._close()
        status = self._status()
        yield self._event(f"response.{status}", response=self._response(status))

    def body(self) -> Json:
        return self._response(self._status())

    def _status(self) -> str:
        return "incomplete" if self.ends else "completed"

    def _start(self, kind: str, item: Json, announced: Json) -> Iterator[Event]:
        yield from self._close()
        self._items.append(item)
        self._open = kind
        yield self._event("response.output_item.added", output_index=len(self._items) - 1, item=announced)

    def _close(self) -> Iterator[Event]:
        if self._open is None:
            return
        item = self._items[-1]
        item["status"] = "completed"
        if self._open == "message":
            part, at = item["content"][0], self._at(content_index=0)
            yield self._event("response.output_text.done", text=part["text"], **at)
            yield self._event("response.content_part.done", part=part, **at)
        elif self._open == "reasoning":
            part, at = item["summary"][0], self._at(summary_index=0)
            yield self._event("response.reasoning_summary_text.done", text=part["text"], **at)
            yield self._event("response.reasoning_summary_part.done", part=part, **at)
        yield self._event("response.output_item.done", output_index=len(self._items) - 1, item=item)
        self._open = None

    def _event(self, kind: str, **data: Any) -> Event:
        self._number += 1
        return kind, {"type": kind, "sequence_number": self._number, **data}

    def _at(self, **index: int) -> Json:
        """Returns the position of the open item in the response."""
        return {"item_id": self._items[-1]["id"], "output_index": len(self._items) - 1, **index}

    def _response(self, status: str) -> Json:
        over = status != "in_progress"
        reason = "max_output_tokens" if self.ends == "max_tokens" else "content_filter"
        usage = {
            "input_tokens": self.tokens_in,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": self.tokens_out,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": self.tokens_in + self.tokens_out,
        }
        return {
            "id": self._id,
            "object": "response",
            "created_at": int(time.time()),
            "status": status,
            "model": self.model,
            "output": self._items if over else [],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "error": None,
            "incomplete_details": {"reason": reason} if status == "incomplete" else None,
            "usage": usage if over else None,
        }
