"""Reads requests that change some fields of a record."""

from __future__ import annotations

from typing import Any

import msgspec

from bough.errors import Invalid


def changed_fields(patch: msgspec.Struct) -> dict[str, Any]:
    """Returns the fields that a patch has, by name. Raises `Invalid` if it has none."""
    changes = {name: value for name, value in msgspec.structs.asdict(patch).items() if value is not msgspec.UNSET}
    if not changes:
        raise Invalid("nothing_to_change", "Give at least one field to change.")
    return changes
