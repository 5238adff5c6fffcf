"""Starts a turn and never ends it, whatever it receives."""

from tests.support.misbehaving_agents.protocol import answer, chunk_line, messages, write

if __name__ == "__main__":
    for message in messages():
        if message["method"] == "session/prompt":
            write(chunk_line("never mind"))
        else:
            answer(message)
