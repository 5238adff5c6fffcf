"""P2: The scripted model, on which tests of real agents rely, reads its scripts and plans its answers as documented."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.scripted_model.conversation import Conversation, Tool, Turn, as_text, own_words
from tests.support.scripted_model.planning import example, plan
from tests.support.scripted_model.script import Directive, parse_script


def conversation(script: str, *after: Turn, tools: tuple[Tool, ...] = (), schema: Any = None) -> Conversation:
    talk = Conversation("test", "a-model", stream=True, turns=[], tools=list(tools), schema=schema)
    talk.add_user([script])
    talk.turns += after
    return talk


def planned(script: str, *after: Turn, tools: tuple[Tool, ...] = (Tool("Read"), Tool("Write"))) -> list[str]:
    """Returns each step as text."""
    steps = plan(conversation(script, *after, tools=tools))
    return [f"{step} {step.text}".strip() for step in steps]


def test_every_verb_is_read() -> None:
    text = "a [[say two words]] b [[think hm]] [[slow 3 0.5]][[recall]] [[tools]] [[http 429]] [[hang 7]] [[tool X {}]]"
    read = [(item.verb, item.text or item.name) for item in parse_script(text)]
    assert read == [
        *(("say", "two words"), ("think", "hm"), ("slow", "3 0.5"), ("recall", ""), ("tools", "")),
        *(("http", "429"), ("hang", "7"), ("tool", "X")),
    ]


def test_arguments_may_hold_brackets() -> None:
    command = "[[ -f x ]] && echo ']]' {"
    script = f"[[tool Bash {json.dumps({'command': command})}]] [[say after]]"
    call, after = parse_script(script)
    assert call == Directive("tool", name="Bash", arguments={"command": command})
    assert after == Directive("say", "after")


def test_a_call_needs_no_arguments_and_bad_ones_are_reported() -> None:
    assert parse_script("[[tool whoami]]") == [Directive("tool", name="whoami", arguments={})]
    directive, call = parse_script("[[tool X {oops}]]")
    assert directive.text.startswith("bad JSON in script") and call.name == "X"


def test_free_form_text_keeps_its_lines() -> None:
    [raw] = parse_script("[[raw apply_patch *** Begin\n+one\n two\n*** End]]")
    assert (raw.name, raw.arguments) == ("apply_patch", "*** Begin\n+one\n two\n*** End")


def test_unclosed_and_unknown_directives_do_no_harm() -> None:
    assert parse_script("[[say never closed") == [Directive("say", "never closed")]
    assert parse_script("[[dance]] [[saying x]] [[tool]]") == []


@pytest.mark.parametrize(
    ("pattern", "tool"),
    [
        ("Read", Tool("Read")),
        ("~shout", Tool("shout", namespace="mcp__probe")),
        ("mcp__probe__shout", Tool("shout", namespace="mcp__probe")),
        ("none|~ead", Tool("Read")),
        ("none", None),
        ("none|!hidden", Tool("hidden")),
        ("!mcp__far/shout", Tool("shout", namespace="mcp__far")),
        ("Read|!hidden", Tool("Read")),
    ],
)
def test_tools_are_found(pattern: str, tool: Tool | None) -> None:
    talk = conversation("x", tools=(Tool("Read"), Tool("shout", namespace="mcp__probe")))
    assert talk.find_tool(pattern) == tool


def test_without_a_script_it_repeats_the_prompt() -> None:
    assert planned("good  morning") == ['say You said "good morning". This is user turn 1.']
    assert plan(Conversation("test", "m", stream=False, turns=[], tools=[]))[0].text == "Nothing was asked."


def test_one_call_for_each_response() -> None:
    script = "[[say first]] [[tool Read {}]] [[say between]] [[tool Write {}]] [[say last]]"
    read, wrote = Turn("assistant", calls=["Read"]), Turn("assistant", calls=["Write"])
    result = Turn("tool", "the  result", name="Read")
    assert planned(script) == ["say first", "call Read"]
    assert planned(script, read, result) == ["say Tool Read returned: the result", "say between", "call Write"]
    assert planned(script, read, result, wrote, Turn("tool", "ok")) == ["say Tool ? returned: ok", "say last"]
    assert planned("[[tool Read]]", read, result, Turn("assistant", "done")) == ["say Done."]


def test_and_calls_in_the_same_response() -> None:
    assert planned("[[tool Read]] [[and Write]] [[say later]]") == ["call Read", "call Write"]
    both = Turn("assistant", calls=["Read", "Write"])
    results = (Turn("tool", "1", name="Read"), Turn("tool", "2", name="Write"))
    assert planned("[[tool Read]] [[and Write]] [[say later]]", both, *results)[-1] == "say later"


def test_an_impossible_call_is_reported() -> None:
    assert planned("[[tool Fly]]") == ["say There is no tool Fly. Offered: Read, Write"]
    assert planned("[[tool Read]]", tools=()) == ["say (no tools offered, Read not called)"]


def test_waits_errors_and_lists() -> None:
    steps = plan(conversation("[[slow 2 0.25]] [[hang 9]]"))
    assert [(step.kind, step.seconds) for step in steps] == [
        ("say", 0),
        ("wait", 0.25),
        ("say", 0),
        ("wait", 0.25),
        ("wait", 9),
    ]
    assert plan(conversation("[[http 529]]"))[0].status == 529
    assert planned("[[tools]]") == ["say 2 tools: Read, Write"]
    talk = conversation("first")
    talk.add_user(["second"])
    talk.add_user(["[[recall]]"])
    assert plan(talk)[0].text == "I saw 3 user turns: 1) first; 2) second; 3) [[recall]] "


def test_the_last_block_is_the_script_and_wrapping_does_not_count() -> None:
    talk = conversation("")
    talk.add_user(["<context>x [[say no]]</context>", "# AGENTS.md instructions for /x\n[[say no]]"])
    assert talk.turns == []
    talk.add_user(["[[say old]]", "<reminder>r</reminder>", "[[say new]]\n<env a='b'>e</env>"])
    assert [turn.script for turn in talk.turns] == ["[[say new]]"]
    assert own_words("a <b> c") == "a <b> c"


def test_tool_results_fill_later_calls() -> None:
    made = [
        Turn("tool", '{"taskId":"t1","sessionId": "s1"}'),
        Turn("tool", r'[{"text":"{\"taskId\":\"t2\",\"parent_taskId\":\"no\"}"}]'),
        Turn("assistant", '{"taskId":"said"}'),
    ]
    template = {"ids": "{{taskId*}}", "one": ["of {{sessionId}}: {{taskId}}"], "none": "{{other}}", "most": 5}
    after = (Turn("assistant", calls=["Read"]), *made)
    [step] = plan(conversation(f"[[tool Read]] [[tool Write {json.dumps(template)}]]", *after, tools=(Tool("Write"),)))
    assert step.arguments == {"ids": ["t1", "t2"], "one": ["of s1: t2"], "none": "{{other}}", "most": 5}


def test_a_report_may_say_what_to_do_about_it() -> None:
    talk = conversation("")
    talk.add_user(["> It said [[say no]]\n\n[[react]] [[say yes]]", "Go on."])
    assert [step.text for step in plan(talk)] == ["yes "]
    talk.add_user(["[[react]] [[say no]]", "[[say the script]]"])
    assert [step.text for step in plan(talk)] == ["the script "]


def test_gates_hold_turns_only() -> None:
    [step] = plan(conversation("[[gate back]]", tools=(Tool("Read"),)))
    assert (step.kind, step.text) == ("gate", "back")
    assert plan(conversation("[[gate back]]"))[0].text == "Done."


def test_content_becomes_text() -> None:
    nested = [{"type": "text", "text": "a"}, {"content": [{"output": "b"}, "c"]}, {"type": "image"}, None, {"x": 1}, 5]
    assert as_text(nested) == 'a\nb\nc\n{"x":1}\n5'


def test_a_requested_schema_is_answered_with_an_example() -> None:
    schema = {
        "type": "object",
        "properties": {
            "verdict": {"enum": ["allow", "deny"]},
            "why": {"type": ["string", "null"]},
            "many": {"type": "ARRAY", "minItems": 1, "items": {"type": "INTEGER"}},
            "few": {"type": "array"},
            "one": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
        },
    }
    template = {"verdict": "allow", "why": "fake", "many": [1], "few": [], "one": False}
    assert example(schema) == template
    [step] = plan(conversation("[[tool Read]]", schema=schema))
    assert json.loads(step.text) == template
