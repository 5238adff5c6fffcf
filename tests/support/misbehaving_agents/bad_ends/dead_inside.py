"""An adapter whose inner process dies in the very first prompt: it answers with the given error and keeps running, but
has lost its conversation. Later processes work.

Takes a file that records the prompts of all its processes, and the text of the error. Without a text it loses the
conversation before it could begin. The text `mute` makes it answer with an unknown error and then not at all."""

import os
import sys
import time
from pathlib import Path
from typing import Any

from tests.support.misbehaving_agents.protocol import answer, chunk_line, messages, say, write

NOT_FOUND = {"code": -32002, "message": "Resource not found", "data": {"sessionId": "replay"}}


def die(prompt: dict[str, Any], words: str) -> None:
    if not words:
        say(id=prompt["id"], error=NOT_FOUND)
        return
    write(chunk_line("Half an ans"))
    say(id=prompt["id"], error={"code": -32603, "message": f"Internal error: {words}"})


def main() -> None:
    record, words = Path(sys.argv[1]), sys.argv[2]
    dead = False
    for message in messages():
        if message.get("method") == "session/prompt" and not dead:
            first = not record.exists()
            with record.open("a") as file:
                file.write(f"{os.getpid()}\n")
            if first:
                dead = True
                die(message, words)
                continue
        if dead and words == "mute":
            time.sleep(3600)
        elif dead and "id" in message:
            say(id=message["id"], error=NOT_FOUND)
        else:
            answer(message)


if __name__ == "__main__":
    main()
