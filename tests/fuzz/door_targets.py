"""Targets at the doors: frames of editors, arguments of tools, files of prompts, cursors and events."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from bough.agents import acp_params
from bough.agents.acp_server import params as agent_params
from bough.agents.json_rpc import RpcError, UnreadableMessage, encode_error, read_message
from bough.api.acp.protocol import wire
from bough.api.mcp.protocol import arguments
from bough.api.mcp.tools.all_tools import TOOLS
from bough.api.ws import websocket_and_sse as events
from bough.core.events.hub import _event_frame  # pyright: ignore[reportPrivateUsage]
from bough.core.store.decode import decoded
from bough.core.transcripts import files
from bough.errors import BoughError, Invalid
from bough.model.event import Event
from bough.model.message import raw
from tests.fuzz.target import Target

PARAMS = (
    *(wire.EditorInitialize, wire.Authenticate, wire.NewSessionParams, wire.ExistingSession, acp_params.ListSessions),
    *(
        acp_params.SessionOnly,
        acp_params.ReceivedPrompt,
        acp_params.SetMode,
        acp_params.SetConfigOption,
        acp_params.CancelRequest,
    ),
)
AGENT_PARAMS = (
    *(
        agent_params.ReceivedInitialize,
        agent_params.ReceivedNewSession,
        agent_params.LoadSession,
        agent_params.ResumeSession,
    ),
    *(acp_params.ReceivedPrompt, acp_params.SetMode, acp_params.SetConfigOption, acp_params.CancelRequest),
)
LINE_END = re.compile(rb"\r\n|\r|\n")
AT = "2026-11-15T08:19:00.000000Z"


def editor_frames(data: bytes) -> None:
    """A frame of an editor is a message, or it gets an error that names its id."""
    for frame in data.split(b"\n"):
        try:
            message = read_message(frame)
        except UnreadableMessage as error:
            encode_error(error.request_id, error.code, str(error))
            continue
        for kind in PARAMS:
            try:
                body = acp_params.read(message.params, kind)
                if isinstance(body, acp_params.ReceivedPrompt):
                    text, attached = wire.read_prompt(body.prompt)
                    files.checked(attached, text)
                elif isinstance(body, wire.NewSessionParams | wire.ExistingSession):
                    wire.read_settings(body.meta)
            except (RpcError, BoughError):
                continue


def agent_requests(data: bytes) -> None:
    """The agents that come with Bough refuse requests that they cannot read."""
    for line in data.split(b"\n"):
        try:
            params = read_message(line).params
        except UnreadableMessage:
            continue
        for kind in AGENT_PARAMS:
            try:
                body = acp_params.read(params, kind)
                if isinstance(body, acp_params.ReceivedPrompt):
                    agent_params.check_blocks(body.prompt)
                    agent_params.attachments(body.prompt)
                    agent_params.last_text(body.prompt)
            except RpcError:
                continue


def tool_arguments(data: bytes) -> None:
    """Any arguments are those of a tool, or the error says in words what is wrong with them."""
    try:
        fields = msgspec.json.decode(data, type=dict[str, Any])
    except (ValueError, RecursionError):
        return
    for tool in TOOLS:
        try:
            arguments.read(tool, fields)
        except Invalid as error:
            assert error.code == "bad_arguments" and tool.name in error.message


def event_frames(data: bytes) -> None:
    """An event is one line of its stream, whatever an agent said in it, and is read back as it was stored."""
    try:
        value: Any = msgspec.json.decode(data)
    except (ValueError, RecursionError):
        value = data.decode(errors="replace")
    event = Event(7, "message.created", "s", "m", raw({"value": value}), AT)
    frame = events._sse(_event_frame(event))  # pyright: ignore[reportPrivateUsage]
    number, kind, line, *ends = LINE_END.split(frame)
    assert (number, kind, ends) == (b"id: 7", b"event: message.created", [b"", b""])
    again: Event = decoded(line.removeprefix(b"data: "), Event)
    assert msgspec.json.decode(again.data) == msgspec.json.decode(event.data)


def cursors(data: bytes) -> None:
    """A cursor is a number or an error."""
    try:
        cursor = events._cursor(data.decode(errors="replace"))  # pyright: ignore[reportPrivateUsage]
    except Invalid as error:
        assert error.code == "bad_cursor"
    else:
        assert cursor is None or 0 <= cursor < 10**18


TARGETS = (
    Target("editor_frames", editor_frames),
    Target("agent_requests", agent_requests),
    Target("tool_arguments", tool_arguments),
    Target("event_frames", event_frames),
    Target("cursors", cursors),
)
