"""Reads the requests of Anthropic Messages and writes its responses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.support.scripted_model.conversation import Conversation, Json, Tool, Turn, as_text, dig, objects
from tests.support.scripted_model.writing import Event, Writer, encoded, new_id


def read_messages(body: Json) -> Conversation:
    """Returns the conversation of a request to `/v1/messages`."""
    conversation = Conversation(
        api="anthropic",
        model=body.get("model", ""),
        stream=bool(body.get("stream")),
        turns=[],
        tools=[Tool(tool["name"]) for tool in objects(body, "tools") if "name" in tool],
        system=as_text(body.get("system")),
        schema=dig(body, "output_config", "format", "schema"),
    )
    names: dict[str, str] = {}
    for message in objects(body, "messages"):
        text = message.get("content")
        blocks = [{"type": "text", "text": text}] if isinstance(text, str) else objects(message, "content")
        if message["role"] == "assistant":
            calls = [block for block in blocks if block.get("type") == "tool_use"]
            names |= {call["id"]: call["name"] for call in calls}
            conversation.turns.append(
                Turn("assistant", "".join(_texts(blocks)), calls=[call["name"] for call in calls])
            )
        elif message["role"] == "user":  # Claude Code also sends `system` messages between the turns
            for block in blocks:
                if block.get("type") == "tool_result":
                    name = names.get(block.get("tool_use_id", ""), "")
                    conversation.turns.append(Turn("tool", as_text(block.get("content")), name=name))
            conversation.add_user(_texts(blocks))
    return conversation


def _texts(blocks: list[Json]) -> list[str]:
    return [block.get("text", "") for block in blocks if block.get("type") == "text"]


class MessagesWriter(Writer):
    """Writes a message of content blocks, of which one is open at a time."""

    def __init__(self, conversation: Conversation, size: int) -> None:
        super().__init__(conversation, size)
        self._id = new_id("msg_")
        self._blocks: list[Json] = []
        self._open: str | None = None

    def begin(self) -> Iterator[Event]:
        yield _named({"type": "message_start", "message": self._message(final=False)})

    def text(self, piece: str) -> Iterator[Event]:
        if self._open != "text":
            yield from self._start({"type": "text", "text": ""})
        self._blocks[-1]["text"] += piece
        yield self._delta({"type": "text_delta", "text": piece})

    def think(self, piece: str) -> Iterator[Event]:
        if self._open != "thinking":
            yield from self._start({"type": "thinking", "thinking": "", "signature": ""})
        self._blocks[-1]["thinking"] += piece
        yield self._delta({"type": "thinking_delta", "thinking": piece})

    def call(self, tool: Tool, arguments: Any) -> Iterator[Event]:
        raw = encoded(arguments)
        yield from self._start({"type": "tool_use", "id": new_id("toolu_"), "name": tool.name, "input": {}})
        for piece in (raw[: len(raw) // 2], raw[len(raw) // 2 :]):
            yield self._delta({"type": "input_json_delta", "partial_json": piece})
        self._blocks[-1]["input"] = arguments
        yield from self._close()

    def end(self) -> Iterator[Event]:
        yield from self._close()
        delta = {"stop_reason": self._stop_reason(), "stop_sequence": None}
        yield _named({"type": "message_delta", "delta": delta, "usage": self._usage()})
        yield _named({"type": "message_stop"})

    def body(self) -> Json:
        return self._message(final=True)

    def _start(self, block: Json) -> Iterator[Event]:
        yield from self._close()
        self._blocks.append(block)
        self._open = block["type"]
        yield _named({"type": "content_block_start", "index": len(self._blocks) - 1, "content_block": dict(block)})

    def _delta(self, delta: Json) -> Event:
        return _named({"type": "content_block_delta", "index": len(self._blocks) - 1, "delta": delta})

    def _close(self) -> Iterator[Event]:
        if self._open is None:
            return
        if self._open == "thinking":
            self._blocks[-1]["signature"] = "fake-signature"
            yield self._delta({"type": "signature_delta", "signature": "fake-signature"})
        yield _named({"type": "content_block_stop", "index": len(self._blocks) - 1})
        self._open = None

    def _stop_reason(self) -> str:
        return self.ends or ("tool_use" if self.called else "end_turn")

    def _message(self, *, final: bool) -> Json:
        return {
            "id": self._id,
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": self._blocks if final else [],
            "stop_reason": self._stop_reason() if final else None,
            "stop_sequence": None,
            "usage": self._usage(),
        }

    def _usage(self) -> Json:
        return {
            "input_tokens": self.tokens_in,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": self.tokens_out,
        }


def _named(data: Json) -> Event:
    return data["type"], data
