"""Bundles the services that doors call. `bough.app` builds the bundle."""

from __future__ import annotations

from dataclasses import dataclass

from bough.agents.catalog import Catalog
from bough.core.access.audit import Audit
from bough.core.access.page_keys import PageKeys
from bough.core.access.user_tokens import UserTokens
from bough.core.access.users import Users
from bough.core.added_agents.service import AddedAgents
from bough.core.agent_offers.service import AgentOffers
from bough.core.approvals.service import Approvals
from bough.core.checkpoints.diff import Changes
from bough.core.checkpoints.restore import Restoring
from bough.core.checkpoints.take import Checkpoints
from bough.core.conversations.catch_up import CatchUp
from bough.core.conversations.hand_over import HandOvers
from bough.core.conversations.import_conversation import Imports
from bough.core.conversations.listing import ConversationLists
from bough.core.environment.mcp_servers import McpServers
from bough.core.events.hub import Hub
from bough.core.events.wait import Waiting
from bough.core.finish.checks.poller import CheckPoller
from bough.core.finish.checks.service import RequestChecks
from bough.core.finish.cleanup.service import Cleanups
from bough.core.finish.cleanup.sweep import Sweeps
from bough.core.finish.service import Finishing
from bough.core.finish.surveys.overlap_survey import OverlapSurvey
from bough.core.finish.surveys.progress_survey import ProgressSurvey
from bough.core.new_repos.clones import Clones
from bough.core.new_repos.folders import WorkspaceFolders
from bough.core.overview.cards import Cards
from bough.core.overview.health import HealthCheck
from bough.core.overview.home import StartPages
from bough.core.overview.sidebar import Sidebars
from bough.core.overview.tour import Tours
from bough.core.overview.usage import UsageReports
from bough.core.policy.choices import Choices
from bough.core.policy.explain import Explanations
from bough.core.policy.rules import Rules
from bough.core.presets.service import Presets
from bough.core.review.service import Reviews
from bough.core.runs.previews import Previews
from bough.core.runs.service import Runs
from bough.core.saved_prompts.service import SavedPrompts
from bough.core.schedules.clock import ScheduleClock
from bough.core.schedules.service import Schedules
from bough.core.search.names import NamedRecords
from bough.core.search.service import Search
from bough.core.sessions.apply_mode import Modes
from bough.core.sessions.ending.archive import Archiving
from bough.core.sessions.ending.cascades import Cascades
from bough.core.sessions.ending.control import Control
from bough.core.sessions.ending.mark import Marking
from bough.core.sessions.ending.purge import Purging
from bough.core.sessions.resume import Resuming
from bough.core.sessions.retry import Retrying
from bough.core.sessions.service import Sessions
from bough.core.sessions.tasks import Tasks
from bough.core.sessions.with_worktree import WorktreeSessions
from bough.core.state.limits.budgets import Budgets
from bough.core.state.reports.callbacks import Callbacks
from bough.core.store.transactions import Store
from bough.core.terminals.service import Terminals
from bough.core.tool_calls.service import Calls
from bough.core.transcripts.files import Files
from bough.core.transcripts.read import Transcript
from bough.core.transcripts.transcript_limit import TranscriptLimits
from bough.core.trees.branch import Branches
from bough.core.trees.prune_checkpoints import Pruning
from bough.core.trees.race.keep import RaceResults
from bough.core.trees.race.start import Races
from bough.core.trees.race.status import RaceStatuses
from bough.core.trees.tree import Trees
from bough.core.turns.maintenance import Maintenance
from bough.core.turns.recovery import Recovery
from bough.core.turns.runner import Runner
from bough.core.turns.scheduler import Scheduler
from bough.core.worktrees.boards import Boards
from bough.core.worktrees.config.service import RepoConfigs
from bough.core.worktrees.disk_use import DiskMeter
from bough.core.worktrees.file_names import FileNames
from bough.core.worktrees.git_permissions import RepositoryGitPermissions
from bough.core.worktrees.repos import Repos
from bough.core.worktrees.service import Worktrees
from bough.settings import Settings


@dataclass(frozen=True)
class Services:
    """All services, by noun."""

    settings: Settings
    store: Store
    page_keys: PageKeys
    user_tokens: UserTokens
    users: Users
    audit: Audit
    catalog: Catalog
    agent_offers: AgentOffers
    added_agents: AddedAgents
    hub: Hub
    repos: Repos
    workspace_folders: WorkspaceFolders
    clones: Clones
    git_permissions: RepositoryGitPermissions
    repo_configs: RepoConfigs
    worktrees: Worktrees
    terminals: Terminals
    runs: Runs
    previews: Previews
    finishing: Finishing
    cleanups: Cleanups
    sweeps: Sweeps
    disk: DiskMeter
    checks: RequestChecks
    check_poller: CheckPoller
    health: HealthCheck
    resuming: Resuming
    retrying: Retrying
    overlaps: OverlapSurvey
    progress: ProgressSurvey
    file_names: FileNames
    worktree_sessions: WorktreeSessions
    boards: Boards
    mcp_servers: McpServers
    presets: Presets
    saved_prompts: SavedPrompts
    marking: Marking
    conversations: ConversationLists
    imports: Imports
    hand_overs: HandOvers
    catch_up: CatchUp
    sessions: Sessions
    tasks: Tasks
    files: Files
    transcript: Transcript
    transcript_limits: TranscriptLimits
    search: Search
    names: NamedRecords
    approvals: Approvals
    rules: Rules
    choices: Choices
    explanations: Explanations
    checkpoints: Checkpoints
    changes: Changes
    restoring: Restoring
    reviews: Reviews
    pruning: Pruning
    schedules: Schedules
    schedule_clock: ScheduleClock
    control: Control
    modes: Modes
    archiving: Archiving
    purging: Purging
    branches: Branches
    races: Races
    race_statuses: RaceStatuses
    race_results: RaceResults
    budgets: Budgets
    callbacks: Callbacks
    calls: Calls
    trees: Trees
    homes: StartPages
    sidebars: Sidebars
    usage: UsageReports
    cards: Cards
    tours: Tours
    waiting: Waiting
    cascades: Cascades
    runner: Runner
    scheduler: Scheduler
    maintenance: Maintenance
    recovery: Recovery
