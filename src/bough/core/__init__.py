"""Decides and does everything: the services that the doors call, and the machinery that runs turns.

Each room imports only rooms below it (see ARCHITECTURE.md). HTTP, terminals and wire formats stay outside.

Called by `bough.api`, and by `bough.app`, which builds the services. Calls `bough.agents`, `bough.storage` and
`bough.git`.
"""
