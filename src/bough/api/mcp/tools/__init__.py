"""The tools themselves: `base` says what a tool is; `create_update_stop`, `prompt_and_spawn`, `read`, `wait`, `search`,
`worktrees`, `finish`, `schedules` and `basic` declare them by subject; `results` and `shared_wording` hold their common
results and words, and `all_tools` lists them.

`bough.api.mcp.protocol` calls them, and `core.tool_calls` carries out their changes. They call the services of core."""
