"""Takes prompts during its turn in its own ways, which the steered prompt's text names. Each prompt that it reads is
added to the file named on its command line.

- `die`: dies without an answer
- `late`: ends the turn first, then answers that it has taken the prompt
- `too late`: ends the turn first, then answers that it has not
- `silent`: ends the turn and never answers
- `limit`: meets a limit, then answers that it has taken the prompt
- `limit, too late`: meets a limit, then answers that it has not
- `refuse`: answers with an error; `odd`: with an outcome that nobody knows; both end the turn afterwards

A turn of any other text than `work` ends at once."""

import os
import sys
from typing import Any

from tests.support.misbehaving_agents.protocol import answer, messages, say


def end(prompt: Any) -> None:
    say(id=prompt, result={"stopReason": "end_turn"})


def steered(text: str, request: Any, prompt: Any) -> None:
    if text == "die":
        os._exit(5)
    if text == "refuse":
        say(id=request, error={"code": -32601, "message": "Method not found"})
    elif text == "odd":
        say(id=request, result={"outcome": "perhaps"})
    if text.startswith("limit"):
        say(id=prompt, error={"code": 429, "message": "Too many requests. Try again in 1h."})
    else:
        end(prompt)
    if text in ("late", "limit"):
        say(id=request, result={"outcome": "injected"})
    elif text in ("too late", "limit, too late"):
        say(id=request, result={"outcome": "promptRequired"})


if __name__ == "__main__":
    prompt = None
    for message in messages():
        method = message["method"]
        if method in ("session/prompt", "_session/steering"):
            text = message["params"]["prompt"][-1]["text"]
            with open(sys.argv[1], "a") as file:
                file.write(f"{method.rpartition('/')[2]}: {text.splitlines()[0][:40]}\n")
            if method == "_session/steering":
                steered(text, message["id"], prompt)
            elif text == "work":
                prompt = message["id"]
            else:
                end(message["id"])
        else:
            answer(message)
