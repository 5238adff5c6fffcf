"""Handing the files of a prompt to an agent: as pictures and embedded texts where it takes those, else quoted, and what
it cannot be given is said. Keeping files is `files`, sending a prompt `runner`."""

from __future__ import annotations

import re
from urllib.parse import quote

import msgspec

from bough.agents.acp.answers import Capabilities
from bough.agents.acp.types import Block, ImageBlock, ResourceBlock, TextBlock, TextResource
from bough.core.transcripts import files
from bough.model.file import File
from bough.storage.backend import Tx


class PromptCapabilities(msgspec.Struct, frozen=True):
    """What an agent takes in a prompt besides text; it outlives the server with its keeper."""

    images: bool = False
    resources: bool = False

    @classmethod
    def of(cls, can: Capabilities) -> PromptCapabilities:
        return cls(can.image, can.embedded_context)


class PromptFiles(msgspec.Struct):
    """What goes before a prompt, and what people should know about what does not."""

    blocks: list[Block]
    notices: list[str]


async def handed(tx: Tx, task_id: str, takes: PromptCapabilities, agent: str) -> PromptFiles:
    """The files of a task as this agent can have them."""
    found = await files.of_task(tx, task_id)
    unseen = [one for one in found if one.sort == "image" and not takes.images]
    notices = [f"{one.described} was not sent: {agent} takes no pictures." for one in unseen]
    return PromptFiles([_block(one, takes) for one in found], notices)


def _block(file: File, takes: PromptCapabilities) -> Block:
    # A name, not a place: there is no such file.
    uri = f"file:///{quote(file.name)}"
    if file.sort == "image":
        if takes.images:
            return ImageBlock(data=file.data, mime_type=file.mime_type, uri=uri)
        return TextBlock(text=f"The user attached the picture {file.described}, which you cannot be shown.")
    if takes.resources:
        return ResourceBlock(resource=TextResource(uri=uri, text=file.text, mime_type=file.mime_type))
    return TextBlock(text=_quoted(file))


def _quoted(file: File) -> str:
    """A text between fences, longer ones than it has itself."""
    text = file.text
    longest = max((len(one) for one in re.findall("`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    ended = text if not text or text.endswith("\n") else f"{text}\n"
    return f"The user attached the file {file.described}:\n{fence}\n{ended}{fence}\n"
