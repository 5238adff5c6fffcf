"""Defines where an agent keeps its conversations, how the lines of such a file read, and how its own terminal program
continues one."""

from __future__ import annotations

from typing import Literal

import msgspec


class _Table(msgspec.Struct, rename="kebab", forbid_unknown_fields=True, kw_only=True):
    pass


class LineField(_Table):
    """A field of the lines of a file, which hold one JSON object each."""

    # What a line must hold to count: fields as `path.to.field`, each with its value, with `*` for any value, or with an
    # empty text for a line without that field.
    where: dict[str, str] = {}
    # The field itself, as `path.to.field`; a text, or a list of blocks with texts.
    field: str = ""


class LineUsage(_Table):
    """The tokens that lines count."""

    where: dict[str, str] = {}
    # Whether a line counts one call of the model, or the conversation so far.
    counts: Literal["call", "session"] = "call"
    # The field that is equal in all lines of one call, of which the last counts; empty if each line is a call.
    id: str = ""
    # The fields whose sum is the number.
    input: list[str] = []
    output: list[str] = []
    cached_read: list[str] = []
    cached_write: list[str] = []


class LineTool(_Table):
    """The tool calls in the lines of an agent's answers: a list of objects, with the fields of each."""

    list: str = ""
    id: str = ""
    name: str = ""
    args: str = ""
    status: str = ""
    result: str = ""


class ConversationFiles(_Table):
    """The conversations that an agent keeps itself."""

    # Where a conversation is, as patterns with `{id}` for its id and `*` for anything. `{home}` is the agent's settings
    # folder: Bough's for its sessions, the user's for conversations from elsewhere.
    paths: list[str] = []
    # Whether Bough reads these files to find conversations, because the agent does not list them or not all of them.
    list_files: bool = False
    # The id in a file's lines, where it is not in the file's name.
    id: LineField | None = None
    # The folder of the conversation.
    folder: LineField | None = None
    # A file beside the conversation, relative to it, that holds the folder instead.
    folder_file: str = ""
    # A person's prompt, which begins a turn.
    prompt: LineField | None = None
    # Prompts that no person wrote: regular expressions for the beginning of their text.
    not_prompts: list[str] = []
    # The agent's texts, thoughts and tools, for agents that cannot load a conversation. Bough then reads these.
    text: LineField | None = None
    thought: LineField | None = None
    tools: LineTool | None = None
    usage: LineUsage | None = None
    # The command that continues a conversation in the agent's own terminal program, and its variables.
    terminal: list[str] = []
    terminal_env: dict[str, str] = {}
