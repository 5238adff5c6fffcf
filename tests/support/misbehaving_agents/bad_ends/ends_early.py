"""Ends its turn with the stop reason that the prompt names, after half an answer. The prompt `wait` ends only when it
is cancelled, and then like a turn that went well."""

from tests.support.misbehaving_agents.protocol import answer, chunk_line, messages, say, write

if __name__ == "__main__":
    prompt = None
    for message in messages():
        if message["method"] == "session/prompt":
            reason = message["params"]["prompt"][-1]["text"]
            write(chunk_line("Half an answer"))
            if reason == "wait":
                prompt = message["id"]
            else:
                say(id=message["id"], result={"stopReason": reason})
        elif message["method"] == "session/cancel":
            say(id=prompt, result={"stopReason": "end_turn"})
        else:
            answer(message)
