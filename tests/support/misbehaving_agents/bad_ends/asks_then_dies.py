"""Asks for permission before it works, always with the JSON-RPC id 0, and writes each answer to the given file.

Allowed to look, it dies. Told to continue after that, or to do anything else, it asks to remove something and ends
its turn when that is allowed. Denied, it ends the turn as `cancelled`, as some agents do."""

import os
import sys
from typing import Any

from tests.support.misbehaving_agents.protocol import SESSION, answer, messages, say

OPTIONS = [
    {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
    {"optionId": "no", "name": "Deny", "kind": "reject_once"},
]


def ask(what: str) -> None:
    call = {"toolCallId": "call", "title": what, "kind": "execute"}
    say(id=0, method="session/request_permission", params={"sessionId": SESSION, "toolCall": call, "options": OPTIONS})


def hear(outcome: dict[str, Any], what: str, prompt: Any) -> None:
    choice = outcome.get("optionId", "cancelled")
    with open(sys.argv[1], "a") as file:
        file.write(f"{what}: {choice}\n")
    if choice == "yes" and what == "look":
        os._exit(5)
    say(id=prompt, result={"stopReason": "end_turn" if choice == "yes" else "cancelled"})


if __name__ == "__main__":
    what, prompt = "", None
    for message in messages():
        if message.get("method") == "session/prompt":
            # A new prompt has one block; a prompt with more blocks tells about the interrupted turn.
            what, prompt = "look" if message["params"]["prompt"][-1]["text"] == "look" else "remove", message["id"]
            ask(what)
        elif "method" in message:
            answer(message)
        else:
            hear(message["result"]["outcome"], what, prompt)
