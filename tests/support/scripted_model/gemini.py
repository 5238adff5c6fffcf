"""Reads the requests of Gemini's generateContent and writes its responses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.support.scripted_model.conversation import Conversation, Json, Tool, Turn, as_text, dig, objects
from tests.support.scripted_model.writing import Event, Writer, new_id


def read_contents(body: Json, model: str, *, stream: bool) -> Conversation:
    """Returns the conversation of a request to `/v1beta/models/MODEL:generateContent`, or its streaming twin."""
    conversation = Conversation(
        api="gemini",
        model=model,
        stream=stream,
        turns=[],
        tools=[
            Tool(function["name"])
            for tools in objects(body, "tools")
            for function in objects(tools, "functionDeclarations") or objects(tools, "function_declarations")
        ],
        system=as_text(dig(body, "systemInstruction", "parts")),
        schema=dig(body, "generationConfig", "responseJsonSchema") or dig(body, "generationConfig", "responseSchema"),
    )
    for content in objects(body, "contents"):
        parts = objects(content, "parts")
        if content.get("role") == "model":
            calls = [part["functionCall"]["name"] for part in parts if "functionCall" in part]
            text = "".join(part.get("text", "") for part in parts if not part.get("thought"))
            conversation.turns.append(Turn("assistant", text, calls=calls))
            continue
        for part in parts:
            if "functionResponse" in part:
                answer = part["functionResponse"]
                conversation.turns.append(Turn("tool", as_text(answer.get("response")), name=answer.get("name", "")))
        conversation.add_user([part["text"] for part in parts if "text" in part])
    return conversation


class ContentsWriter(Writer):
    """Writes one candidate, part by part."""

    def __init__(self, conversation: Conversation, size: int) -> None:
        super().__init__(conversation, size)
        self._id = new_id("gem-")
        self._parts: list[Json] = []

    def text(self, piece: str) -> Iterator[Event]:
        yield self._part({"text": piece})

    def think(self, piece: str) -> Iterator[Event]:
        yield self._part({"text": piece, "thought": True})

    def call(self, tool: Tool, arguments: Any) -> Iterator[Event]:
        yield self._part({"functionCall": {"id": new_id("call_"), "name": tool.name, "args": arguments}})

    def end(self) -> Iterator[Event]:
        yield None, self._response([{"text": ""}], finish=self._finish_reason())

    def body(self) -> Json:
        return self._response(self._parts, finish=self._finish_reason())

    def _finish_reason(self) -> str:
        return {"": "STOP", "max_tokens": "MAX_TOKENS"}.get(self.ends, "SAFETY")

    def _part(self, part: Json) -> Event:
        self._parts.append(part)
        return None, self._response([part])

    def _response(self, parts: list[Json], finish: str | None = None) -> Json:
        candidate: Json = {"index": 0, "content": {"role": "model", "parts": parts}}
        if finish is not None:
            candidate["finishReason"] = finish
        usage = {
            "promptTokenCount": self.tokens_in,
            "candidatesTokenCount": self.tokens_out,
            "totalTokenCount": self.tokens_in + self.tokens_out,
        }
        about = {"modelVersion": self.model, "responseId": self._id}
        return {"candidates": [candidate], "usageMetadata": usage} | about
