"""Prepares an agent's start: `start_settings` gathers the settings that an agent reads only then, `repository_trust`
looks for code of the repository that needs approval, `confinement` builds the sandbox, `agent_tokens` handles the token
for Bough's tools, `context` gathers what the conversation starts with, and `conversation` opens it.

Called by `agent_pool` and `agent`; `bough agents test` and `bough doctor` use parts, and the MCP door reads tokens.
Calls `state`, `policy`, `environment` and `transcripts`, and the catalog, client and sandbox of `bough.agents`.
"""
