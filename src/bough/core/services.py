"""The services that doors call, in one bundle. `bough.app` builds it; doors pick what they need."""

from __future__ import annotations

from dataclasses import dataclass

from bough.agents.catalog import Catalog
from bough.core.approvals import Approvals
from bough.core.boards import Boards
from bough.core.branching import Branching
from bough.core.budgets import Budgets
from bough.core.callbacks import Callbacks
from bough.core.calls import Calls
from bough.core.cards import Cards
from bough.core.cascades import Cascades
from bough.core.changes import Changes
from bough.core.checkpoints import Checkpoints
from bough.core.choices import Choices
from bough.core.control import Control
from bough.core.explanations import Explanations
from bough.core.files import Files
from bough.core.home import Homes
from bough.core.hub import Hub
from bough.core.keeping import Keeping
from bough.core.marking import Marking
from bough.core.mcp_servers import McpServers
from bough.core.pruning import Pruning
from bough.core.race import Races
from bough.core.recovery import Recovery
from bough.core.repos import Repos
from bough.core.restoring import Restoring
from bough.core.rules import Rules
from bough.core.runner import Runner
from bough.core.scheduler import Scheduler
from bough.core.search import Search
from bough.core.seeing import Seeing
from bough.core.sessions import Sessions
from bough.core.standings import Standings
from bough.core.store import Store
from bough.core.tasks import Tasks
from bough.core.tour import Tours
from bough.core.transcript import Transcript
from bough.core.tree import Trees
from bough.core.upkeep import Upkeep
from bough.core.waiting import Waiting
from bough.core.worktree_sessions import WorktreeSessions
from bough.core.worktrees import Worktrees
from bough.settings import Settings


@dataclass(frozen=True)
class Services:
    """Everything that can be done, by noun."""

    settings: Settings
    store: Store
    catalog: Catalog
    hub: Hub
    repos: Repos
    worktrees: Worktrees
    worktree_sessions: WorktreeSessions
    boards: Boards
    mcp_servers: McpServers
    marking: Marking
    sessions: Sessions
    tasks: Tasks
    files: Files
    transcript: Transcript
    search: Search
    approvals: Approvals
    rules: Rules
    choices: Choices
    explanations: Explanations
    checkpoints: Checkpoints
    changes: Changes
    restoring: Restoring
    pruning: Pruning
    control: Control
    branching: Branching
    races: Races
    standings: Standings
    keeping: Keeping
    budgets: Budgets
    callbacks: Callbacks
    calls: Calls
    trees: Trees
    homes: Homes
    seeing: Seeing
    cards: Cards
    tours: Tours
    waiting: Waiting
    cascades: Cascades
    runner: Runner
    scheduler: Scheduler
    upkeep: Upkeep
    recovery: Recovery
