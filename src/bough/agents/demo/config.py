"""Defines the config options of a session, model and effort, and computes context window and cost from them."""

from typing import Any

from bough.agents.acp_server.records import Tokens
from bough.agents.demo.state import DemoState

# Model → the size of its context window in tokens, and the price of a token in USD.
MODELS = {"demo-small": (10_000, 0.000001), "demo-large": (100_000, 0.00001)}
# Effort → the thought tokens that each word of the prompt costs.
EFFORTS = {"low": 0, "medium": 1, "high": 2}
OPTIONS = {"model": MODELS, "effort": EFFORTS}


def config_options(state: DemoState) -> list[dict[str, Any]]:
    """Returns the `configOptions` of a session in the form of the protocol."""
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


def turn_cost(state: DemoState, tokens: Tokens) -> float:
    """Returns the cost of a turn with the session's model, in USD."""
    return round(tokens.total * MODELS[state.model][1], 6)


def usage_update(state: DemoState) -> dict[str, Any]:
    """Returns the update with the context in use, the size of the context window and the cost so far."""
    return {
        "sessionUpdate": "usage_update",
        "used": state.tokens.total,
        "size": MODELS[state.model][0],
        "cost": {"amount": state.cost, "currency": "USD"},
    }


def prompt_usage(state: DemoState) -> dict[str, int]:
    """Returns the `usage` of the answer to a prompt: the totals over all turns, as the protocol requires."""
    tokens = state.tokens
    return {
        "totalTokens": tokens.total,
        "inputTokens": tokens.input_tokens,
        "outputTokens": tokens.output_tokens,
        "thoughtTokens": tokens.thought_tokens,
    }
