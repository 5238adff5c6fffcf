"""Tests which parts of a message can be found, and how an excerpt of it is cut."""

from __future__ import annotations

from typing import Any

from bough.core.search.message_text import DEEPEST, LARGEST_TEXT, searchable
from bough.core.search.query import parse
from bough.core.search.snippets import CUT, WIDTH, Snippets
from bough.model.message import raw


def test_texts_are_whole() -> None:
    """A2: The text of a prompt or an answer is searched, up to a limit."""
    assert searchable(raw({"type": "text", "text": "fix it", "name": "no"})) == ("text", "fix it")
    assert searchable(raw({"type": "thought", "text": "x" * (LARGEST_TEXT + 1)})) == ("thought", "x" * LARGEST_TEXT)


def test_what_an_agent_did_is_found() -> None:
    """A2: Of a tool call, its title, arguments, paths and output are searched, the most telling first and each once,
    but no ids, words of the protocol or text before an edit."""
    call = {
        "type": "tool",
        "status": "completed",
        "toolCallId": "call-7",
        "rawInput": {"command": "make test", "timeout": 30, "quiet": True},
        "content": [{"type": "diff", "path": "a.py", "oldText": "before", "newText": "after"}, {"text": "make test"}],
        "title": "Run the tests",
        "nothing": None,
        "blank": "  ",
    }
    assert searchable(raw(call)) == ("tool", "Run the tests\nmake test\n30\na.py\nafter")


def test_odd_messages() -> None:
    """A2: A message without a known type, or that nests without end, is searched as far as it makes sense."""
    nested: Any = "deep"
    for _ in range(DEEPEST + 2):
        nested = [nested]
    assert searchable(raw({"type": 7, "text": "one", "more": nested})) == ("", "one")
    assert searchable(raw(["text"])) == ("", "")
    kind, text = searchable(raw({"type": "tool", "lines": [f"{'x' * 100} {number}" for number in range(10_000)]}))
    assert kind == "tool" and LARGEST_TEXT - 200 < len(text) <= LARGEST_TEXT


def excerpt(query: str, text: str) -> tuple[str, list[str]]:
    """Returns the excerpt for a hit, and the words that are marked in it."""
    snippet = Snippets(parse(query)).make(text)
    return snippet.text, [snippet.text[low:high] for low, high in snippet.marks]


def test_marks() -> None:
    """A2: Marks cover whole matches, with accents and case as they were written, and the longest term first."""
    assert excerpt("resume", "My re\u0301sume\u0301.") == ("My résumé.", ["résumé"])
    assert excerpt("foo “foo bar” ba*", "Foo  BAR, foo baz") == ("Foo BAR, foo baz", ["Foo BAR", "foo", "baz"])
    assert excerpt("other", "nothing here") == ("nothing here", [])


def test_an_excerpt_shows_most_terms() -> None:
    """A2: The excerpt is where most different terms are close together; it cuts no words, and says where it cuts."""
    far = "alpha " + "filler " * 200
    text, marked = excerpt("alpha beta", f"{far}alpha and beta {'more ' * 200}")
    assert marked == ["alpha", "beta"]
    assert text.startswith(f"{CUT}filler") and text.endswith(f"more{CUT}")
    assert len(text) <= WIDTH * 1.5
