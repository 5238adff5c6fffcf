"""Loads named SQL from `.sql` files and turns `:name` parameters into each database's form.

A file holds statements of this form, and `queries.load("sessions").get` is then a `Query`:

-- name: get
-- One session by its id.
SELECT * FROM sessions WHERE id = :id AND status IN :statuses {and_where}"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bough.errors import Internal
from bough.storage import rows
from bough.storage.storable_values import storable

FOLDER = Path(__file__).with_name("queries")

# Both databases stop at about 32,766 parameters; a longer list should be a join or a page anyway.
LIST_MAX = 10_000
# Rows inserted by one statement; more do not lower the time per row.
BULK_MAX = 64

# Whatever matches without a named group (literals, comments, casts) is copied unchanged.
TOKEN = re.compile(
    r"""
      '(?:[^']|'')*' | "(?:[^"]|"")*" | --[^\n]* | /\*.*?\*/ | ::
    | \b(?P<list_head>IN\s+) : (?P<list>[A-Za-z_]\w*)
    | : (?P<name>[A-Za-z_]\w*)
    | \{ (?P<fragment>[A-Za-z_]\w*) \}
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_HEADER = re.compile(r"^--[ \t]*name:[ \t]*(\S+)[ \t]*$", re.MULTILINE)


class _Param(NamedTuple):
    name: str
    is_list: bool


class Statement:
    """One query compiled for one dialect and one set of list lengths, with its row mappers."""

    __slots__ = ("_mappers", "names", "query", "sql")

    def __init__(self, query: str, sql: str, names: Sequence[str]) -> None:
        self.query = query
        self.sql = sql
        self.names = names
        self._mappers: dict[Any, Callable[[Iterable[Any]], list[Any]]] = {}

    def mapper(self, type_: Any, columns: Callable[[], Iterable[str]]) -> Callable[[Iterable[Any]], list[Any]]:
        """Returns the function from raw rows to `type_`; `columns` is called only the first time."""
        mapper = self._mappers.get(type_)
        if mapper is None:
            mapper = self._mappers[type_] = rows.mapper(self.query, type_, tuple(columns()))
        return mapper


class Query:
    """One named statement as written."""

    __slots__ = ("_filled", "_fragments", "_lists", "_names", "_parts", "_statements", "doc", "name", "text")

    def __init__(self, name: str, text: str, doc: str) -> None:
        self.name = name
        self.text = text
        self.doc = doc
        self._parts = _parse(text)
        params = [part for part in self._parts if isinstance(part, _Param)]
        self._names = frozenset(param.name for param in params)
        self._lists = tuple(sorted({param.name for param in params if param.is_list}))
        self._fragments = frozenset(
            match["fragment"] for match in TOKEN.finditer(text) if match["fragment"] is not None
        )
        self._statements: dict[Any, Statement] = {}
        self._filled: dict[frozenset[tuple[str, str]], Query] = {}

    def __repr__(self) -> str:
        return f"Query({self.name!r})"

    def with_(self, **fragments: str) -> Query:
        """Fills every `{fragment}` with SQL from trusted code, never from input. The result is cached."""
        key = frozenset(fragments.items())
        filled = self._filled.get(key)
        if filled is None:
            if fragments.keys() != self._fragments:
                raise Internal(
                    "query_fragments",
                    f"Query {self.name} has {_listed(self._fragments)} to fill; given: {_listed(fragments)}.",
                )
            text = TOKEN.sub(lambda match: fragments[match["fragment"]] if match["fragment"] else match[0], self.text)
            filled = self._filled[key] = Query(self.name, text, self.doc)
        return filled

    def setting(self, columns: Iterable[str]) -> Query:
        """Fills `{set}` with an assignment to each column, from the parameter of the same name."""
        return self.with_(set=", ".join(f"{name} = :{name}" for name in columns))

    def bind(self, dialect: str, params: dict[str, Any]) -> tuple[Statement, list[Any]]:
        """Returns the compiled statement and its parameter values in order."""
        if params.keys() != self._names:
            raise Internal(
                "query_parameters",
                f"Query {self.name} takes the parameters {_listed(self._names)}; given: {_listed(params)}.",
            )
        key: Any = dialect
        if self._lists:
            params, lengths = self._expand(params)
            key = (dialect, lengths)
        statement = self._statements.get(key)
        if statement is None:
            lengths = dict(zip(self._lists, key[1], strict=True)) if self._lists else {}
            statement = self._statements[key] = self._compile(dialect, lengths)
        return statement, [storable(params[name], dialect) for name in statement.names]

    def _expand(self, params: dict[str, Any]) -> tuple[dict[str, Any], tuple[int, ...]]:
        """Spreads lists over `name_0 …`, padded with the last value to a power of two, so that fewer statements are
        compiled."""
        flat = dict(params)
        lengths: list[int] = []
        for name in self._lists:
            values: Any = flat.pop(name)
            if not isinstance(values, list | tuple):
                raise Internal("query_parameters", f"Query {self.name} needs a list or tuple for :{name}.")
            items: list[Any] = list(values) or [None]  # type: ignore[reportUnknownArgumentType]
            if len(items) > LIST_MAX:
                raise Internal("query_parameters", f"Query {self.name}: :{name} has more than {LIST_MAX} values.")
            items += [items[-1]] * ((1 << (len(items) - 1).bit_length()) - len(items))
            lengths.append(len(items))
            flat.update((f"{name}_{index}", item) for index, item in enumerate(items))
        return flat, tuple(lengths)

    def _compile(self, dialect: str, lengths: dict[str, int]) -> Statement:
        if self._fragments:
            raise Internal("query_fragments", f"Query {self.name}: fill {_listed(self._fragments)} by with_() first.")
        names: list[str] = []

        def mark(name: str) -> str:
            if dialect == "sqlite":
                names.append(name)
                return "?"
            if name not in names:
                names.append(name)
            return f"${names.index(name) + 1}"

        def spell(part: str | _Param) -> str:
            if isinstance(part, str):
                return part
            if not part.is_list:
                return mark(part.name)
            return f"({', '.join(mark(f'{part.name}_{index}') for index in range(lengths[part.name]))})"

        return Statement(self.name, "".join(map(spell, self._parts)), names)


