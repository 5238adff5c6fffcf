"""Owns the piece of a text that is shown for a hit, and where in it the words stand that were asked for. Finding the
text is `search`'s part."""

from __future__ import annotations

import re

import msgspec

from bough.core.search.query import Asked, Term
from bough.core.search.words import composed, placed

# About this long, in characters.
WIDTH = 200
# Of a text that says the same word over and over, this many places are looked at.
MOST_HITS = 200
# Of those that follow one, this many are looked at.
NEAR = 20
CUT = "…"

_SPACE = re.compile(r"\s")


class Snippet(msgspec.Struct):
    """A piece of text in one line, and the ranges of characters in it that were asked for."""

    text: str
    marks: list[tuple[int, int]]


class Snippets:
    """Makes snippets for one question."""

    def __init__(self, asked: Asked) -> None:
        # One that is longer comes first: `foo bar` is marked whole although `foo` is asked for too.
        terms = sorted(asked.wanted, key=lambda term: (-len(term.words), -len(term.words[-1]), term.prefix))
        self._pattern = re.compile("|".join(f"({_spelled(term)})" for term in terms))

    def make(self, text: str) -> Snippet:
        text = composed(text)
        start, end = self._window(text)
        piece = " ".join(text[start:end].split())
        before = CUT if text[:start].strip() else ""
        after = CUT if text[end:].strip() else ""
        marks = [(low + len(before), high + len(before)) for low, high, _ in self._hits(piece)]
        return Snippet(before + piece + after, marks)

    def _window(self, text: str) -> tuple[int, int]:
        """The stretch around the place where most of what was asked for stands, and of such places the first."""
        low = high = most = 0
        hits = self._hits(text)
        for at, (first, last, _) in enumerate(hits):
            inside = [hit for hit in hits[at : at + NEAR] if hit[1] <= first + WIDTH]
            kinds = len({kind for _, _, kind in inside}) or 1
            if kinds > most:
                most, low, high = kinds, first, max([last, *(hit[1] for hit in inside)])
        start = max(low - max(WIDTH - (high - low), 0) // 2, 0)
        end = min(max(start + WIDTH, high), len(text))
        return _parted(text, start, low), _parted_before(text, high, end)

    def _hits(self, text: str) -> list[tuple[int, int, int]]:
        """Where something asked for stands, and which."""
        folded, places = placed(text)
        found: list[tuple[int, int, int]] = []
        for match in self._pattern.finditer(folded):
            low, high = match.span()
            if places is not None:
                low, high = places[low], places[high - 1] + 1
                # Accents that are written as signs of their own belong to the letter before them.
                while high < len(text) and not placed(text[high])[0]:
                    high += 1
            found.append((low, high, match.lastindex or 0))
            if len(found) == MOST_HITS:
                break
        return found


def _spelled(term: Term) -> str:
    """Words in a row as a pattern for folded text, where everything between words is a space."""
    end = r"\S*" if term.prefix else r"(?!\S)"
    return rf"(?<!\S){' +'.join(map(re.escape, term.words))}{end}"


def _parted(text: str, start: int, most: int) -> int:
    """Where to begin, so that no word is cut if there is a space near."""
    if start == 0 or text[start - 1].isspace():
        return start
    gap = _SPACE.search(text, start, min(start + WIDTH // 4, most))
    return gap.end() if gap is not None else start


def _parted_before(text: str, least: int, end: int) -> int:
    """Where to end, in the same way."""
    if end == len(text) or text[end].isspace():
        return end
    gaps = [match.start() for match in _SPACE.finditer(text, max(end - WIDTH // 4, least), end)]
    return gaps[-1] if gaps else end
