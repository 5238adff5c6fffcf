"""Dies in the middle of a line: sends a chunk, then half an answer to the prompt, then exits with code 7."""

import os

from tests.support.misbehaving_agents.protocol import answer, chunk_line, messages, write

if __name__ == "__main__":
    for message in messages():
        if message["method"] == "session/prompt":
            write(chunk_line("last words"))
            os.write(1, b'{"jsonrpc":"2.0","id":"' + message["id"].encode()[:3])
            os._exit(7)
        answer(message)
