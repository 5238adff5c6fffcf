"""Explains what the policy would decide about a tool use and which rules it considers (P3). Changes and asks
nothing."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import Literal

import msgspec

from bough.agents.catalog import Catalog
from bough.core.policy import decide, decide_for_session
from bough.core.policy.choices import reaching
from bough.core.policy.tool_use import read as tool_use
from bough.core.store import records
from bough.core.store.sql import RULES
from bough.core.store.transactions import Change, Store
from bough.core.worktrees.allowed_paths import LONGEST_PATH
from bough.errors import Invalid
from bough.model.rule import Choice, Effect, Rule
from bough.model.session import Caller, PermissionMode, Session
from bough.model.tool import ToolKind, ToolUse
from bough.settings import Settings
from bough.storage.backend import Tx

LONGEST_TEXT = 64 * 1024
MOST_PATHS = 100
CONDITIONS = ("agent", "kind", "tool", "command", "path")


class ExplainBody(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A tool use to explain. Fields given beside a session override the session's."""

    session_id: str | None = None
    agent: str | None = None
    cwd: str | None = None
    permission_mode: PermissionMode | None = None
    kind: ToolKind | None = None
    tool: str = ""
    server: str | None = None
    command: str | None = None
    paths: list[str] = []
    idempotency_key: str | None = None


class RuleMatch(msgspec.Struct, rename="camel"):
    """One rule, and whether it matches this use."""

    rule_id: str
    position: int
    effect: Effect
    matched: bool
    why: str


class Explanation(msgspec.Struct, rename="camel"):
    """The decision, what led to it, and every rule in the order in which they apply."""

    effect: Effect
    by: Literal["rule", "choice", "mode"]
    id: str | None
    reason: str
    rule: Rule | None
    considered: list[RuleMatch]


class Explanations:
    """Explains decisions of the policy."""

    def __init__(self, store: Store, settings: Settings, catalog: Catalog) -> None:
        self._store = store
        self._settings = settings
        self._catalog = catalog

    async def explain(self, caller: Caller, body: ExplainBody) -> Explanation:
        _check(body)

        async def gather(tx: Tx) -> tuple[Session | None, list[str]]:
            session = await records.session(tx, body.session_id) if body.session_id is not None else None
            return session, await decide_for_session.worktrees(tx)

        session, worktrees = await self._store.read(gather)
        # In a thread: this looks at files and reads the command.
        mode, read_use = await asyncio.to_thread(self._use, body, session, worktrees)

        async def work(tx: Tx) -> Explanation:
            use = read_use
            rules = await tx.all(RULES.all, Rule)
            choices = await reaching(tx, use.agent, use.cwd, session.id if session else None)
            use = _remembered(use, choices)
            verdict = decide_for_session.side_question(session, use) if session is not None else None
            verdict = verdict or decide.decide(mode, use, rules, choices)
            return Explanation(
                effect=verdict.effect,
                by=verdict.by,
                id=verdict.id,
                reason=verdict.reason,
                rule=next((rule for rule in rules if verdict.by == "rule" and rule.id == verdict.id), None),
                considered=[_considered(rule, use) for rule in rules],
            )

        if caller.idempotency_key is None:
            return await self._store.read(work)
        request = msgspec.structs.replace(body, idempotency_key=None)

        async def encode(change: Change) -> msgspec.Raw:
            return msgspec.Raw(msgspec.json.encode(await work(change.tx)))

        encoded = await self._store.write_once(caller, "policy.explain", request, msgspec.Raw, encode)
        return msgspec.json.decode(encoded, type=Explanation)

    def _use(
        self, question: ExplainBody, session: Session | None, worktrees: Sequence[str]
    ) -> tuple[PermissionMode, ToolUse]:
        """Builds the tool use. Omitted fields come from the session, or else from the server."""
        agent = question.agent or (session.agent if session else self._catalog.default(self._settings.default_agent))
        if question.agent is not None:
            self._catalog.get(agent)
        cwd = question.cwd or (session.cwd if session else str(self._settings.root_path))
        mode = question.permission_mode or (
            session.permission_mode if session else self._catalog.get(agent).default_mode
        )
        kind = question.kind or _kind(question)
        args = {"command": question.command, "paths": question.paths}
        body = {"kind": kind, "name": question.tool, "title": question.command, "args": args}
        use = tool_use.read(self._catalog, agent, os.path.expanduser(cwd), body, (), worktrees)
        # Without a kind, the catalog knows whether the tool changes the agent's mode.
        if question.kind is None and question.server is None and use.kind == "switch_mode":
            kind = use.kind
        # Agents name MCP servers in their own way; a person names them directly.
        return mode, msgspec.structs.replace(use, kind=kind, name=question.tool or use.name, server=question.server)


