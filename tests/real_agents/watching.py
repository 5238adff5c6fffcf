"""A turn of a real agent, watched from its prompt to its end: what it asked, who answered, what it said. What it should
have done is for the tests."""

from __future__ import annotations

from dataclasses import dataclass, field

from .real import Json, Real

ENDED = ("completed", "failed", "cancelled")


@dataclass
class Seen:
    """One turn, over."""

    task: Json = field(default_factory=dict[str, object])
    # Questions to people, as they were when they were asked, and whether these were allowed; and what policy denied.
    asked: list[Json] = field(default_factory=list[Json])
    refused: list[Json] = field(default_factory=list[Json])
    said: str = ""
    allowed: bool = False


async def watch(real: Real, session_id: str, prompt: str, decision: str = "deny") -> Seen:
    """Sends a prompt and answers all that is asked in its turn with `allow`, `allow_always` or `deny`."""
    seen = Seen(allowed=decision != "deny")
    async with real.client.events(session_id) as events:
        task_id = await real.client.prompt(session_id, prompt)
        while not seen.task:
            event = await events.until(lambda one: one["type"] in ("approval.created", "task.patched"))
            told: Json = event["data"]
            if event["type"] == "task.patched":
                if told["id"] == task_id and told["status"] in ENDED:
                    seen.task = told
            elif told["status"] == "pending":
                seen.asked.append(told)
                await real.client.post(f"/api/approvals/{told['id']}", {"decision": decision})
            elif told["status"] == "denied":
                seen.refused.append(told)
    messages = [
        message
        for message in await real.messages(session_id)
        if message["taskId"] == task_id and message["role"] == "agent"
    ]
    seen.said = "\n".join(message["content"]["text"] for message in messages if message["content"]["type"] == "text")
    return seen


async def pending(real: Real) -> list[Json]:
    """The questions that nobody has answered."""
    return (await real.client.get("/api/approvals?status=pending"))["approvals"]
