"""Live agents: the running agent of each session, from its start to its end.

- `agent_pool` starts, wakes, suspends and ends agents and manages their slots; `agent` is one of them, and
  `agent_requests` holds what it asked and nobody has answered yet.
- At its start, `repository_trust` looks for code of the repository that needs approval, `agent_tokens` handles its
  token for Bough's tools, `conversation` opens its conversation, and `context` gathers what that starts with.
- During turns, `agent_settings` sets mode, model and effort, `prompt_files` attaches files, `permissions` answers
  permission requests, `host_questions` asks about hosts that a strict sandbox does not let it reach,
  `self_granted_rights` takes back rights that the agent gave itself, and `failures` recognizes errors.
- `idle` suspends agents with nothing to do and completes sessions that were idle for long.

Called by `turns` and `app`; the MCP door reads tokens, and `bough agents test` and `bough doctor` use parts. Calls
`approvals`, `state`, `policy`, `environment` and `transcripts`, and the client side of the protocol in `bough.agents`.
"""
