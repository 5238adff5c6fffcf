"""Checks where work may happen (W3): every path is resolved, including links and `..`, and must be inside the workspace
root and outside Bough's data folder."""

from __future__ import annotations

import os
from pathlib import Path

import structlog

from bough.errors import Conflict, Denied, Invalid

log = structlog.get_logger("bough.security")

# Linux refuses longer paths anyway; checking first gives a clearer message.
LONGEST_PATH = 4096


def resolve_inside(root: Path, path: str, *, data: Path, noun: str = "path") -> Path:
    """Returns the real folder at `path`. Raises `Invalid` if there is none; raises `Denied` and logs it if the folder
    is outside `root` or inside the `data` folder. A folder that contains the data folder is allowed."""
    _check_text(path, noun)
    expanded = os.path.expanduser(path)
    if not os.path.isabs(expanded):
        raise Invalid("path_not_absolute", f"{path!r} is not an absolute {noun}. Give an absolute one.")
    try:
        inside = Path(os.path.realpath(root))
        real = Path(os.path.realpath(expanded))
        is_folder = real.is_dir()
    except OSError as error:
        raise Invalid("bad_path", f"The {noun} {path[:200]!r} cannot be read: {error.strerror}.") from error
    # Refused before existence is checked, so that nobody can probe the rest of the machine.
    if real != inside and inside not in real.parents:
        raise _escape(
            path,
            real,
            inside,
            f"The {noun} {path!r} is outside the workspace root {inside}. "
            "Start the server with another --workspace-root to allow it.",
        )
    _check_data(path, real, data)
    if not is_folder:
        raise Invalid("path_missing", f"There is no folder {real}.")
    return real


def free_inside(root: Path, folder: Path, path: str, *, data: Path) -> Path:
    """Returns the real path of `path`, relative to `folder`, where nothing exists yet. Refuses like
    `resolve_inside`."""
    _check_text(path, "path")
    expanded = os.path.join(folder, os.path.expanduser(path))
    try:
        inside = Path(os.path.realpath(root))
        taken = os.path.lexists(expanded)
        real = Path(os.path.realpath(expanded))
    except OSError as error:
        raise Invalid("bad_path", f"The path {path[:200]!r} cannot be read: {error.strerror}.") from error
    if inside not in real.parents:
        raise _escape(path, real, inside, f"The path {path!r} is outside the workspace root {inside}.")
    _check_data(path, real, data)
    if taken or os.path.lexists(real):
        raise Conflict("path_exists", f"Something already exists at {real}. Choose another path.", path=str(real))
    return real


def file_inside(folder: Path, path: str, *, data: Path) -> Path:
    """Returns the real file at `path` in `folder`. Refuses like `resolve_inside`."""
    _check_text(path, "file name")
    try:
        inside = Path(os.path.realpath(folder))
        real = Path(os.path.realpath(inside / path))
        is_file = real.is_file()
    except OSError as error:
        raise Invalid("bad_path", f"The file {path[:200]!r} cannot be read: {error.strerror}.") from error
    if real != inside and inside not in real.parents:
        raise _escape(path, real, inside, f"The file {path!r} is outside the session's folder {inside}.")
    _check_data(path, real, data)
    if not is_file:
        raise Invalid("path_missing", f"There is no file {real}.")
    return real


def _check_data(path: str, real: Path, data: Path) -> None:
    """Refuses Bough's data folder, which holds tokens, secrets and the database."""
    data_folder = Path(os.path.realpath(data))
    if real == data_folder or data_folder in real.parents:
        log.warning("path_in_data_folder", given=path, resolved=str(real), data=str(data_folder))
        raise Denied(
            "path_in_data_folder", f"{path!r} is inside Bough's data folder {data_folder}, where no agent may work."
        )


def _check_text(path: str, noun: str) -> None:
    if "\0" in path:
        raise Invalid("bad_path", f"A {noun} cannot contain a NUL character.")
    if not path or len(os.fsencode(path)) > LONGEST_PATH:
        raise Invalid("bad_path", f"A {noun} must have between 1 and {LONGEST_PATH} bytes.")


def _escape(path: str, real: Path, inside: Path, message: str) -> Denied:
    log.warning("path_escape", given=path, resolved=str(real), root=str(inside))
    return Denied("path_outside_root", message)
