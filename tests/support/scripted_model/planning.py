"""Decides the steps of one response, as a pure function of the conversation."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, cast

from tests.support.scripted_model.conversation import Conversation, Json, Tool, Turn, short
from tests.support.scripted_model.filling import filled
from tests.support.scripted_model.script import CALLS, Directive, parse_script, reaction

# How much of a tool's result, of the prompt and of each recalled prompt is quoted.
RESULT, ASKED, RECALLED = 400, 200, 80
# Characters of each piece of a big text.
PIECE = 50_000

_LEAVES: Json = {"string": "fake", "integer": 1, "number": 1, "boolean": False}


@dataclass
class Step:
    """One thing to do."""

    kind: Literal["say", "think", "call", "wait", "gate", "http", "end"]
    text: str = ""
    tool: Tool | None = None
    arguments: Any = None
    seconds: float = 0.0
    status: int = 0

    def __str__(self) -> str:
        return f"call {self.tool.full_name}" if self.tool else self.kind


def plan(conversation: Conversation) -> list[Step]:
    """Returns the steps of this one response; a script with several calls takes several responses."""
    if conversation.schema is not None:
        return [Step("say", json.dumps(example(conversation.schema)))]
    last = max((i for i, turn in enumerate(conversation.turns) if turn.role == "user"), default=None)
    if last is None:
        return [Step("say", "Nothing was asked.")]
    asked, after = conversation.turns[last], conversation.turns[last + 1 :]
    steps = [
        Step("say", f"Tool {turn.name or '?'} returned: {short(turn.text, RESULT)} ") for turn in _fresh_results(after)
    ]
    script = parse_script(asked.script) or parse_script(reaction(asked.text))
    if not script:
        number = len(conversation.user_turns)
        return steps or [Step("say", f'You said "{short(asked.text, ASKED)}". This is user turn {number}.')]
    steps += _next_steps(conversation, _not_done(script, sum(len(turn.calls) for turn in after)))
    return steps or [Step("say", "Done.")]


def example(schema: Any) -> Any:
    """Returns a small value that roughly satisfies a JSON schema."""
    if not isinstance(schema, dict):
        return {}
    definition = cast("Json", schema)
    if definition.get("enum"):
        return definition["enum"][0]
    for key in ("anyOf", "oneOf", "allOf"):
        if definition.get(key):
            return example(definition[key][0])
    kinds = cast(
        "list[str]",
        definition["type"] if isinstance(definition.get("type"), list) else [definition.get("type", "object")],
    )
    kind = kinds[0].lower()
    if kind == "object":
        properties: Json = definition.get("properties") or {}
        return {name: example(inner) for name, inner in properties.items()}
    if kind == "array":
        return [example(definition.get("items"))] if definition.get("minItems") else []
    return _LEAVES.get(kind)


def _fresh_results(after: list[Turn]) -> list[Turn]:
    """Returns the tool results since the model last spoke."""
    fresh: list[Turn] = []
    for turn in reversed(after):
        if turn.role != "tool":
            break
        fresh.insert(0, turn)
    return fresh


def _not_done(script: list[Directive], called: int) -> list[Directive]:
    """Returns the script without the part that earlier responses of this turn carried out, judged by how many calls
    they made."""
    at = 0
    while called > 0 and at < len(script):
        called -= script[at].verb in CALLS
        at += 1
    return script[at:]


def _next_steps(conversation: Conversation, script: list[Directive]) -> Iterator[Step]:
    calling = False
    for directive in script:
        if calling and directive.verb != "and":
            return  # the results come first
        for step in _steps(conversation, directive):
            calling = calling or step.kind == "call"
            yield step


def _steps(conversation: Conversation, directive: Directive) -> Iterator[Step]:
    if directive.verb in CALLS:
        yield _call(conversation, directive)
    else:
        yield from _VERBS[directive.verb](conversation, directive.text)


def _call(conversation: Conversation, directive: Directive) -> Step:
    if not conversation.tools:  # a side request for a title or a summary
        return Step("say", f"(no tools offered, {directive.name} not called) ")
    tool = conversation.find_tool(directive.name)
    if tool is None:
        return Step("say", f"There is no tool {directive.name}. Offered: {conversation.tool_names} ")
    return Step("call", tool=tool, arguments=filled(conversation, directive.arguments))


def _slow(_conversation: Conversation, text: str) -> Iterator[Step]:
    count, _, gap = text.partition(" ")
    for number in range(1, int(count or 10) + 1):
        yield Step("say", f"tick {number} ")
        yield Step("wait", seconds=float(gap or 0.5))


def _recall(conversation: Conversation, text: str) -> Iterator[Step]:
    turns = conversation.user_turns
    seen = "; ".join(f"{number}) {short(turn.text, int(text or RECALLED))}" for number, turn in enumerate(turns, 1))
    yield Step("say", f"I saw {len(turns)} user turns: {seen} ")


def _tools(conversation: Conversation, _text: str) -> Iterator[Step]:
    yield Step("say", f"{len(conversation.tools)} tools: {conversation.tool_names} ")


def _big(_conversation: Conversation, text: str) -> Iterator[Step]:
    # Nothing in it repeats itself, because some agents stop a model that does.
    size = int(text)
    for at in range(0, size, PIECE):
        words = "".join(f"x{number:07d}" for number in range(at // 8, (at + PIECE) // 8 + 1))
        yield Step("say", words[at % 8 :][: min(PIECE, size - at)])


def _http(_conversation: Conversation, text: str) -> Iterator[Step]:
    words, brace, rest = text.partition("{")
    status, _, kind = words.strip().partition(" ")
    yield Step("http", kind, arguments=json.loads(brace + rest) if brace else {}, status=int(status or 500))


_VERBS: dict[str, Callable[[Conversation, str], Iterator[Step]]] = {
    "say": lambda _, text: iter([Step("say", f"{text} ")]),
    "think": lambda _, text: iter([Step("think", text)]),
    "slow": _slow,
    "gate": lambda conversation, text: iter([Step("gate", text)] if conversation.tools else []),
    "hang": lambda _, text: iter([Step("wait", seconds=float(text or 60))]),
    "recall": _recall,
    "tools": _tools,
    "http": _http,
    "big": _big,
    "end": lambda _, text: iter([Step("end", text)]),
}
