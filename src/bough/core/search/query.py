"""Owns what people may ask for: words, "phrases", -exclusions and beginnings*, read from any text and spelled for each
database. Running it is `search`'s part."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from bough.core.search.words import of_session, words

# More than anybody types; what is beyond is not looked for.
MOST_TERMS = 16
MOST_WORDS = 64

_TERM = re.compile(r'(?P<minus>-(?!-))?(?:["“”](?P<phrase>[^"“”]*)["“”]?|(?P<word>[^\s"“”]+))(?P<star>\*)?')


class Term(msgspec.Struct, frozen=True):
    """Words that stand in a row; of the last one perhaps only the beginning."""

    words: tuple[str, ...]
    prefix: bool = False

    @property
    def pattern(self) -> str:
        """What indexed words look like that hold it."""
        return f"% {' '.join(self.words)}{'%' if self.prefix else ' %'}"


class Asked(msgspec.Struct, frozen=True):
    """All of `wanted` and none of `unwanted`."""

    wanted: tuple[Term, ...]
    unwanted: tuple[Term, ...]


class Spelled(msgspec.Struct, frozen=True):
    """A question in the words of one database: how a row is known to match, what it scores, and the parameters."""

    match: str
    score: str
    params: dict[str, Any]


def read(text: str) -> Asked:
    """What a text asks for. Exclusions alone are no question: somebody looks for an option of a program."""
    wanted: list[Term] = []
    unwanted: list[Term] = []
    room = MOST_WORDS
    for match in _TERM.finditer(text):
        raw: str = match["phrase"] if match["phrase"] is not None else match["word"]
        found = tuple(words(raw)[:room])
        if not found or len(wanted) + len(unwanted) == MOST_TERMS:
            continue
        room -= len(found)
        prefix = match["star"] is not None or (match["phrase"] is None and raw.endswith("*"))
        (unwanted if match["minus"] else wanted).append(Term(found, prefix))
    return Asked(tuple(wanted), tuple(unwanted)) if wanted else Asked(tuple(unwanted), ())


def spelled(asked: Asked, dialect: str, session_id: str | None = None) -> Spelled:
    """The question as a condition on `search_index`. Words are letters and digits alone, so nothing needs escaping."""
    if session_id is not None:
        asked = Asked((*asked.wanted, Term((of_session(session_id),))), asked.unwanted)
    return _for_sqlite(asked) if dialect == "sqlite" else _for_postgres(asked)


def _for_sqlite(asked: Asked) -> Spelled:
    def one(term: Term) -> str:
        return f'"{" ".join(term.words)}"{" *" if term.prefix else ""}'

    query = f"({' AND '.join(map(one, asked.wanted))}){''.join(f' NOT {one(term)}' for term in asked.unwanted)}"
    return Spelled("search_index MATCH :query", "-bm25(search_index)", {"query": query})


def _for_postgres(asked: Asked) -> Spelled:
    """Words by the index; phrases by their words, and then by a look at the text, which has no bounds on places."""

    def one(term: Term) -> str:
        return " & ".join(f"'{word}'" for word in term.words) + (":*" if term.prefix else "")

    query = [one(term) for term in asked.wanted]
    query += [f"!{one(term)}" for term in asked.unwanted if len(term.words) == 1]
    match = ["search_index.vector @@ CAST(CAST(:query AS TEXT) AS TSQUERY)"]
    params: dict[str, Any] = {"query": " & ".join(query)}
    for terms, like in ((asked.wanted, "LIKE"), (asked.unwanted, "NOT LIKE")):
        for term in terms:
            if len(term.words) > 1:
                name = f"phrase_{len(params)}"
                match.append(f"search_index.words {like} :{name}")
                params[name] = term.pattern
    return Spelled(" AND ".join(match), "search_index.vector", params)
