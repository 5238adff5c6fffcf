"""Maps database rows to `msgspec.Struct`s or tuples; the mapping is computed once per statement and type."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, get_args, get_origin

import msgspec
from msgspec import inspect as types

from bough.errors import Internal

Fix = Callable[[Any], Any]

_PLAIN = (types.StrType, types.IntType, types.LiteralType, types.AnyType)


def mapper(query: str, type_: Any, columns: tuple[str, ...]) -> Callable[[Iterable[Any]], list[Any]]:
    """Returns the function from rows with these columns to values of `type_`, or raises with the reason."""
    if type_ is tuple or get_origin(type_) is tuple:
        return _tuples(query, get_args(type_), columns)
    if isinstance(type_, type) and issubclass(type_, msgspec.Struct):
        return _structs(query, type_, columns)
    raise _refuse(query, f"rows become msgspec structs or tuples, not {type_!r}")


def _tuples(query: str, args: tuple[Any, ...], columns: tuple[str, ...]) -> Callable[[Iterable[Any]], list[Any]]:
    if not args:
        return lambda rows: [tuple(row) for row in rows]
    if len(args) == 2 and args[1] is Ellipsis:
        args = (args[0],) * len(columns)
    if len(args) != len(columns):
        raise _refuse(query, f"the tuple has {len(args)} items, the row has {len(columns)}: {', '.join(columns)}")
    fixes = _fixes(query, list(zip(columns, args, strict=True)))
    if not fixes:
        return lambda rows: [tuple(row) for row in rows]
    return lambda rows: [tuple(_fixed(list(row), fixes)) for row in rows]


def _structs(
    query: str, struct: type[msgspec.Struct], columns: tuple[str, ...]
) -> Callable[[Iterable[Any]], list[Any]]:
    leaves = _leaves(struct)
    names = [name for name, _ in leaves]
    fields = dict(leaves)
    extra = [name for name in columns if name not in fields]
    missing = [name for name, field in fields.items() if field.required and name not in columns]
    repeated = sorted({name for name in (*columns, *names) if columns.count(name) > 1 or names.count(name) > 1})
    if extra or missing or repeated:
        raise _refuse(
            query,
            f"columns and {struct.__name__} differ; not in the struct: {extra}; not selected: {missing}; "
            f"repeated: {repeated}",
        )
    fixes = {name: _fix(query, name, field.type) for name, field in fields.items() if name in columns}
    if tuple(inspect.signature(struct).parameters)[: len(columns)] == columns and not any(fixes.values()):
        return lambda rows: [struct(*row) for row in rows]
    return _compiled(struct, columns, fixes)


def _nested(type_: Any) -> tuple[type[msgspec.Struct], bool] | None:
    """Returns the struct that a field holds, and whether it may be None; None for a field that is a column itself."""
    info = types.type_info(type_)
    kinds = [kind for kind in getattr(info, "types", [info]) if not isinstance(kind, types.NoneType)]
    if len(kinds) == 1 and isinstance(kinds[0], types.StructType):
        return kinds[0].cls, not isinstance(info, types.StructType)
    return None


def _leaves(struct: type[msgspec.Struct]) -> list[tuple[str, msgspec.structs.FieldInfo]]:
    """Lists the fields that columns fill; a struct inside a struct takes its columns from the same row."""
    leaves: list[tuple[str, msgspec.structs.FieldInfo]] = []
    for field in msgspec.structs.fields(struct):
        nested = _nested(field.type)
        leaves += [(field.name, field)] if nested is None else _leaves(nested[0])
    return leaves


def _compiled(
    struct: type[msgspec.Struct], columns: tuple[str, ...], fixes: dict[str, Fix | None]
) -> Callable[[Iterable[Any]], list[Any]]:
    """Generates the mapping code for these columns, which takes a third of the time of a loop."""
    names: dict[str, Any] = {"Raw": msgspec.Raw, **{f"fix_{name}": fix for name, fix in fixes.items()}}

    def column(name: str) -> str:
        value = f"c{columns.index(name)}"
        fix = fixes[name]
        if fix is None:
            return value
        if fix is _raw:
            return f"(Raw({value}) if {value}.__class__ is str else None if {value} is None else fix_{name}({value}))"
        return f"(None if {value} is None else fix_{name}({value}))"

    def built(kind: type[msgspec.Struct]) -> str:
        """Spells the call that makes a struct: leading fields by position, which is faster, and the others by name."""
        arguments: list[str] = []
        leading = True
        keyword_only = {
            name
            for name, parameter in inspect.signature(kind).parameters.items()
            if parameter.kind is parameter.KEYWORD_ONLY
        }
        for field in msgspec.structs.fields(kind):
            nested = _nested(field.type)
            if nested is None and field.name not in columns:
                leading = False
                continue
            value = column(field.name) if nested is None else optional(*nested)
            leading = leading and field.name not in keyword_only
            arguments.append(value if leading else f"{field.name}={value}")
        name = f"struct_{len(names)}"
        names[name] = kind
        return f"{name}({', '.join(arguments)})"

    def optional(kind: type[msgspec.Struct], may_be_none: bool) -> str:
        first = _leaves(kind)[0][0]
        if may_be_none and first not in columns:
            return "None"
        return f"(None if c{columns.index(first)} is None else {built(kind)})" if may_be_none else built(kind)

    row = "".join(f"c{index}, " for index in range(len(columns)))
    call = built(struct)
    return eval(f"lambda found: [{call} for {row} in found]", names)


def _fixed(values: list[Any], fixes: list[tuple[int, Fix]]) -> list[Any]:
    for index, fix in fixes:
        value = values[index]
        if value is not None:
            values[index] = fix(value)
    return values


def _fixes(query: str, fields: list[tuple[str, Any]]) -> list[tuple[int, Fix]]:
    conversions = ((index, _fix(query, name, type_)) for index, (name, type_) in enumerate(fields))
    return [(index, fix) for index, fix in conversions if fix is not None]


def _fix(query: str, name: str, type_: Any) -> Fix | None:
    """Returns the conversion from a driver's value to the field's type: SQLite has no booleans, and JSON arrives as
    text."""
    info = types.type_info(type_)
    kinds = [kind for kind in getattr(info, "types", [info]) if not isinstance(kind, types.NoneType)]
    if all(isinstance(kind, _PLAIN) for kind in kinds):
        return None
    if len(kinds) == 1:
        kind = kinds[0]
        if isinstance(kind, types.BoolType):
            return bool
        if isinstance(kind, types.FloatType):
            return float  # SQLite gives the integer 0 for COALESCE(SUM(cost), 0)
        if isinstance(kind, types.RawType):
            return _raw
        if isinstance(kind, types.EnumType):
            return kind.cls
    raise _refuse(query, f"a column cannot fill the field {name} of type {type_!r}")


def _raw(value: Any) -> msgspec.Raw:
    if isinstance(value, str | bytes):
        return msgspec.Raw(value)
    return msgspec.Raw(msgspec.json.encode(value))  # a number that came in as plain text (see values)


def _refuse(query: str, why: str) -> Internal:
    return Internal("row_mapping", f"Query {query}: {why}.")
