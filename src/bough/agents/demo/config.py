"""Owns the config options of a session, model and effort, and what they do to window, tokens and cost.
It leaves remembering what was chosen to the store, and counting words to the turn.
"""

from typing import Any

from bough.agents.demo.records import Tokens
from bough.agents.demo.store import State

# Model: the size of its window in tokens, and the price of a token in USD.
MODELS = {"demo-small": (10_000, 0.000001), "demo-large": (100_000, 0.00001)}
# Effort: how many thought tokens a word of the prompt costs.
EFFORTS = {"low": 0, "medium": 1, "high": 2}
OPTIONS = {"model": MODELS, "effort": EFFORTS}


def config_options(state: State) -> list[dict[str, Any]]:
    """Returns the `configOptions` of a session as the protocol has them."""
    return [
        _select("model", "Model", "model", state.model, list(MODELS)),
        _select("effort", "Effort", "thought_level", state.effort, list(EFFORTS)),
    ]


def _select(key: str, name: str, category: str, current: str, values: list[str]) -> dict[str, Any]:
    choices = [{"value": value, "name": value} for value in values]
    return {
        "id": key,
        "name": name,
        "category": category,
        "type": "select",
        "currentValue": current,
        "options": choices,
    }


def turn_cost(state: State, tokens: Tokens) -> float:
    """Returns what a turn costs with the session's model."""
    return round(tokens.total * MODELS[state.model][1], 6)


def usage_update(state: State) -> dict[str, Any]:
    """Returns the context in use, the window of the model, and the cost of the session so far."""
    return {
        "sessionUpdate": "usage_update",
        "used": state.tokens.total,
        "size": MODELS[state.model][0],
        "cost": {"amount": state.cost, "currency": "USD"},
    }


def prompt_usage(state: State) -> dict[str, int]:
    """Returns the `usage` of a prompt's answer: totals over all turns, as the protocol words it."""
    tokens = state.tokens
    return {
        "totalTokens": tokens.total,
        "inputTokens": tokens.input_tokens,
        "outputTokens": tokens.output_tokens,
        "thoughtTokens": tokens.thought_tokens,
    }
