"""Splits text into words, the same way for texts, queries and both databases: letters and digits, without case and
accents."""

from __future__ import annotations

import re
import unicodedata

# A longer word (a hash, an encoded file) counts as several, so that neither index drops it.
LONGEST_WORD = 64
# The most bytes of a folded text that are indexed, far below PostgreSQL's limit for a vector.
LARGEST_WORDS = 256 * 1024
# PostgreSQL's own limits for the positions of a word, which only matter for ranking.
LAST_PLACE = 16_383
MOST_PLACES = 255

# Combining marks, such as accents.
_MARKS = re.compile(
    "[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
)
# Scripts without spaces between words: each character is a word, and several in a row are searched as a phrase.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)


class _Folds(dict[int, str]):
    """Caches what each character is folded to; it grows to the number of Unicode characters at most."""

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
    """Returns a text in the normal form that `folded` and `placed` expect."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def folded(text: str) -> str:
    """Returns a text as words separated by spaces; everything else becomes a space."""
    return composed(text).translate(_FOLDS)


def placed(text: str) -> tuple[str, list[int] | None]:
    """Folds a composed text; also returns the original position of each folded character, or None if they are equal."""
    if text.isascii():
        return text.translate(_FOLDS), None
    parts = [_FOLDS[ord(character)] for character in text]
    return "".join(parts), [place for place, part in enumerate(parts) for _ in part]


def words(text: str) -> list[str]:
    """Returns the words of a text in order."""
    split = folded(text).split()
    if any(len(word) > LONGEST_WORD for word in split):
        return [word[at : at + LONGEST_WORD] for word in split for at in range(0, len(word), LONGEST_WORD)]
    return split


def indexed(text: str) -> str:
    """Returns the words of a text for the index, with a space before and after each, so that phrases can be found."""
    joined = f" {' '.join(words(text))} "
    if len(joined) * 4 > LARGEST_WORDS and len(data := joined.encode()) > LARGEST_WORDS:
        joined = f"{data[:LARGEST_WORDS].decode('utf-8', 'ignore').rpartition(' ')[0]} "
    return joined


def of_session(session_id: str) -> str:
    """Returns a word that all entries of a session have; no query can contain it, since it starts with a sign."""
    return f"§{session_id.replace('-', '')}"


def vector(text: str) -> str:
    """Returns indexed words in PostgreSQL's notation of a vector: each with its positions."""
    places: dict[str, list[str]] = {}
    for place, word in enumerate(text.split(), 1):
        at = places.setdefault(word, [])
        if len(at) < MOST_PLACES:
            at.append(str(min(place, LAST_PLACE)))
    return " ".join(f"'{word}':{','.join(at)}" for word, at in places.items())