class QuerySet:
    """The queries of one file, as attributes."""

    def __init__(self, source: str, queries: dict[str, Query]) -> None:
        self.__dict__.update(queries)
        self._source = source
        self._queries = queries

    def __getattr__(self, name: str) -> Query:
        known = ", ".join(sorted(self.__dict__.get("_queries", {})))
        raise AttributeError(f"{self.__dict__.get('_source')} has no query {name!r}; it has: {known}")

    def __iter__(self) -> Iterator[Query]:
        return iter(self._queries.values())


def in_bulk(query: Query, rows: Sequence[dict[str, Any]]) -> Iterator[tuple[Query, dict[str, Any]]]:
    """Fills the `{rows}` of an `INSERT … VALUES {rows}` in chunks of powers of two, so that fewer statements are
    compiled."""
    start = 0
    while start < len(rows):
        size = min(BULK_MAX, 1 << ((len(rows) - start).bit_length() - 1))
        part = rows[start : start + size]
        marks = ", ".join(f"({', '.join(f':{name}_{index}' for name in part[0])})" for index in range(size))
        yield (
            query.with_(rows=marks),
            {f"{name}_{index}": value for index, row in enumerate(part) for name, value in row.items()},
        )
        start += size


def load(name: str, folder: Path | str = FOLDER) -> QuerySet:
    """Reads `FOLDER/NAME.sql`."""
    source = f"{name}.sql"
    parts = _HEADER.split((Path(folder) / source).read_text(encoding="utf-8"))
    if any(line.strip() and not line.startswith("--") for line in parts[0].splitlines()):
        raise Internal("query_file", f"{source}: SQL before the first '-- name:' line.")
    queries: dict[str, Query] = {}
    for query, body in zip(parts[1::2], parts[2::2], strict=True):
        if query in queries or not query.isidentifier() or query.startswith("_"):
            raise Internal("query_file", f"{source}: {query!r} is used twice or is not a usable name.")
        lines = body.strip().splitlines()
        count = next((index for index, line in enumerate(lines) if not line.startswith("--")), len(lines))
        doc = " ".join(line.removeprefix("--").strip() for line in lines[:count])
        text = "\n".join(lines[count:]).strip().rstrip(";").rstrip()
        if not doc or not text:
            raise Internal("query_file", f"{source}: {query} needs a sentence in '--' lines and then a statement.")
        queries[query] = Query(query, text, doc)
    return QuerySet(source, queries)


def _parse(text: str) -> list[str | _Param]:
    parts: list[str | _Param] = []
    end = 0
    for match in TOKEN.finditer(text):
        name, in_list = match["name"], match["list"]
        if name is None and in_list is None:
            continue
        parts.append(text[end : match.start()] + (match["list_head"] or ""))
        parts.append(_Param(name or in_list, in_list is not None))
        end = match.end()
    parts.append(text[end:])
    return parts


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"
