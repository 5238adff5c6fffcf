"""Tests how queries are read and spelled for each database; the contract suite tests what they find."""

from __future__ import annotations

import pytest

from bough.core.search.query import MOST_TERMS, MOST_WORDS, ParsedQuery, Term, parse, to_sql
from bough.core.search.words import LAST_PLACE, LONGEST_WORD, MOST_PLACES, indexed, of_session, vector, words


def spelled(parsed: ParsedQuery) -> str:
    """Writes a parsed query in one line: terms in parentheses, `*` for prefixes, `-` for exclusions."""
    terms = [("", term) for term in parsed.required] + [("-", term) for term in parsed.excluded]
    return " ".join(f"{sign}({' '.join(term.words)}{'*' if term.prefix else ''})" for sign, term in terms)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("fix the bug", "(fix) (the) (bug)"),
        ('"fix the" bug', "(fix the) (bug)"),
        ("“fix the” bug", "(fix the) (bug)"),
        ('bug "fix the', "(bug) (fix the)"),
        ("app.py:42", "(app py 42)"),
        ("test* “read fo”*", "(test*) (read fo*)"),
        ("bug -test -“two words”", "(bug) -(test) -(two words)"),
        ("run --dry-run", "(run) (dry run)"),
        ("-v", "(v)"),
        ("-v -x", "(v) (x)"),
        ("Crème -BRÛLÉE", "(creme) -(brulee)"),
        ("会话", "(会 话)"),
        ('- "" * … §', ""),
        ("", ""),
    ],
)
def test_queries(text: str, read: str) -> None:
    """A2: A query has words, phrases, prefixes and exclusions; one of exclusions alone searches for them."""
    assert spelled(parse(text)) == read


def test_long_queries() -> None:
    """A2: Further terms and words of a long query are ignored."""
    assert len(parse(" ".join(f"w{number}" for number in range(100))).required) == MOST_TERMS
    (term,) = parse('"' + "word " * 100 + '"').required
    assert len(term.words) == MOST_WORDS
    assert spelled(parse('"' + "word " * MOST_WORDS + '" more')) == f"({' '.join(['word'] * MOST_WORDS)})"


def test_sql() -> None:
    """A2: Each database gets a query in its own notation; PostgreSQL looks phrases up in the text, because its index
    has no room for all positions."""
    parsed = parse('fix "two words" te* -old -"not this"')
    sqlite = to_sql(parsed, "sqlite")
    assert sqlite.params == {"query": '("fix" AND "two words" AND "te" *) NOT "old" NOT "not this"'}
    postgres = to_sql(parsed, "postgres")
    assert postgres.params == {
        "query": "'fix' & 'two' & 'words' & 'te':* & !'old'",
        "phrase_1": "% two words %",
        "phrase_2": "% not this %",
    }
    assert postgres.match.endswith("words LIKE :phrase_1 AND search_index.words NOT LIKE :phrase_2")
    assert Term(("two", "wo"), prefix=True).pattern == "% two wo%"


def test_a_session_is_one_more_word() -> None:
    """A2: A search within a session requires a word that all its entries have and that nobody can type."""
    session_id = "01a1e01a-0000-7000-8000-000000000000"
    word = of_session(session_id)
    assert to_sql(parse("fix"), "sqlite", session_id).params == {"query": f'("fix" AND "{word}")'}
    assert spelled(parse(word)) == "(01a1e01a000070008000000000000000)"


def test_words_are_split_the_same_way_everywhere() -> None:
    """A2: Words are letters and digits without case and accents; long ones and scripts without spaces are split."""
    assert words("Straße_42 re\u0301sume\u0301, naïve!") == ["strasse", "42", "resume", "naive"]
    assert words("タワー") == ["タ", "ワ", "ー"]
    assert [len(word) for word in words("a" * (2 * LONGEST_WORD + 1))] == [LONGEST_WORD, LONGEST_WORD, 1]
    assert indexed("one, two") == " one two "


def test_positions_stay_within_the_databases_limits() -> None:
    """A2: A word that repeats, or that is far from the beginning, keeps positions that PostgreSQL accepts."""
    assert vector(" b a b ") == "'b':1,3 'a':2"
    repeated = vector("echo " * (MOST_PLACES + 10))
    assert repeated.count(",") == MOST_PLACES - 1
    assert vector("w " * LAST_PLACE + "far").endswith(f"'far':{LAST_PLACE}")
