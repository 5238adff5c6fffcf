"""Does late what it should do at once: only when the file named on its command line exists.

It answers the prompt `quick` at once. It answers `afterthought` at once too, but sends more text late. Any other
prompt stays unanswered until it is cancelled, and the answer to that comes late."""

import os
import sys
import time

from tests.support.misbehaving_agents.protocol import answer, chunk_line, messages, say, write


def wait() -> None:
    while not os.path.exists(sys.argv[1]):
        time.sleep(0.01)


if __name__ == "__main__":
    prompt = None
    for message in messages():
        if message["method"] == "session/prompt":
            text = message["params"]["prompt"][-1]["text"]
            if text in ("quick", "afterthought"):
                write(chunk_line("in time"))
                answer(message)
            else:
                prompt = message["id"]
            if text == "afterthought":
                wait()
                write(chunk_line("too late"))
        elif message["method"] == "session/cancel" and prompt is not None:
            wait()
            say(id=prompt, result={"stopReason": "cancelled"})
            prompt = None
        else:
            answer(message)
