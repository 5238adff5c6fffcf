"""Owns what a word is to the search, the same for texts, queries and both databases: letters and digits without case
and accents. Which texts there are is `search_text`'s part, and what is asked `search_query`'s."""

from __future__ import annotations

import re
import unicodedata

# A word longer than this (hashes, encoded files) counts as several: neither index then has words that the other drops.
LONGEST_WORD = 64
# What is left of a text that is folded, in bytes: far below what PostgreSQL takes as one vector.
LARGEST_WORDS = 256 * 1024
# PostgreSQL's own bounds for the places of a word; they only count for ranking.
LAST_PLACE = 16_383
MOST_PLACES = 255

# Accents and points that are put onto letters.
_MARKS = re.compile(
    "[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
)
# Scripts that are written without spaces; each sign is a word, and several in a row are looked for as a phrase.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)


class _Folds(dict[int, str]):
    """What each character becomes, worked out when it is first met."""

    def __missing__(self, code: int) -> str:
        text = _MARKS.sub("", unicodedata.normalize("NFKD", chr(code))).casefold()
        text = unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFKD", text)))
        folded = self[code] = "".join(map(_spaced, text))
        return folded


def _spaced(character: str) -> str:
    if character.isalnum() and _UNSPACED.match(character):
        return f" {character} "
    return character if character.isalnum() else " "


_FOLDS = _Folds()


def composed(text: str) -> str:
    """The same text in the form whose characters `folded` and `placed` look at one by one."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def folded(text: str) -> str:
    """A text as words that are parted by spaces; what is not part of a word is a space."""
    return composed(text).translate(_FOLDS)


def placed(text: str) -> tuple[str, list[int] | None]:
    """A composed text folded, and the place in it of each character of the folded one; None if they are the same."""
    if text.isascii():
        return text.translate(_FOLDS), None
    parts = [_FOLDS[ord(character)] for character in text]
    return "".join(parts), [place for place, part in enumerate(parts) for _ in part]


def words(text: str) -> list[str]:
    """The words of a text in order."""
    found = folded(text).split()
    if any(len(word) > LONGEST_WORD for word in found):
        return [word[at : at + LONGEST_WORD] for word in found for at in range(0, len(word), LONGEST_WORD)]
    return found


def indexed(text: str) -> str:
    """The words of a text as they stand in the index: a space before and after each, so that phrases can be found."""
    joined = f" {' '.join(words(text))} "
    if len(joined) * 4 > LARGEST_WORDS and len(data := joined.encode()) > LARGEST_WORDS:
        joined = f"{data[:LARGEST_WORDS].decode('utf-8', 'ignore').rpartition(' ')[0]} "
    return joined


def of_session(session_id: str) -> str:
    """A word that all entries of a session have and nobody can ask for: it is not made of letters and digits alone."""
    return f"§{session_id.replace('-', '')}"


def vector(text: str) -> str:
    """Indexed words as PostgreSQL reads a vector: each with its places."""
    places: dict[str, list[str]] = {}
    for place, word in enumerate(text.split(), 1):
        at = places.setdefault(word, [])
        if len(at) < MOST_PLACES:
            at.append(str(min(place, LAST_PLACE)))
    return " ".join(f"'{word}':{','.join(at)}" for word, at in places.items())
