"""Surveys of all live worktrees, for boards and lists: which changed the same files (`overlap_survey`), and how far
the work in each is (`progress_survey`). `background` runs them beside the server's work. Called by the doors. Calls
`bough.git`.
"""
