"""Answers with ids that no request has before it answers with the right one."""

from tests.support.misbehaving_agents.protocol import answer, messages, say

if __name__ == "__main__":
    for message in messages():
        for wrong in ("nobody", 0, None):
            say(id=wrong, result={"protocolVersion": 99})
        answer(message)
