"""Has a usage limit while the file `limit` is in its folder, which holds the words of its error; counts its prompts in
the file `prompts`, one line of their last text each."""

import os

from tests.support.misbehaving_agents.protocol import answer, messages, say

if __name__ == "__main__":
    folder = "."
    for message in messages():
        if message["method"] == "session/new":
            folder = message["params"]["cwd"]
        if message["method"] != "session/prompt":
            answer(message)
            continue
        with open(os.path.join(folder, "prompts"), "a", encoding="utf-8") as file:
            file.write(message["params"]["prompt"][-1]["text"].replace("\n", " ") + "\n")
        try:
            with open(os.path.join(folder, "limit"), encoding="utf-8") as file:
                words = file.read().strip()
        except FileNotFoundError:
            answer(message)
        else:
            say(id=message["id"], error={"code": 429, "message": words})
