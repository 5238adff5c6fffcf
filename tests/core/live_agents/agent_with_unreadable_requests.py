"""An agent that requests a permission with a line that cannot be parsed: argv[1] is that line, in the escapes of
Python's `bytes`. It ends its turn when it gets an answer. `test_unreadable_requests` runs it."""

from __future__ import annotations

import sys
from typing import Any

from tests.support.misbehaving_agents.protocol import answer, chunk_line, messages, say, write

prompt: Any = None

for message in messages():
    if message.get("method") == "session/prompt":
        prompt = message["id"]
        write(sys.argv[1].encode().decode("unicode_escape").encode("latin-1"))
    elif "method" in message:
        answer(message)
    else:
        write(chunk_line(f"refused: {message['error']['code']}"))
        say(id=prompt, result={"stopReason": "end_turn"})
