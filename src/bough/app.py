"""Builds a server from its settings and keeps it running, as one async context manager without global state. This is
the only module that imports all rooms."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator

import structlog

from bough.agents.catalog import load_catalog
from bough.agents.keeper_client.keeper_launcher import KeeperLauncher
from bough.agents.launcher import Launcher
from bough.api.mcp.protocol.call_tool import Toolbox
from bough.api.mcp.tools.all_tools import TOOLS
from bough.background_work import working
from bough.core.access.audit import Audit
from bough.core.access.page_keys import PageKeys
from bough.core.access.user_tokens import UserTokens
from bough.core.access.users import Users
from bough.core.added_agents.service import AddedAgents
from bough.core.agent_offers.service import AgentOffers
from bough.core.approvals.service import Approvals
from bough.core.checkpoints.diff import Changes
from bough.core.checkpoints.restore import Restoring
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
from bough.core.live_agents.agent_pool import AgentPool
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
from bough.core.schedules.schedule_runs import ScheduleRuns
from bough.core.schedules.service import Schedules
from bough.core.search.names import NamedRecords
from bough.core.search.service import Search
from bough.core.services import Services
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
from bough.core.worktrees.for_branch import BranchWorktrees
from bough.core.worktrees.git_permissions import RepositoryGitPermissions
from bough.core.worktrees.ports import PortBlocks
from bough.core.worktrees.repos import Repos
from bough.core.worktrees.service import Worktrees
from bough.data_folder_lock import only_one
from bough.errors import Busy
from bough.settings import Settings
from bough.storage import migrate
from bough.storage.backend import Backend
from bough.storage.open import open_backend

log = structlog.get_logger("bough.app")

# Seconds to wait for the lock of a server that was just killed, and between attempts. PostgreSQL notices the death of a
# client in milliseconds, on a busy machine in a second or two.
OWN_WITHIN = 5.0
OWN_PAUSE = 0.05


@contextlib.asynccontextmanager
async def running(
    settings: Settings, address: str | None = None, launcher: Launcher | None = None
) -> AsyncGenerator[Services]:
    """Runs a whole Bough without its doors: opens and upgrades the database, repairs leftovers, and runs the queues.
    `address` is where agents reach it."""
    data = settings.data_path
    data.mkdir(parents=True, exist_ok=True, mode=0o700)
    with only_one(data):
        synchronous = "FULL" if settings.synchronous == "full" else "NORMAL"
        db = await open_backend(settings.database_url, synchronous=synchronous)
        try:
            async with _owned(db):
                done = await migrate.upgrade(db)
                if done and done[0] > 1:
                    log.info("database_upgraded", to=done[-1])
                built = build(settings, db, launcher or KeeperLauncher(data / "keepers"))
                built.runner.agents.address = address
                # Before recovery, which carries out the calls that the last server left.
                built.calls.provide(Toolbox(built, TOOLS).actions())
                async with working(built) as services:
                    yield services
        finally:
            await db.close()


@contextlib.asynccontextmanager
async def _owned(db: Backend) -> AsyncGenerator[None]:
    """Holds the lock that allows one server per database; waits a moment for that of a server that was just killed."""
    deadline = asyncio.get_running_loop().time() + OWN_WITHIN
    async with contextlib.AsyncExitStack() as stack:
        while True:
            try:
                await stack.enter_async_context(db.own("server"))
                break
            except Busy:
                if asyncio.get_running_loop().time() > deadline:
                    raise
            await asyncio.sleep(OWN_PAUSE)
        yield


def build(settings: Settings, db: Backend, launcher: Launcher) -> Services:
    """Creates the services and connects them."""
    store = Store(db)
    catalog = load_catalog(settings.data_path)
    hub = Hub(store)
    tasks = Tasks(store, settings, catalog.steers)
    ports = PortBlocks(store, settings)
    agents = AgentPool(store, hub, settings, catalog, launcher, ports)
    runner = Runner(store, settings, agents)
    scheduler = Scheduler(store, settings, runner)
    changes = Changes(store, runner.checkpoints)
    terminals, runs = Terminals(store, settings, ports), Runs(store, settings, ports)

    async def end_programs(worktree_id: str) -> None:
        await terminals.end_in(worktree_id)
        await runs.end_in(worktree_id)

    worktrees = Worktrees(store, settings, ports, end_programs)
    sessions = Sessions(store, settings, catalog, tasks)
    control = Control(store, runner, tasks)
    archiving = Archiving(store, control)
    purging = Purging(store, control)
    places = BranchWorktrees(store, worktrees, runner.checkpoints)
    branches = Branches(store, settings, catalog, places)
    cascades = Cascades(store, control, archiving, purging)
    calls = Calls(store, settings, catalog, scheduler.lending)
    repos = Repos(store, settings)
    page_keys = PageKeys(store)
    cleanups = Cleanups(store, runner.checkpoints, worktrees, control, archiving)
    finishing = Finishing(store, runner.checkpoints, tasks)
    checks = RequestChecks(store, settings, finishing, tasks)
    user_tokens = UserTokens(store, page_keys)
    conversations = ConversationLists(store, settings, catalog, runner.reader)
    worktree_sessions = WorktreeSessions(store, settings, worktrees, sessions, control, purging)
    schedule_runs = ScheduleRuns(store, tasks, worktree_sessions)
    schedules = Schedules(store, settings, sessions, schedule_runs)
    return Services(
        settings=settings,
        store=store,
        page_keys=page_keys,
        user_tokens=user_tokens,
        users=Users(store, user_tokens, page_keys.changes),
        audit=Audit(store),
        catalog=catalog,
        agent_offers=AgentOffers(store, settings, catalog, agents),
        added_agents=AddedAgents(store, settings, catalog),
        hub=hub,
        repos=repos,
        workspace_folders=WorkspaceFolders(store, settings),
        clones=Clones(store, settings, repos),
        git_permissions=RepositoryGitPermissions(store),
        repo_configs=RepoConfigs(store, settings),
        worktrees=worktrees,
        terminals=terminals,
        runs=runs,
        previews=Previews(store, settings),
        finishing=finishing,
        checks=checks,
        check_poller=CheckPoller(checks, settings),
        cleanups=cleanups,
        sweeps=Sweeps(store, cleanups),
        disk=DiskMeter(store, settings),
        health=HealthCheck(store, settings),
        conversations=conversations,
        imports=Imports(store, settings, catalog, runner.reader, conversations, repos),
        hand_overs=HandOvers(store, settings, agents),
        catch_up=runner.catch_up,
        resuming=Resuming(store, settings, tasks, control, runner.parked),
        retrying=Retrying(store, tasks, control),
        overlaps=OverlapSurvey(store, runner.checkpoints),
        progress=ProgressSurvey(store, runner.checkpoints),
        file_names=FileNames(store, runner.checkpoints.check_folder),
        worktree_sessions=worktree_sessions,
        boards=Boards(store),
        mcp_servers=McpServers(store, settings.agent_env_names),
        presets=Presets(store, catalog),
        saved_prompts=SavedPrompts(store, settings),
        marking=Marking(store, settings),
        sessions=sessions,
        tasks=tasks,
        files=Files(store),
        transcript=Transcript(store),
        transcript_limits=TranscriptLimits(store, settings),
        search=Search(store),
        names=NamedRecords(store),
        approvals=Approvals(store, catalog, calls.check),
        rules=Rules(store, catalog),
        choices=Choices(store),
        explanations=Explanations(store, settings, catalog),
        checkpoints=runner.checkpoints,
        changes=changes,
        restoring=Restoring(store, runner.checkpoints),
        reviews=Reviews(store, settings, runner.checkpoints, changes, tasks, control),
        pruning=Pruning(store, settings),
        schedules=schedules,
        schedule_clock=ScheduleClock(store, schedule_runs, schedules.changed),
        control=control,
        modes=Modes(store, catalog, agents),
        archiving=archiving,
        purging=purging,
        branches=branches,
        races=Races(store, settings, branches, places),
        race_statuses=RaceStatuses(store, runner.checkpoints),
        race_results=RaceResults(store, runner.checkpoints, worktrees, cascades),
        budgets=Budgets(store),
        callbacks=Callbacks(store),
        calls=calls,
        trees=Trees(store),
        homes=StartPages(store),
        sidebars=Sidebars(store),
        usage=UsageReports(store),
        cards=Cards(store),
        tours=Tours(store, settings, repos, worktrees, cascades),
        waiting=Waiting(store),
        cascades=cascades,
        runner=runner,
        scheduler=scheduler,
        maintenance=Maintenance(store, settings, agents),
        recovery=Recovery(store, launcher, runner, scheduler),
    )
