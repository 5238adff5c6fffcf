"""Needs a login, which the file `key` in its folder stands for: without it, every prompt is answered with the error for
a missing login. The prompt `wait` is answered when the file `go` exists."""

import os
import time

from tests.support.misbehaving_agents.protocol import answer, messages, say

LONGEST_WAIT = 30.0

if __name__ == "__main__":
    folder = "."
    for message in messages():
        if message["method"] == "session/new":
            folder = message["params"]["cwd"]
        if message["method"] != "session/prompt":
            answer(message)
            continue
        deadline = time.monotonic() + LONGEST_WAIT
        waits = message["params"]["prompt"][-1]["text"] == "wait"
        while waits and not os.path.exists(os.path.join(folder, "go")) and time.monotonic() < deadline:
            time.sleep(0.02)
        if os.path.exists(os.path.join(folder, "key")):
            answer(message)
        else:
            say(id=message["id"], error={"code": -32000, "message": "Authentication required"})
