"""Live agents: the running agent of each session, from its start to its end.

- `agent_pool` starts, wakes, suspends and ends agents; `agent` is one of them, `permission_handler` says what it needs
  from `questions/`, and `keepers` has the rows of their keepers.
- `start/` prepares a start: settings, trust in the repository, the sandbox, the token, the conversation and its
  context.
- During turns, `agent_settings` sets mode, model and effort, `prompt_files` attaches files, `questions/` answers what
  the agent asks, `agent_steering` puts a prompt into the turn, and `failures` and `reported_limits` recognize errors.
- `idle` suspends agents with nothing to do and completes sessions that were idle for long.

Called by `turns` and `app`; the MCP door reads tokens, and `bough agents test` and `bough doctor` use parts. Calls
`approvals`, `state`, `policy`, `environment` and `transcripts`, and the client side of the protocol in `bough.agents`.
"""
