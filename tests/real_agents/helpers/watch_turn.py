"""Watches a turn of a real agent from its prompt to its end: approvals, decisions and text."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.real_agents.helpers.agent_under_test import Json, Real

ENDED = ("completed", "failed", "cancelled")


@dataclass
class Seen:
    """One finished turn."""

    task: Json = field(default_factory=dict[str, object])
    # Approvals as they were requested, and whether they were allowed; and what the policy denied.
    asked: list[Json] = field(default_factory=list[Json])
    refused: list[Json] = field(default_factory=list[Json])
    said: str = ""
    allowed: bool = False


async def watch(real: Real, session_id: str, prompt: str, decision: str = "deny") -> Seen:
    """Sends a prompt and answers every approval of its turn with `allow`, `allow_always` or `deny`."""
    seen = Seen(allowed=decision != "deny")
    async with real.client.events(session_id) as events:
        task_id = await real.client.prompt(session_id, prompt)
        while not seen.task:
            event = await events.until(lambda item: item["type"] in ("approval.created", "task.patched"))
            data: Json = event["data"]
            if event["type"] == "task.patched":
                if data["id"] == task_id and data["status"] in ENDED:
                    seen.task = data
            elif data["status"] == "pending":
                seen.asked.append(data)
                await real.client.post(f"/api/approvals/{data['id']}", {"decision": decision})
            elif data["status"] == "denied":
                seen.refused.append(data)
    messages = [
        message
        for message in await real.messages(session_id)
        if message["taskId"] == task_id and message["role"] == "agent"
    ]
    seen.said = "\n".join(message["content"]["text"] for message in messages if message["content"]["type"] == "text")
    return seen


async def pending(real: Real) -> list[Json]:
    """Returns the pending approvals."""
    return (await real.client.get("/api/approvals?status=pending"))["approvals"]
