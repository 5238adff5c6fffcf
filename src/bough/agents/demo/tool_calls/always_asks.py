"""Tells when the demo agent asks although its mode would not: it leaves protected paths to its client's policy. The
check is coarse, because the client looks closely."""

import os
import re

from bough.agents.file_name_patterns import folded, named_pattern

_PIECES = re.compile(r"[\s;&|<>()`=,:'\"\\]+")
# Ways to name the home folder or a folder above.
_BEYOND = re.compile(r"~|\$\{?(?:HOME|XDG_|BOUGH_)|\.\.(?:/|\s|$)")
_REMOVAL = re.compile(r"\b(?:rm|mv|chmod|chown)\b.*\s/", re.DOTALL)


def asks_about_file(path: str, cwd: str, *, unlimited: bool) -> bool:
    """Tells whether writing a file is asked about; `unlimited` in a mode that never asks otherwise."""
    real = os.path.realpath(path)
    if _in_data(real) or unlimited:
        return _in_data(real)
    spelled = os.path.relpath(path, cwd)
    return any(_is_protected(text) for text in (spelled, os.path.relpath(real, os.path.realpath(cwd))))


def asks_about_command(command: str, *, unlimited: bool) -> bool:
    """Tells whether a command is asked about."""
    if _names_data(command) or unlimited:
        return _names_data(command)
    return any(_is_protected(piece) for piece in _PIECES.split(command)) or bool(_BEYOND.search(command))


def _is_protected(path: str) -> bool:
    names = [name for name in folded(path).split("/") if name]
    return bool(names) and (names[-1] == "head" or named_pattern(names) is not None)


def _data() -> str | None:
    """Returns Bough's data folder, if Bough has started this agent."""
    home = os.environ.get("BOUGH_DEMO_HOME")
    return os.path.realpath(os.path.dirname(home)) if home else None


def _in_data(path: str) -> bool:
    data = _data()
    return data is not None and (path == data or path.startswith(f"{data}/"))


def _names_data(command: str) -> bool:
    """Tells whether a command may lead to the data folder."""
    data = _data()
    if data is None:
        return False
    return os.path.basename(data) in command or bool(_BEYOND.search(command) or _REMOVAL.search(command))
