"""Files that go with a prompt: checking what callers give, keeping it in the transaction of the prompt, reading it. How
an agent is given them is `handing`."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence

import msgspec

from bough.core.store.short_ids import find
from bough.core.store.sql import FILES
from bough.core.store.transactions import Change, Store
from bough.errors import Invalid, TooLarge
from bough.model.file import (
    IMAGES,
    LARGEST_FILE,
    LONGEST_NAME,
    MIME_TYPE,
    MOST_FILES,
    File,
    FileInfo,
    as_text,
    image_type,
    is_image_type,
    is_plain_name,
    text_type,
)
from bough.model.ids import new_id
from bough.storage.backend import Tx


class NewFile(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A file that goes with a prompt: a `text`, or any `data` as base64. A picture (PNG, JPEG, GIF, WebP) or a text."""

    name: str
    mime_type: str | None = None
    text: str | None = None
    data: str | None = None


NewFiles = list[NewFile] | msgspec.UnsetType


class Files:
    """Reads files that were kept."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def get(self, file_id: str) -> File:
        return await self._store.read(lambda tx: find(tx, "files", file_id, FILES.get, File))


def checked(given: NewFiles, prompt: str | None) -> list[File]:
    """Files that can be kept and sent; they have their ids already."""
    if not given:
        return []
    if prompt is None:
        raise Invalid("bad_file", "Files go with a prompt: say what the agent should do with them.")
    if len(given) > MOST_FILES:
        raise Invalid("too_many_files", f"A prompt takes at most {MOST_FILES} files.", limit=MOST_FILES)
    return [_checked(one) for one in given]


def _checked(given: NewFile) -> File:
    if not is_plain_name(given.name):
        raise Invalid(
            "bad_file",
            f"The name of a file has at most {LONGEST_NAME} characters, no folders and nothing that cannot be seen.",
        )
    # A browser that does not know says nothing.
    said = (given.mime_type or "").lower().split(";")[0].strip() or None
    if said is not None and not MIME_TYPE.fullmatch(said):
        raise Invalid("bad_file", f"The mimeType of {given.name!r} is not one: it has the form type/subtype.")
    data = _data(given)
    if len(data) > LARGEST_FILE:
        raise TooLarge(
            "file_too_large",
            f"{given.name!r} has {len(data)} bytes and the limit is {LARGEST_FILE}. "
            "Put it into the session's folder and name it there.",
            limit=LARGEST_FILE,
        )
    picture = image_type(data)
    if picture is None and (is_image_type(said) or as_text(data) is None):
        raise Invalid(
            "bad_file",
            f"{given.name!r} is neither a picture (PNG, JPEG, GIF, WebP) nor text in UTF-8. "
            "Put it into the session's folder and name it there.",
        )
    kind = picture or text_type(given.name, said)
    return File(new_id(), given.name, kind, len(data), base64.b64encode(data).decode())


def _data(given: NewFile) -> bytes:
    if (given.text is None) == (given.data is None):
        raise Invalid("bad_file", f"{given.name!r} needs either `text` or `data` (base64).")
    try:
        if given.text is not None:
            return given.text.encode()
        return base64.b64decode(given.data or "", validate=True)
    except UnicodeEncodeError:
        raise Invalid("text_not_unicode", "Text must not contain lone surrogates.") from None
    except (binascii.Error, ValueError):
        raise Invalid("bad_file", f"The data of {given.name!r} is not base64.") from None


async def keep(change: Change, task_id: str, files: Sequence[File]) -> None:
    """Stores the files of a prompt, in the transaction that stores it."""
    for position, one in enumerate(files):
        await change.tx.run(
            FILES.add,
            id=one.id,
            task_id=task_id,
            position=position,
            name=one.name,
            mime_type=one.mime_type,
            size=one.size,
            data=one.data,
            now=change.now,
        )


async def of_task(tx: Tx, task_id: str) -> list[File]:
    return await tx.all(FILES.of_task, File, task_id=task_id)


async def infos(tx: Tx, task_id: str) -> list[FileInfo]:
    return await tx.all(FILES.infos, FileInfo, task_id=task_id)


async def beginnings(tx: Tx, task_id: str, characters: int) -> dict[str, str]:
    """How the texts of a prompt begin, by their ids: so many characters of each at least if it has them. Neither the
    rest nor any picture is read."""
    # A character has at most four bytes, and four signs of base64 are three of them.
    signs = (characters * 4 // 3 + 1) * 4
    found = await tx.all(FILES.beginnings, tuple[str, str], task_id=task_id, signs=signs, images=IMAGES)
    return {id: base64.b64decode(data).decode(errors="ignore") for id, data in found}
