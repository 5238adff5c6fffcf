"""Loads each file of named SQL once; a constant holds the queries of one table or subject (`storage/queries`)."""

from __future__ import annotations

from bough.storage import queries

APPROVALS = queries.load("approvals")
AUDIT = queries.load("audit")
BOARDS = queries.load("boards")
CALLS = queries.load("calls")
CARDS = queries.load("cards")
CHECKPOINTS = queries.load("checkpoints")
CHOICES = queries.load("choices")
COMMON = queries.load("common")
COUNTS = queries.load("counts")
EVENTS = queries.load("events")
FILES = queries.load("files")
HOME = queries.load("home")
KEEPERS = queries.load("keepers")
KEYS = queries.load("idempotency")
MCP = queries.load("mcp_servers")
MESSAGES = queries.load("messages")
PAGE_KEYS = queries.load("page_keys")
RACES = queries.load("races")
REPOS = queries.load("repos")
RESTORES = queries.load("restores")
RULES = queries.load("rules")
SEARCH = queries.load("search")
SESSIONS = queries.load("sessions")
TASKS = queries.load("tasks")
TOKENS = queries.load("tokens")
TREES = queries.load("trees")
USERS = queries.load("users")
WORKTREES = queries.load("worktrees")
