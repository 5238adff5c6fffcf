"""Reads a whole tree: its sessions, their status, and what they have used (B5)."""

from __future__ import annotations

from bough.core.store import records
from bough.core.store.session_secrets import redactors_of
from bough.core.store.sql import TREES
from bough.core.store.transactions import Store
from bough.model.trees.tree import Budget, Node, Tree, TreeUsage
from bough.storage.backend import Tx

NODES = TREES.nodes.with_(more="", where="s.root_session_id = :root")


class Trees:
    """Reads trees."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def get(self, session_id: str) -> Tree:
        """Returns the tree that a session belongs to, from its root on."""
        return await self._store.read(lambda tx: read(tx, session_id), long=True)


async def read(tx: Tx, session_id: str) -> Tree:
    """Reads the tree of a session inside a transaction."""
    root = (await records.session(tx, session_id)).root_session_id
    nodes = await tx.all(NODES, Node, root=root)
    redactors = await redactors_of(tx, [node.id for node in nodes])
    tree = Tree(
        root_session_id=root,
        sessions=nodes,
        used=TreeUsage(len(nodes), 0, 0, 0.0, 0.0),
        budget=await tx.one(TREES.budget, Budget, root=root),
        running=0,
        asking=0,
        queued=0,
    )
    used = tree.used
    for node in nodes:
        node.first_prompt = redactors[node.id].beginning(node.first_prompt)
        used.turns += node.turns
        used.tokens += node.tokens
        used.cost += node.cost
        used.seconds += node.seconds
        tree.running += node.activity == "running" and node.status == "active"
        tree.asking += node.asking > 0
        tree.queued += node.queued > 0
    return tree
