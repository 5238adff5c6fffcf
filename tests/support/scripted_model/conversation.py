"""Represents a conversation as every service receives it: turns, tools, and which words of a message are the user's
own."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import msgspec

Json = dict[str, Any]

_WRAPPED = re.compile(r"<([A-Za-z][\w-]*)(?:\s[^<>]*)?>.*?</\1>", re.DOTALL)
_AGENTS_MD = re.compile(r"^# AGENTS\.md instructions.*", re.DOTALL)


@dataclass(frozen=True)
class Tool:
    """A tool that the model may call."""

    name: str
    kind: str = "function"
    """`function`, or `custom` for OpenAI's free-form tools."""
    namespace: str | None = None
    """Only in the Responses API."""

    @property
    def full_name(self) -> str:
        if not self.namespace:
            return self.name
        glue = "" if self.namespace.endswith("_") else "__"
        return f"{self.namespace}{glue}{self.name}"


@dataclass
class Turn:
    """One message of the conversation."""

    role: Literal["user", "assistant", "tool"]
    text: str = ""
    calls: list[str] = field(default_factory=list[str])
    """Of an assistant: the tools that it called."""
    name: str = ""
    """Of a tool: which one answered."""
    script: str = ""
    """Of a user: the last text block."""


@dataclass
class Conversation:
    """Everything that a request says."""

    api: str
    model: str
    stream: bool
    turns: list[Turn]
    tools: list[Tool]
    system: str = ""
    schema: Any = None
    """The JSON schema that the answer must follow, as in requests for routing, titles and reviews."""

    def find_tool(self, pattern: str) -> Tool | None:
        """Returns the first tool of `A|~SUFFIX|!NOT_OFFERED` that can be called."""
        for alternative in pattern.split("|"):
            if alternative.startswith("!"):
                namespace, _, name = alternative[1:].rpartition("/")
                return Tool(name, namespace=namespace or None)
            for tool in self.tools:
                if alternative.startswith("~"):
                    if tool.full_name.endswith(alternative[1:]):
                        return tool
                elif alternative in (tool.name, tool.full_name):
                    return tool
        return None

    @property
    def tool_names(self) -> str:
        return ", ".join(tool.full_name for tool in self.tools)

    @property
    def user_turns(self) -> list[Turn]:
        return [turn for turn in self.turns if turn.role == "user"]

    def add_user(self, texts: list[str]) -> None:
        """Adds a user's turn, unless nothing in it is the user's own."""
        blocks = [words for words in map(own_words, texts) if words]
        if blocks:
            self.turns.append(Turn("user", "\n".join(blocks), script=blocks[-1]))


def dig(data: Any, *keys: str) -> Any:
    """Returns the value below these keys, or None where one of them is missing."""
    for key in keys:
        data = cast("Json", data).get(key) if isinstance(data, dict) else None
    return data


def objects(data: Any, *keys: str) -> list[Json]:
    """Returns the list of objects below these keys, empty if there is none."""
    value = dig(data, *keys)
    return cast("list[Json]", value) if isinstance(value, list) else []


def own_words(text: str) -> str:
    """Returns the text without the <tag>…</tag> blocks and instructions that agents add to it."""
    return _AGENTS_MD.sub("", _WRAPPED.sub("", text)).strip()


def as_text(content: Any) -> str:
    """Returns a message's content (text, a list of blocks, a nested result) as text."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = cast("list[Any]", content)
        return "\n".join(text for text in map(as_text, parts) if text)
    if isinstance(content, dict):
        block = cast("Json", content)
        for key in ("text", "content", "output"):
            if key in block:
                return as_text(block[key])
        return "" if block.get("type") else msgspec.json.encode(block).decode()
    return str(content)


def text_blocks(content: Any) -> list[str]:
    """Returns the text of each block of a message."""
    parts = cast("list[Any]", content if isinstance(content, list) else [content])
    return [as_text(part) for part in parts]


def short(text: str, limit: int) -> str:
    """Returns the text on one line, cut to this length."""
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"
