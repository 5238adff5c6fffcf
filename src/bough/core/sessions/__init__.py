"""Sessions: what people and tools can do to a session and its queue.

Handles the requests to create, change, prompt, resume and move sessions (`service`, `tasks`, `retry`, `resume`,
`apply_mode`, `move`), alone or together with a worktree (`with_worktree`). `ending` stops, ends, archives and deletes
them. `list_sessions` reads pages of them, and `audit_rights` records changed rights.

Called by the doors and by `trees`. Calls `turns` to stop agents, `state` to move rows, and `worktrees`.
"""
