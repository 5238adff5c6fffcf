"""Policy: whether a tool use is allowed, denied or asked about.

`tool_use/` reads what an agent wants, by its vocabulary in the catalog. `decide` is the pure decision from mode, rules
and choices, with `patterns` and `globs` for matching. `protected_paths` says which paths a person decides about in any
mode, and `find_protected_paths` finds them in a tool use. `decide_for_session` looks up what applies to a session, and
`turn_mode` the mode that counts; `live_agents` and `approvals` call them. `sandbox_choice` says whether a session's
agent is confined, `allowed_hosts` which hosts it may then reach, and `admin_only` what only admins may change about
that. `rules`, `choices` and `explain` are the services that the doors call. They call the catalog
of `bough.agents`, `transcripts` and `store`.
"""
