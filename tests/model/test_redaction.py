"""Masking secret values in texts, in streams and in JSON."""

from __future__ import annotations

import random
import secrets
from typing import Any

import msgspec
import pytest

from bough.model.values import own_tokens
from bough.model.values.redaction import LONGEST, MASK, Redactor

# Fixed, because workers must collect the same tests.
SESSION_ID = "01a1ee94-e8c4-726c-aaf4-ea12a57e53c1"
KEY = "-----BEGIN KEY-----\nabcdefghijklmnopqrstuvwxyz0123\n-----END KEY-----"
VALUES = ("grey-4711", "https://h/a", "https://h/a/secret", 'qu"o\\te\nx', "abcabd", "1234567890", KEY)


def test_texts() -> None:
    """R1: Every occurrence becomes the mask, the longest value first, and also as part of JSON or an address."""
    redactor = Redactor(VALUES)
    assert redactor.text("a grey-4711 b grey-4711") == "a *** b ***"
    assert redactor.text('a qu"o\\te x b') == "a *** b"
    assert redactor.text("https://h/a/secret https://h/a/other") == "*** ***/other"
    assert redactor.text('{"x": "qu\\"o\\\\te\\nx"}') == '{"x": "***"}'
    assert redactor.text("?q=qu%22o%5Cte%0Ax&r") == "?q=***&r"
    assert redactor.text("key:\r\n  abcdefghijklmnopqrstuvwxyz0123\r\n") == "key:\r\n  ***\r\n"


def test_values_that_are_no_secrets() -> None:
    """R1: Short values and ordinary words are not masked, so that transcripts stay readable."""
    text = "12345 production completed  "
    assert Redactor(["12345", "production", "completed", "", "   "]).text(text) == text
    assert Redactor(["123456"]).text("1234567") == "***7"


@pytest.mark.parametrize(
    "text",
    [
        "x grey-4711 y",
        "grey-grey-4711",
        "https://h/a/sec https://h/a/secret https://h/a",
        "abcabcabd gre",
        "ggrey-47",
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


def test_values_that_overlap() -> None:
    """R1: A text in pieces is masked like the whole text, even if values repeat themselves or overlap, and then shows
    no whole value."""
    chance = random.Random(3)
    for _ in range(2000):
        values = ["".join(chance.choices("abc", k=chance.randint(6, 9))) for _ in range(chance.randint(1, 4))]
        redactor = Redactor(values)
        parts = [chance.choice(values)[: chance.randint(1, 9)] if chance.random() < 0.5 else "d" for _ in range(12)]
        text = "".join(parts) + "d"
        stream, shown, place = redactor.stream(), "", 0
        while place < len(text):
            size = chance.randint(1, 6)
            shown += stream.feed(text[place : place + size])
            place += size
        shown += stream.close()
        assert shown == redactor.text(text)
        assert not any(value in shown for value in values)


def test_a_value_that_breaks_off() -> None:
    """R1: A text that ends in the middle of a value shows a few of its characters at most."""
    redactor = Redactor(VALUES)
    for text, shown in (("a grey-471", "a ***"), ("a grey-4", "a grey-4"), ("https://h/a/sec", "***")):
        stream = redactor.stream()
        assert stream.feed(text) + stream.close() == shown


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
        "args": {"grey-4711": ["x grey-4711", 1234567890, 200000, True, None, 1.5]},
        "result": {"status": "completed", "output": "grey-4711"},
    }
    assert redactor.value(content) == {
        "type": "tool",
        "toolCallId": "grey-4711",
        "args": {"***": ["x ***", "***", 200000, True, None, 1.5]},
        "result": {"status": "completed", "output": "***"},
    }
    assert msgspec.json.decode(redactor.json(msgspec.Raw(b'{"text":"grey-4711"}'))) == {"text": "***"}
    growing = {
        "output": {"output": "a grey-4"},
        "content": [{"type": "tag", "text": "red gr"}, {"text": "blue"}, {"newText": "a gr"}],
        "code": 1,
    }
    assert redactor.finished(growing) == {
        "output": {"output": "a "},
        "content": [{"type": "tag", "text": "red "}, {"text": "blue"}, {"newText": "a gr"}],
        "code": 1,
    }
    same = msgspec.Raw(b'{ "text": "red" }')
    assert redactor.json(same) is same
    deep: Any = "grey-4711"
    for _ in range(500):
        deep = [deep]
    assert "grey" not in str(redactor.value({"args": deep, "text": "grey-4711"}))


@pytest.mark.parametrize(
    "prefix", [f"{own_tokens.SESSION}{SESSION_ID}.", own_tokens.USER, own_tokens.PAGE, own_tokens.SERVER]
)
def test_tokens_of_bough(prefix: str) -> None:
    """R1, 5d: A token is masked in every redactor, at every division of its text, and not without its secret part."""
    token = prefix + secrets.token_urlsafe(32)
    for redactor in (Redactor(), Redactor(VALUES)):
        text = f"a bough {token} b {token}{token}. bough-page-folder"
        assert redactor.text(text) == "a bough *** b ******. bough-page-folder"
        for cut in range(len(text)):
            stream = redactor.stream()
            assert stream.feed(text[:cut]) + stream.feed(text[cut:]) + stream.close() == redactor.text(text)
        stream = redactor.stream()
        assert "".join(stream.feed(letter) for letter in text) + stream.close() == redactor.text(text)
        assert bytes(redactor.json(msgspec.Raw(msgspec.json.encode({"a": token})))) == b'{"a":"***"}'
        broken = redactor.stream()
        assert broken.feed(token[:-20]) + broken.close() == MASK
        assert redactor.stream().feed("about grub") == "about gru"


def test_masks_are_replaced_by_the_values() -> None:
    """R1, Q5: An edited text gets the values back in the order of their masks, or None if their number has changed."""
    redactor = Redactor(VALUES)
    original = "use grey-4711, not ***, then 1234567890"
    assert redactor.restore("take ***, or *** and ***!", original) == "take grey-4711, or *** and 1234567890!"
    assert redactor.restore("take nothing", original) == "take nothing"
    assert redactor.restore("take ***", original) is None
    assert redactor.restore("*** bold ***", "no secret") == "*** bold ***"