def _check(body: ExplainBody) -> None:
    if body.cwd is not None and not os.path.isabs(os.path.expanduser(body.cwd)):
        raise Invalid("path_not_absolute", f"{body.cwd[:200]!r} is not an absolute folder.")
    if len(body.paths) > MOST_PATHS:
        raise Invalid("bad_path", f"Give at most {MOST_PATHS} paths at a time.")
    for path in (*body.paths, body.cwd):
        if path is not None and ("\0" in path or not path or len(os.fsencode(path)) > LONGEST_PATH):
            raise Invalid("bad_path", f"A path must have between 1 and {LONGEST_PATH} bytes and no NUL character.")
    for name, text in (("tool", body.tool), ("server", body.server), ("command", body.command)):
        if text is not None and len(text) > LONGEST_TEXT:
            raise Invalid("bad_use", f"{name} may have at most {LONGEST_TEXT} characters.")


def _kind(body: ExplainBody) -> ToolKind:
    """Guesses the kind that a person means who does not name one."""
    if body.server is not None:
        return "mcp"
    if body.command is not None:
        return "execute"
    return "edit" if body.paths else "other"


def _remembered(use: ToolUse, choices: list[Choice]) -> ToolUse:
    """Returns the use with the key of a choice about the same command, because the rest of an agent's arguments is
    unknown here."""
    if use.command is None:
        return use
    title = tool_use.describe(use.command)
    key = next((choice.key for choice in choices if choice.tool_kind == use.kind and choice.title == title), use.key)
    return msgspec.structs.replace(use, key=key)


def _considered(rule: Rule, use: ToolUse) -> RuleMatch:
    outcomes = {name: decide.matches(_only(rule, name), use) for name in CONDITIONS if getattr(rule, name) is not None}
    matched = decide.matches(rule, use)
    if matched is False:
        why = "; ".join(_missed(name, rule, use) for name, holds in outcomes.items() if holds is False)
    elif matched is None:
        unsaid = " and ".join(name for name, holds in outcomes.items() if holds is None)
        why = f"it may be about this: the {unsaid} is not said, so a person is asked"
    else:
        why = "; ".join(f"{name} {getattr(rule, name)}" for name in outcomes) or "it is about everything"
    return RuleMatch(rule.id, rule.position, rule.effect, matched is not False, why)


def _only(rule: Rule, name: str) -> Rule:
    """Returns the rule with only one condition."""
    others = dict.fromkeys((condition for condition in CONDITIONS if condition != name), None)
    return msgspec.structs.replace(rule, **others)


def _missed(name: str, rule: Rule, use: ToolUse) -> str:
    """Says what would have to be different for a rule to match."""
    expected = getattr(rule, name)
    if name in ("agent", "kind"):
        return f"{name} is {getattr(use, name)}, not {expected}"
    if name == "command" and use.command is None:
        return f"there is no command to be {expected}"
    if name == "path" and not use.paths:
        return f"there is no path to be {expected}"
    return f"{name} is not {expected}"
