"""Turns: everything between a queued prompt and the stored end of its turn, as far as it needs a running agent.

Runs the agents and manages their slots, settings and tokens. The way of a prompt through the room is
`scheduler` → `runner` → `agent_pool` → `agent` → `conversation` and `context`; `permissions`, `self_granted_rights`,
`repository_trust`, `failures`, `agent_settings`, `prompt_files` and `continuation_prompt` each decide one question
on that way. `recovery`, `maintenance` and `idle` run beside it.

Called by `sessions` (to stop turns and end agents) and by `app`, which starts the background work. Calls `approvals`,
`state`, `policy`, `transcripts` and `checkpoints`, and the agents' side of the protocol in `bough.agents`.
"""
