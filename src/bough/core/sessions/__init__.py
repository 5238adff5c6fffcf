"""Sessions: what people and tools can do to a session and its queue.

Handles the requests to create, change, prompt, stop, complete, cancel, archive and purge sessions, alone (`service`,
`tasks`, `retry`, `control`, `resume`, `apply_mode`, `mark`, `archive`, `purge`), together with their worktree
(`with_worktree`), and with all descendants (`cascades`). `list_sessions` reads pages of them. `audit_rights` records
changed rights.

Called by the doors and by `trees`. Calls `turns` to stop agents, `state` to move rows, and `worktrees`.
"""
