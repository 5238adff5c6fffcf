"""Reads command lines without running them: their words, the paths that they name, and the folders that they change.
`find_protected_paths` and `tool_use` call it; it calls nothing else of the core."""
