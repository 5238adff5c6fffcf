"""Reads values of settings that have parts: lists of folders, ranges of ports, and database URLs with passwords."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

from bough.errors import Invalid


def path_list(text: str) -> list[str]:
    """Returns the absolute paths of a comma-separated list."""
    return [os.path.abspath(os.path.expanduser(path.strip())) for path in text.split(",") if path.strip()]


def port_range(text: str) -> tuple[int, int]:
    """Returns the first and the last port of a range. Raises ValueError unless it has room for a block."""
    low, _, high = text.partition("-")
    first, last = int(low), int(high)
    if not 1024 <= first <= last - 9 <= 65526:
        raise ValueError(f"{text} is not a range of at least ten ports from 1024 to 65535")
    return first, last


def with_password_file(url: str, file: str) -> str:
    """Returns a database URL with the password in a file, if there is one. Raises `Invalid` if it cannot be read."""
    if not file or "://" not in url:
        return url
    path = Path(file).expanduser()
    try:
        password = path.read_text("utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid("bad_setting", f"database_password_file: cannot read {path}: {error}") from error
    return with_password(url, password)


def with_password(url: str, password: str) -> str:
    """Returns a database URL with this password."""
    parts = urlsplit(url)
    login, at, place = parts.netloc.rpartition("@")
    user = login.partition(":")[0] if at else ""
    return urlunsplit(parts._replace(netloc=f"{user}:{quote(password, safe='')}@{place}"))


def has_password(url: str) -> bool:
    """Returns whether a database URL contains a password."""
    return re.search(r"://[^/?#]*:[^/?#]*@|[?&]password=", url) is not None
