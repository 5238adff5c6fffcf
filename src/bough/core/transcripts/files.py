"""Validates and stores the files attached to a prompt, in the prompt's transaction, and reads them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence

import msgspec

from bough.core.store.short_ids import find
from bough.core.store.sql import FILES
from bough.core.store.transactions import Change, Store
from bough.errors import Invalid, TooLarge
from bough.model.file import LARGEST_FILE, LONGEST_NAME, MOST_FILES, File, FileInfo, is_plain_name
from bough.model.values.file_type import IMAGES, MIME_TYPE, as_text, image_type, is_image_type, text_type
from bough.model.values.ids import new_id
from bough.storage.backend import Tx


class NewFile(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A file attached to a prompt: an image (PNG, JPEG, GIF, WebP) or text. Give `text`, or `data` as base64."""

    name: str
    mime_type: str | None = None
    text: str | None = None
    data: str | None = None


NewFiles = list[NewFile] | msgspec.UnsetType


class Files:
    """Reads stored files."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def get(self, file_id: str) -> File:
        return await self._store.read(lambda tx: find(tx, "files", file_id, FILES.get, File))


def checked(files: NewFiles, prompt: str | None) -> list[File]:
    """Validates files and gives them ids."""
    if not files:
        return []
    if prompt is None:
        raise Invalid("bad_file", "Files need a prompt: say what the agent should do with them.")
    if len(files) > MOST_FILES:
        raise Invalid("too_many_files", f"A prompt may have at most {MOST_FILES} files.", limit=MOST_FILES)
    return [_checked(file) for file in files]


def _checked(new: NewFile) -> File:
    if not is_plain_name(new.name):
        raise Invalid(
            "bad_file",
            f"A file name may have at most {LONGEST_NAME} characters, no folders and no invisible characters.",
        )
    # A browser that does not know the type leaves it empty.
    declared = (new.mime_type or "").lower().split(";")[0].strip() or None
    if declared is not None and not MIME_TYPE.fullmatch(declared):
        raise Invalid("bad_file", f"The mimeType of {new.name!r} is invalid. Use the form type/subtype.")
    data = _data(new)
    if len(data) > LARGEST_FILE:
        raise TooLarge(
            "file_too_large",
            f"{new.name!r} has {len(data)} bytes and the limit is {LARGEST_FILE}. "
            "Put it into the session's folder and mention its path.",
            limit=LARGEST_FILE,
        )
    picture = image_type(data)
    if picture is None and (is_image_type(declared) or as_text(data) is None):
        raise Invalid(
            "bad_file",
            f"{new.name!r} is neither an image (PNG, JPEG, GIF, WebP) nor UTF-8 text. "
            "Put it into the session's folder and mention its path.",
        )
    kind = picture or text_type(new.name, declared)
    return File(new_id(), new.name, kind, len(data), base64.b64encode(data).decode())


def _data(new: NewFile) -> bytes:
    if (new.text is None) == (new.data is None):
        raise Invalid("bad_file", f"{new.name!r} needs either `text` or `data` (base64).")
    try:
        if new.text is not None:
            return new.text.encode()
        return base64.b64decode(new.data or "", validate=True)
    except UnicodeEncodeError:
        raise Invalid("text_not_unicode", "Text must not contain lone surrogates.") from None
    except (binascii.Error, ValueError):
        raise Invalid("bad_file", f"The data of {new.name!r} is not base64.") from None


async def store(change: Change, task_id: str, files: Sequence[File]) -> None:
    """Stores a prompt's files in the prompt's transaction."""
    for position, file in enumerate(files):
        await change.tx.run(
            FILES.add,
            id=file.id,
            task_id=task_id,
            position=position,
            name=file.name,
            mime_type=file.mime_type,
            size=file.size,
            data=file.data,
            now=change.now,
        )


async def of_task(tx: Tx, task_id: str) -> list[File]:
    return await tx.all(FILES.of_task, File, task_id=task_id)


async def infos(tx: Tx, task_id: str) -> list[FileInfo]:
    return await tx.all(FILES.infos, FileInfo, task_id=task_id)


async def beginnings(tx: Tx, task_id: str, characters: int) -> dict[str, str]:
    """Returns the first characters of a prompt's text files, by id, without reading the rest or any image."""
    # A character has at most four bytes, and three bytes take four characters of base64.
    signs = (characters * 4 // 3 + 1) * 4
    rows = await tx.all(FILES.beginnings, tuple[str, str], task_id=task_id, signs=signs, images=IMAGES)
    return {id: base64.b64decode(data).decode(errors="ignore") for id, data in rows}
