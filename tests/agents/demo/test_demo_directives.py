"""Directives in prompts are parsed as documented, and no text breaks the parser."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bough.agents.demo import directives as d

# Texts in which single brackets balance, nested ones included.
plain = st.text(st.characters(blacklist_characters="[]", blacklist_categories=("Cs",)))
balanced = st.recursive(plain, lambda inner: st.tuples(plain, inner, plain).map(lambda t: f"{t[0]}[{t[1]}]{t[2]}"))


@pytest.mark.parametrize(
    ("text", "directives"),
    [
        ("nothing here", []),
        ("[one] bracket", []),
        ("[[say hi]]", [d.Say("hi")]),
        ("[[say]]", [d.Say("")]),
        ("[[ say  two spaces ]]", [d.Say(" two spaces ")]),
        ("[[say a\nb]]", [d.Say("a\nb")]),
        ("[[say a [[b]] c]]", [d.Say("a [[b]] c")]),
        ("[[say [a]]]", [d.Say("[a]")]),
        ("[[say a [ b]] then [[say c]]", [d.Say("a [ b"), d.Say("c")]),
        ("[[say :-] ]]", [d.Say(":-] ")]),
        ("x [[think a]] y [[slow 3 0.5]] z", [d.Think("a"), d.Slow(3, 0.5)]),
        ("[[slow 2 0]]", [d.Slow(2, 0.0)]),
        ("[[flood 7]]", [d.Flood(7)]),
        ("[[plan A; B ;;C]]", [d.ShowPlan(["A", "B", "C"])]),
        ("[[write a/b.txt some  text\n]]", [d.WriteFile("a/b.txt", "some  text\n")]),
        ("[[write empty]]", [d.WriteFile("empty", "")]),
        ("[[run [[ -f x ]] && echo [a-z]*]]", [d.RunShell("[[ -f x ]] && echo [a-z]*")]),
        ('[[mcp t {"a": [1, [2]]}]]', [d.CallMcpTool("t", {"a": [1, [2]]})]),
        ('[[mcp t {"a": [[1], [2]]}]]', [d.CallMcpTool("t", {"a": [[1], [2]]})]),
        ("[[mcp t]]", [d.CallMcpTool("t", {})]),
        (
            '[[ask {"properties": {"a": {"enum": ["x"]}}}]]',
            [d.AskUser({"properties": {"a": {"enum": ["x"]}}})],
        ),
        ('[[ask {"url": "https://example.com"}]]', [d.AskUser({"url": "https://example.com"})]),
        ("[[fail oh no]]", [d.Fail("oh no")]),
        ("[[recall]][[hang]]", [d.PlainDirective("recall"), d.PlainDirective("hang")]),
        ("[[crash]]", [d.PlainDirective("crash")]),
    ],
)
def test_directives_are_read(text: str, directives: list[d.Directive]) -> None:
    """L5: Parses each directive with its arguments; brackets nest, and text between directives is ignored."""
    assert d.parse(text) == directives


@pytest.mark.parametrize(
    "text",
    [
        *("[[jump]]", "[[]]", "[[say never closed", "[[Say x]]", "[[recall x]]", "[[crash now]]", "[[run  ]]"),
        *("[[slow]]", "[[slow 3]]", "[[slow 0 1]]", "[[slow 3 -1]]", "[[slow 3 inf]]", "[[slow 3 nan]]"),
        *("[[slow ² 1]]", "[[flood]]", "[[flood -1]]", "[[flood 1.5]]", "[[flood 1000001]]", "[[flood 99999999999]]"),
        *("[[ask]]", "[[ask {}]]", "[[ask [1]]]", '[[ask {"message": "?"}]]'),
        *("[[plan]]", "[[plan ; ;]]", "[[write]]", "[[mcp]]", "[[mcp t [1]]]", '[[mcp t {"a"}]]'),
    ],
)
def test_malformed_directives_are_reported(text: str) -> None:
    """L5: An unknown name or an invalid argument is malformed, and is reported with its source and a reason."""
    (directive,) = d.parse(text)
    assert isinstance(directive, d.Malformed)
    assert (directive.source, bool(directive.reason)) == (text, True)


@given(st.text(st.characters(blacklist_categories=("Cs",))) | st.text("[] say0"))
def test_no_text_breaks_the_parser(text: str) -> None:
    """L5: Any prompt can be parsed; without `[[` there is no directive."""
    assert bool(d.parse(text)) == ("[[" in text)


@given(balanced)
def test_balanced_text_is_kept_exactly(text: str) -> None:
    """L5: Brackets nest, so any text with balanced brackets can be said unchanged."""
    assert d.parse(f"before [[say {text}]] after") == [d.Say(text)]


@given(st.lists(balanced))
def test_directives_follow_one_another(texts: list[str]) -> None:
    """L5: Directives are found one by one and in order, whatever is between them."""
    joined = " - ".join(f"[[say {text}]]" for text in texts)
    assert d.parse(joined) == [d.Say(text) for text in texts]
