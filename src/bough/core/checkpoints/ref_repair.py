"""Writes the missing refs of stored checkpoints after a restart, so that git keeps their files (W4)."""

from __future__ import annotations

import structlog

from bough.core.store.sql import CHECKPOINTS
from bough.core.store.transactions import Store
from bough.errors import BoughError
from bough.git.refs import checkpoint_refs as refs
from bough.model.checkpoint import Checkpoint
from bough.model.values.times import before

log = structlog.get_logger("bough.checkpoints")

# Git keeps objects without a ref for two weeks, so that refs of older checkpoints cannot be repaired.
REPAIR_SECONDS = 14 * 24 * 3600


async def repair_refs(store: Store) -> None:
    """Writes the missing refs of recent checkpoints. A kill of an older Bough, which wrote the ref after the row, may
    have left some without."""
    since = before(REPAIR_SECONDS)
    rows = await store.read(lambda tx: tx.all(CHECKPOINTS.with_refs, Checkpoint, since=since), long=True)
    by_repo: dict[str, list[Checkpoint]] = {}
    for checkpoint in rows:
        by_repo.setdefault(checkpoint.repo_id, []).append(checkpoint)
    for checkpoints in by_repo.values():
        await _repair_repo(checkpoints)


async def _repair_repo(checkpoints: list[Checkpoint]) -> None:
    # All worktrees of a repository share its refs; one of them may be gone.
    for cwd in dict.fromkeys(checkpoint.cwd for checkpoint in checkpoints):
        try:
            known = await refs.all_refs(cwd)
            missing = {
                checkpoint.ref: checkpoint.sha
                for checkpoint in checkpoints
                if checkpoint.ref is not None and checkpoint.sha is not None and checkpoint.ref not in known
            }
            for ref, sha in missing.items():
                if await refs.held(cwd, sha):
                    await refs.keep(cwd, {ref: sha})
                    log.warning("checkpoint_ref_repaired", cwd=cwd, ref=ref)
            return
        except (BoughError, OSError):
            continue
