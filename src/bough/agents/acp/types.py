"""Defines the parameters of the Agent Client Protocol (version 1) that Bough sends. `answers` reads the replies."""

from typing import Any

import msgspec
from msgspec import Raw, Struct

PROTOCOL_VERSION = 1
Meta = dict[str, Any]


class _Sent(Struct, rename="camel", omit_defaults=True, kw_only=True):
    pass


class TextBlock(_Sent, tag_field="type", tag="text"):
    """Text of a prompt."""

    text: str


class ImageBlock(_Sent, tag_field="type", tag="image"):
    """An image in base64; only for agents with `Capabilities.image`."""

    data: str
    mime_type: str
    uri: str | None = None


class ResourceLinkBlock(_Sent, tag_field="type", tag="resource_link"):
    """A file or page that the agent may read itself."""

    name: str
    uri: str
    mime_type: str | None = None
    size: int | None = None


class TextResource(_Sent):
    """A text and its URI."""

    uri: str
    text: str
    mime_type: str | None = None


class ResourceBlock(_Sent, tag_field="type", tag="resource"):
    """An embedded text; only for agents with `Capabilities.embedded_context`."""

    resource: TextResource


Block = TextBlock | ImageBlock | ResourceLinkBlock | ResourceBlock | Raw
"""A part of a prompt. `Raw` passes on a block that an editor sent."""


class NameValue(_Sent):
    """An environment variable or an HTTP header."""

    name: str
    value: str


class StdioServer(_Sent):
    """An MCP server that the agent starts; `command` is an absolute path."""

    name: str
    command: str
    args: list[str]
    env: list[NameValue]


class HttpServer(_Sent, tag_field="type", tag="http"):
    """An MCP server over HTTP; only for agents with `Capabilities.http`."""

    name: str
    url: str
    headers: list[NameValue]


class SseServer(_Sent, tag_field="type", tag="sse"):
    """An MCP server over SSE; only for agents with `Capabilities.sse`."""

    name: str
    url: str
    headers: list[NameValue]


McpServer = StdioServer | HttpServer | SseServer


class ClientInfo(_Sent):
    """The name and version of this client."""

    name: str
    version: str
    title: str | None = None


class InitializeParams(_Sent):
    """Parameters of initialize. A capability that is not listed is not offered."""

    protocol_version: int
    client_capabilities: dict[str, Any]
    client_info: ClientInfo


class SystemPrompt(_Sent):
    """Text to add to an agent's own system prompt; only for agents with `Capabilities.system_prompt`."""

    mode: str
    content: list[TextBlock]


class SessionParams(_Sent):
    """Parameters of session/new (without a session id), session/load, session/resume and session/fork."""

    cwd: str
    mcp_servers: list[McpServer]
    additional_directories: list[str] | None = None
    session_id: str | None = None
    system_prompt: SystemPrompt | None = None
    meta: Meta | None = msgspec.field(default=None, name="_meta")


class SessionIdParams(_Sent):
    """Parameters of session/close and session/cancel."""

    session_id: str


class ListParams(_Sent):
    """Parameters of session/list."""

    cwd: str | None = None
    cursor: str | None = None


class PromptParams(_Sent):
    """Parameters of session/prompt."""

    session_id: str
    prompt: list[Block]


class SteerParams(_Sent):
    """Parameters of the request that puts a prompt into the running turn."""

    session_id: str
    prompt: list[Block]
    meta: Meta | None = msgspec.field(default=None, name="_meta")


class SetModeParams(_Sent):
    """Parameters of session/set_mode."""

    session_id: str
    mode_id: str


class SetModelParams(_Sent):
    """Parameters of session/set_model, the older way to choose a model."""

    session_id: str
    model_id: str


class SetOptionParams(_Sent):
    """Parameters of session/set_config_option; a boolean value carries its type, a choice does not."""

    session_id: str
    config_id: str
    value: str | bool
    type: str | None = None
