"""Converts the files of a prompt for an agent: images and embedded texts where it accepts those, quoted text otherwise,
and a notice for what it cannot be given."""

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
    """The kinds of content that an agent accepts besides text; stored with its keeper, so that it outlives the
    server."""

    images: bool = False
    resources: bool = False

    @classmethod
    def of(cls, can: Capabilities) -> PromptCapabilities:
        return cls(can.image, can.embedded_context)


class PromptFiles(msgspec.Struct):
    """The blocks that precede a prompt, and notices for people about what was not sent."""

    blocks: list[Block]
    notices: list[str]


async def prompt_files(tx: Tx, task_id: str, takes: PromptCapabilities, agent: str) -> PromptFiles:
    """Returns the files of a task in the form that this agent accepts."""
    attached = await files.of_task(tx, task_id)
    unsent = [file for file in attached if file.sort == "image" and not takes.images]
    notices = [f"{file.described} was not sent: {agent} takes no pictures." for file in unsent]
    return PromptFiles([_block(file, takes) for file in attached], notices)


def _block(file: File, takes: PromptCapabilities) -> Block:
    # The URI only carries the name: there is no such file.
    uri = f"file:///{quote(file.name)}"
    if file.sort == "image":
        if takes.images:
            return ImageBlock(data=file.data, mime_type=file.mime_type, uri=uri)
        return TextBlock(text=f"The user attached the picture {file.described}, which you cannot be shown.")
    if takes.resources:
        return ResourceBlock(resource=TextResource(uri=uri, text=file.text, mime_type=file.mime_type))
    return TextBlock(text=_quoted(file))


def _quoted(file: File) -> str:
    """Quotes a text between fences that are longer than any in it."""
    text = file.text
    longest = max((len(fence) for fence in re.findall("`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    ended = text if not text or text.endswith("\n") else f"{text}\n"
    return f"The user attached the file {file.described}:\n{fence}\n{ended}{fence}\n"
