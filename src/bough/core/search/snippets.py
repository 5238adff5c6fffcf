"""Cuts the excerpt of a text that is shown for a hit, and marks the matching words in it."""

from __future__ import annotations

import re

import msgspec

from bough.core.search.query import ParsedQuery, Term
from bough.core.search.words import composed, placed

# The approximate length of an excerpt, in characters.
WIDTH = 200
# The most matches of one text that are considered.
MOST_HITS = 200
# How many matches after another are considered for the same excerpt.
NEAR = 20
CUT = "…"

_SPACE = re.compile(r"\s")


class Snippet(msgspec.Struct):
    """An excerpt in one line, and the ranges of characters in it that match."""

    text: str
    marks: list[tuple[int, int]]


class Snippets:
    """Cuts snippets for one query."""

    def __init__(self, parsed: ParsedQuery) -> None:
        # Longer terms come first, so that `foo bar` is marked whole even if `foo` is a term too.
        terms = sorted(parsed.required, key=lambda term: (-len(term.words), -len(term.words[-1]), term.prefix))
        self._pattern = re.compile("|".join(f"({_pattern(term)})" for term in terms))

    def make(self, text: str) -> Snippet:
        """Returns the best excerpt of a text."""
        text = composed(text)
        start, end = self._window(text)
        piece = " ".join(text[start:end].split())
        before = CUT if text[:start].strip() else ""
        after = CUT if text[end:].strip() else ""
        marks = [(low + len(before), high + len(before)) for low, high, _ in self._hits(piece)]
        return Snippet(before + piece + after, marks)

    def _window(self, text: str) -> tuple[int, int]:
        """Returns the range around the first place with the most different matches."""
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
        """Returns the ranges of matches, each with the number of its term."""
        folded, places = placed(text)
        hits: list[tuple[int, int, int]] = []
        for match in self._pattern.finditer(folded):
            low, high = match.span()
            if places is not None:
                low, high = places[low], places[high - 1] + 1
                # Combining accents belong to the letter before them.
                while high < len(text) and not placed(text[high])[0]:
                    high += 1
            hits.append((low, high, match.lastindex or 0))
            if len(hits) == MOST_HITS:
                break
        return hits


def _pattern(term: Term) -> str:
    """Returns the pattern of a term for folded text, where everything between words is a space."""
    end = r"\S*" if term.prefix else r"(?!\S)"
    return rf"(?<!\S){' +'.join(map(re.escape, term.words))}{end}"


def _parted(text: str, start: int, most: int) -> int:
    """Returns where to begin, so that no word is cut if there is a space nearby."""
    if start == 0 or text[start - 1].isspace():
        return start
    gap = _SPACE.search(text, start, min(start + WIDTH // 4, most))
    return gap.end() if gap is not None else start


def _parted_before(text: str, least: int, end: int) -> int:
    """Returns where to end, in the same way."""
    if end == len(text) or text[end].isspace():
        return end
    gaps = [match.start() for match in _SPACE.finditer(text, max(end - WIDTH // 4, least), end)]
    return gaps[-1] if gaps else end
