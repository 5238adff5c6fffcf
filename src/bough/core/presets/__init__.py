"""Presets: named combinations of an agent, its settings, variables, MCP servers and instructions. Admins keep them;
`sessions`, `trees` and `schedules` create sessions from them."""
