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


def resolve_inside(root: Path, given: str, *, data: Path, what: str = "path") -> Path:
    """Returns the real folder at `given`. Raises `Invalid` if there is none; raises `Denied` and logs it if the folder
    is outside `root` or inside the `data` folder. A folder that contains the data folder is allowed."""
    _check_text(given, what)
    expanded = os.path.expanduser(given)
    if not os.path.isabs(expanded):
        raise Invalid("path_not_absolute", f"{given!r} is not an absolute {what}.")
    try:
        inside = Path(os.path.realpath(root))
        real = Path(os.path.realpath(expanded))
        is_folder = real.is_dir()
    except OSError as error:
        raise Invalid("bad_path", f"The {what} {given[:200]!r} cannot be read: {error.strerror}.") from error
    # Refused before existence is checked, so that nobody can probe the rest of the machine.
    if real != inside and inside not in real.parents:
        raise _escape(
            given,
            real,
            inside,
            f"The {what} {given!r} is outside the workspace root {inside}. "
            "Start the server with another --workspace-root to allow it.",
        )
    _check_data(given, real, data)
    if not is_folder:
        raise Invalid("path_missing", f"There is no folder {real}.")
    return real


def free_inside(root: Path, folder: Path, given: str, *, data: Path) -> Path:
    """Returns the real path of `given`, relative to `folder`, where nothing exists yet. Refuses like
    `resolve_inside`."""
    _check_text(given, "path")
    expanded = os.path.join(folder, os.path.expanduser(given))
    try:
        inside = Path(os.path.realpath(root))
        taken = os.path.lexists(expanded)
        real = Path(os.path.realpath(expanded))
    except OSError as error:
        raise Invalid("bad_path", f"The path {given[:200]!r} cannot be read: {error.strerror}.") from error
    if inside not in real.parents:
        raise _escape(given, real, inside, f"The path {given!r} is outside the workspace root {inside}.")
    _check_data(given, real, data)
    if taken or os.path.lexists(real):
        raise Conflict("path_exists", f"Something already exists at {real}. Choose another path.", path=str(real))
    return real


def file_inside(folder: Path, given: str, *, data: Path) -> Path:
    """Returns the real file at `given` in `folder`. Refuses like `resolve_inside`."""
    _check_text(given, "file name")
    try:
        inside = Path(os.path.realpath(folder))
        real = Path(os.path.realpath(inside / given))
        is_file = real.is_file()
    except OSError as error:
        raise Invalid("bad_path", f"The file {given[:200]!r} cannot be read: {error.strerror}.") from error
    if real != inside and inside not in real.parents:
        raise _escape(given, real, inside, f"The file {given!r} is outside the session's folder {inside}.")
    _check_data(given, real, data)
    if not is_file:
        raise Invalid("path_missing", f"There is no file {real}.")
    return real


def _check_data(given: str, real: Path, data: Path) -> None:
    """Refuses Bough's data folder, which holds tokens, secrets and the database."""
    kept = Path(os.path.realpath(data))
    if real == kept or kept in real.parents:
        log.warning("path_in_data_folder", given=given, resolved=str(real), data=str(kept))
        raise Denied("path_in_data_folder", f"{given!r} is inside Bough's data folder {kept}, where no agent may work.")


def _check_text(given: str, what: str) -> None:
    if "\0" in given:
        raise Invalid("bad_path", f"A {what} cannot contain a NUL character.")
    if not given or len(os.fsencode(given)) > LONGEST_PATH:
        raise Invalid("bad_path", f"A {what} must have between 1 and {LONGEST_PATH} bytes.")


def _escape(given: str, real: Path, inside: Path, message: str) -> Denied:
    log.warning("path_escape", given=given, resolved=str(real), root=str(inside))
    return Denied("path_outside_root", message)
