"""Parses search queries (words, "phrases", -exclusions and prefixes*) from any text, and spells them for each
database."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from bough.core.search.words import of_session, words

# Further terms and words of a query are ignored.
MOST_TERMS = 16
MOST_WORDS = 64

_TERM = re.compile(r'(?P<minus>-(?!-))?(?:["“”](?P<phrase>[^"“”]*)["“”]?|(?P<word>[^\s"“”]+))(?P<star>\*)?')


class Term(msgspec.Struct, frozen=True):
    """Consecutive words; the last one may be a prefix."""

    words: tuple[str, ...]
    prefix: bool = False

    @property
    def pattern(self) -> str:
        """The LIKE pattern of indexed words that contain the term."""
        return f"% {' '.join(self.words)}{'%' if self.prefix else ' %'}"


class ParsedQuery(msgspec.Struct, frozen=True):
    """A parsed query: all of `required` and none of `excluded`."""

    required: tuple[Term, ...]
    excluded: tuple[Term, ...]


class SqlQuery(msgspec.Struct, frozen=True):
    """A query in the SQL of one database: its condition, its score and its parameters."""

    match: str
    score: str
    params: dict[str, Any]


def parse(text: str) -> ParsedQuery:
    """Parses a query. If it has only exclusions, they are searched for: somebody looks for a program's option."""
    required: list[Term] = []
    excluded: list[Term] = []
    room = MOST_WORDS
    for match in _TERM.finditer(text):
        raw: str = match["phrase"] if match["phrase"] is not None else match["word"]
        term = tuple(words(raw)[:room])
        if not term or len(required) + len(excluded) == MOST_TERMS:
            continue
        room -= len(term)
        prefix = match["star"] is not None or (match["phrase"] is None and raw.endswith("*"))
        (excluded if match["minus"] else required).append(Term(term, prefix))
    return ParsedQuery(tuple(required), tuple(excluded)) if required else ParsedQuery(tuple(excluded), ())


def to_sql(parsed: ParsedQuery, dialect: str, session_id: str | None = None) -> SqlQuery:
    """Returns a query as a condition on `search_index`. Words are letters and digits, so nothing needs escaping."""
    if session_id is not None:
        parsed = ParsedQuery((*parsed.required, Term((of_session(session_id),))), parsed.excluded)
    return _for_sqlite(parsed) if dialect == "sqlite" else _for_postgres(parsed)


def _for_sqlite(parsed: ParsedQuery) -> SqlQuery:
    def spell(term: Term) -> str:
        return f'"{" ".join(term.words)}"{" *" if term.prefix else ""}'

    query = f"({' AND '.join(map(spell, parsed.required))}){''.join(f' NOT {spell(term)}' for term in parsed.excluded)}"
    return SqlQuery("search_index MATCH :query", "-bm25(search_index)", {"query": query})


def _for_postgres(parsed: ParsedQuery) -> SqlQuery:
    """Matches words by the index; phrases also by the text, since the index limits the positions of words."""

    def spell(term: Term) -> str:
        return " & ".join(f"'{word}'" for word in term.words) + (":*" if term.prefix else "")

    query = [spell(term) for term in parsed.required]
    query += [f"!{spell(term)}" for term in parsed.excluded if len(term.words) == 1]
    match = ["search_index.vector @@ CAST(CAST(:query AS TEXT) AS TSQUERY)"]
    params: dict[str, Any] = {"query": " & ".join(query)}
    for terms, like in ((parsed.required, "LIKE"), (parsed.excluded, "NOT LIKE")):
        for term in terms:
            if len(term.words) > 1:
                name = f"phrase_{len(params)}"
                match.append(f"search_index.words {like} :{name}")
                params[name] = term.pattern
    return SqlQuery(" AND ".join(match), "search_index.vector", params)
