"""Keeps the prompts that people save for themselves, and reads those that a repository offers. They are texts to
insert; nothing sends them on its own.

Called by the doors. Calls `store` and `bough.git`."""
