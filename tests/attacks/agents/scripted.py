"""An agent that plays a script at each prompt: `… scripted PATH`. It writes every answer that it gets to its own
requests to PATH.answers, one JSON message per line.

The file holds a list of steps:

- `{"line": TEXT}` writes a line as it is, each character one byte; `{prompt}` stands for the id of the prompt
- `{"wait": N}` reads until N more answers have come, or the turn is stopped
- `{"stay": true}` never ends the turn

Without the last one it ends the turn after the last step."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support.misbehaving_agents.protocol import answer, messages, say, write

Json = dict[str, Any]


def note(message: Json) -> None:
    with open(f"{sys.argv[1]}.answers", "a") as file:
        file.write(json.dumps(message) + "\n")


def hear(incoming: Iterator[Json], count: int) -> bool:
    """Reads this many answers. Returns False if the turn is stopped before."""
    while count:
        message = next(incoming)
        if message.get("method") == "session/cancel":
            return False
        if "method" in message:
            answer(message)
        else:
            note(message)
            count -= 1
    return True


def play(steps: list[Json], prompt: Json, incoming: Iterator[Json]) -> None:
    for step in steps:
        if "line" in step:
            write(step["line"].replace("{prompt}", json.dumps(prompt["id"])).encode("latin-1"))
        elif "wait" in step and not hear(incoming, step["wait"]):
            say(id=prompt["id"], result={"stopReason": "cancelled"})
            return
        elif "stay" in step:
            return
    answer(prompt)


def main(path: str) -> None:
    steps = json.loads(Path(path).read_text())
    incoming = messages()
    for message in incoming:
        if message.get("method") == "session/prompt":
            play(steps, message, incoming)
        elif "method" in message:
            answer(message)
        else:
            note(message)


if __name__ == "__main__":
    main(sys.argv[1])
