"""Masking secret values in texts, in streams and in JSON."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from bough.model.redaction import LONGEST, MASK, Redactor

KEY = "-----BEGIN KEY-----\nabcdefghijklmnopqrstuvwxyz0123\n-----END KEY-----"
VALUES = ("grey-4711", "https://h/a", "https://h/a/secret", 'qu"o\\te\nx', "abcabd", "12345678", KEY)


def test_texts() -> None:
    """R1: Every occurrence becomes the mask, the longest value first, and also as part of JSON or an address."""
    redactor = Redactor(VALUES)
    assert redactor.text("a grey-4711 b grey-4711") == "a *** b ***"
    assert redactor.text("https://h/a/secret https://h/a/other") == "*** ***/other"
    assert redactor.text('{"x": "qu\\"o\\\\te\\nx"}') == '{"x": "***"}'
    assert redactor.text("?q=qu%22o%5Cte%0Ax&r") == "?q=***&r"
    assert redactor.text("key:\r\n  abcdefghijklmnopqrstuvwxyz0123\r\n") == "key:\r\n  ***\r\n"


def test_values_that_are_no_secrets() -> None:
    """R1: Short values and ordinary words are not masked, so that transcripts stay readable."""
    assert not Redactor(["12345", "production", "completed", "", "   "])
    assert Redactor(["123456"]).text("1234567") == "***7"


@pytest.mark.parametrize(
    "text",
    [
        "x grey-4711 y",
        "grey-grey-4711",
        "https://h/a/sec https://h/a/secret https://h/a",
        "abcabcabd gre",
        "ggrey-471",
        f"{KEY} end",
        "nothing",
    ],
)
def test_streams(text: str) -> None:
    """R1: However a text is cut into pieces, no part of a secret value is shown, and nothing else is lost."""
    redactor = Redactor(VALUES)
    chance = random.Random(1)
    for _ in range(200):
        stream, shown, place = redactor.stream(), "", 0
        while place < len(text):
            size = chance.randint(1, 5)
            shown += stream.feed(text[place : place + size])
            assert redactor.text(text).startswith(shown)
            place += size
            if chance.random() < 0.2:
                # A server that is killed continues with what was withheld.
                stream = redactor.stream(stream.withheld)
        assert shown + stream.close() == redactor.text(text)


def test_a_long_value() -> None:
    """R1: A value that is longer than what is compared at once is masked in pieces."""
    value = "".join(random.Random(2).choices("abcdefghij", k=3 * LONGEST))
    assert Redactor([value]).text(f"a {value} b") == f"a {3 * MASK} b"


def test_json() -> None:
    """R1: Texts, names and numbers are masked at any depth; the form of a message and its identifiers stay."""
    redactor = Redactor(VALUES)
    content: dict[str, Any] = {
        "type": "tool",
        "toolCallId": "grey-4711",
        "args": {"grey-4711": ["x grey-4711", 12345678, True, None, 1.5]},
        "result": {"status": "completed", "output": "grey-4711"},
    }
    assert redactor.value(content) == {
        "type": "tool",
        "toolCallId": "grey-4711",
        "args": {"***": ["x ***", "***", True, None, 1.5]},
        "result": {"status": "completed", "output": "***"},
    }
    assert msgspec.json.decode(redactor.json(msgspec.Raw(b'{"text":"grey-4711"}'))) == {"text": "***"}
    growing = {
        "output": {"output": "a grey-4"},
        "content": [{"type": "tag", "text": "red gr"}, {"text": "blue"}],
        "code": 1,
    }
    assert redactor.finished(growing) == {
        "output": {"output": "a "},
        "content": [{"type": "tag", "text": "red "}, {"text": "blue"}],
        "code": 1,
    }
    same = msgspec.Raw(b'{ "text": "red" }')
    assert redactor.json(same) is same
    deep: Any = "grey-4711"
    for _ in range(500):
        deep = [deep]
    assert "grey" not in str(redactor.value({"args": deep, "text": "grey-4711"}))
