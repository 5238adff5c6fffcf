"""Reads the requests of OpenAI Chat Completions and writes its responses."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

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


def read_chat(body: Json) -> Conversation:
    """Returns the conversation of a request to `/v1/chat/completions`."""
    conversation = Conversation(
        api="chat",
        model=body.get("model", ""),
        stream=bool(body.get("stream")),
        turns=[],
        tools=[Tool(tool["function"]["name"]) for tool in objects(body, "tools") if tool.get("type") == "function"],
        schema=dig(body, "response_format", "json_schema", "schema"),
    )
    names: dict[str, str] = {}
    for message in objects(body, "messages"):
        role, content = message.get("role"), message.get("content")
        if role in ("system", "developer"):
            conversation.system += as_text(content)
        elif role == "user":
            conversation.add_user(text_blocks(content))
        elif role == "assistant":
            calls = objects(message, "tool_calls")
            names |= {call["id"]: call["function"]["name"] for call in calls}
            called = [call["function"]["name"] for call in calls]
            conversation.turns.append(Turn("assistant", as_text(content), calls=called))
        elif role == "tool":
            name = names.get(message.get("tool_call_id", ""), "")
            conversation.turns.append(Turn("tool", as_text(content), name=name))
    return conversation


class ChatWriter(Writer):
    """Writes one choice that grows."""

    def __init__(self, conversation: Conversation, size: int) -> None:
        super().__init__(conversation, size)
        self._id = new_id("chatcmpl-")
        self._content = ""
        self._calls: list[Json] = []

    def begin(self) -> Iterator[Event]:
        yield self._chunk({"role": "assistant", "content": ""})

    def text(self, piece: str) -> Iterator[Event]:
        self._content += piece
        yield self._chunk({"content": piece})

    def think(self, piece: str) -> Iterator[Event]:
        yield self._chunk({"reasoning_content": piece})

    def call(self, tool: Tool, arguments: Any) -> Iterator[Event]:
        raw = encoded(arguments)
        index = len(self._calls)
        call: Json = {"id": new_id("call_"), "type": "function", "function": {"name": tool.name, "arguments": raw}}
        self._calls.append(call)
        yield self._chunk({"tool_calls": [call | {"index": index, "function": {"name": tool.name, "arguments": ""}}]})
        yield self._chunk({"tool_calls": [{"index": index, "function": {"arguments": raw}}]})

    def end(self) -> Iterator[Event]:
        yield self._chunk({}, finish=self._finish_reason())
        yield None, self._about("chat.completion.chunk") | {"choices": [], "usage": self._usage()}
        yield None, "[DONE]"

    def body(self) -> Json:
        message: Json = {"role": "assistant", "content": self._content}
        if self._calls:
            message["tool_calls"] = self._calls
        choice = {"index": 0, "message": message, "finish_reason": self._finish_reason()}
        return self._about("chat.completion") | {"choices": [choice], "usage": self._usage()}

    def _chunk(self, delta: Json, finish: str | None = None) -> Event:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return None, self._about("chat.completion.chunk") | {"choices": [choice]}

    def _about(self, kind: str) -> Json:
        return {"id": self._id, "object": kind, "created": int(time.time()), "model": self.model}

    def _finish_reason(self) -> str:
        if self.ends:
            return "length" if self.ends == "max_tokens" else "content_filter"
        return "tool_calls" if self.called else "stop"

    def _usage(self) -> Json:
        return {
            "prompt_tokens": self.tokens_in,
            "completion_tokens": self.tokens_out,
            "total_tokens": self.tokens_in + self.tokens_out,
        }
