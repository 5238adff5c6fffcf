"""Decodes structs from stored JSON, including those with raw fields."""

from __future__ import annotations

from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

import msgspec


def decoded(data: bytes, kind: Any) -> Any:
    """Decodes a stored value. Structs are decoded field by field, because msgspec cannot decode `Raw | None`."""
    either = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    kinds = [option for option in either if option is not NoneType]
    if data == b"null" and len(kinds) < len(either):
        return None
    if msgspec.Raw in kinds:
        return msgspec.Raw(data)
    if len(kinds) > 1 or not isinstance(kinds[0], type) or not issubclass(kinds[0], msgspec.Struct):
        return msgspec.json.decode(data, type=kind)
    values = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    fields = msgspec.structs.fields(kinds[0])
    return kinds[0](
        **{
            field.name: decoded(bytes(values[field.encode_name]), field.type)
            for field in fields
            if field.encode_name in values
        }
    )
