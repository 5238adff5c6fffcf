"""Manages rules: decisions made beforehand about tool uses, in the order in which they apply (P3)."""

from __future__ import annotations

from typing import Any

import msgspec

from bough.agents.catalog import Catalog
from bough.core.policy import globs
from bough.core.store.paging import Page, read_page
from bough.core.store.patches import changed_fields
from bough.core.store.short_ids import find
from bough.core.store.sql import RULES
from bough.core.store.transactions import Change, Store
from bough.errors import Conflict, Denied, Invalid
from bough.model.access.audit import AuditAction
from bough.model.message import raw
from bough.model.rule import Effect, Rule
from bough.model.session import Caller
from bough.model.tool import ToolKind
from bough.model.values.ids import new_id

LONGEST_PATTERN = 1000
LONGEST_NOTE = 2000
# All rules are read for every question.
MOST_RULES = 1000
# Conditions that narrow a rule to some tool uses; an agent's name alone does not.
MATCHERS = ("kind", "tool", "command", "path")
PATTERNS = ("tool", "command", "path")
# A pattern of only these characters matches everything.
WILD = "*?/"


class NewRule(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A rule to add. Omitted conditions match everything, so at least one is required."""

    effect: Effect
    agent: str | None = None
    kind: ToolKind | None = None
    tool: str | None = None
    command: str | None = None
    path: str | None = None
    note: str = ""
    position: int | None = None
    idempotency_key: str | None = None


class RulePatch(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Changes to a rule. Omitted fields stay, null removes a condition, and a position moves the rule."""

    effect: Effect | msgspec.UnsetType = msgspec.UNSET
    agent: str | msgspec.UnsetType | None = msgspec.UNSET
    kind: ToolKind | msgspec.UnsetType | None = msgspec.UNSET
    tool: str | msgspec.UnsetType | None = msgspec.UNSET
    command: str | msgspec.UnsetType | None = msgspec.UNSET
    path: str | msgspec.UnsetType | None = msgspec.UNSET
    note: str | msgspec.UnsetType = msgspec.UNSET
    position: int | msgspec.UnsetType = msgspec.UNSET


class Rules:
    """Stores the rules. Positions are 1, 2, 3 … without a gap, and a change applies from the next question on."""

    def __init__(self, store: Store, catalog: Catalog) -> None:
        self._store = store
        self._catalog = catalog

    async def add(self, caller: Caller, new: NewRule) -> Rule:
        only_people(caller)
        fields = msgspec.structs.asdict(new)
        position = fields.pop("position")
        del fields["idempotency_key"]
        self._check(fields)
        _check_position(position)

        async def work(change: Change) -> Rule:
            known = await change.tx.all(RULES.all, Rule)
            if len(known) >= MOST_RULES:
                raise Conflict(
                    "too_many_rules", f"There are already {MOST_RULES} rules, which is the limit. Remove some first."
                )
            new_position = min(position or MOST_RULES, len(known) + 1)
            by = raw(caller.record())
            rule = await change.tx.one(
                RULES.add, Rule, id=new_id(), position=new_position, created_by=by, now=change.now, **fields
            )
            assert rule is not None
            change.emit("rule.created", rule)
            _audit(change, caller, "rule.added", rule)
            await _number(change, [*known[: new_position - 1], rule, *known[new_position - 1 :]])
            return rule

        request = [position, fields]
        return await self._store.write_once(caller, "rules.add", request, Rule, work)

    async def get(self, rule_id: str) -> Rule:
        return await self._store.read(lambda tx: find(tx, "rules", rule_id, RULES.get, Rule))

    async def list(self, limit: int, offset: int) -> Page[Rule]:
        """Lists rules in the order in which they apply."""

        return await self._store.read(lambda tx: read_page(tx, RULES.page, RULES.count, Rule, limit, offset))

    async def patch(self, caller: Caller, rule_id: str, patch: RulePatch) -> Rule:
        """Changes a rule and validates it like a new one. A position moves it, and the others close the gap."""
        only_people(caller)
        changes = changed_fields(patch)
        _check_position(changes.get("position"))

        async def work(change: Change) -> Rule:
            before = await find(change.tx, "rules", rule_id, RULES.get, Rule)
            current = {name: getattr(before, name) for name in ("effect", "agent", "note", *MATCHERS)}
            # A rule may keep the name of an agent that no longer exists.
            self._check(current | changes, known_agent=before.agent)
            others = [item for item in await change.tx.all(RULES.all, Rule) if item.id != before.id]
            new_position = min(changes.get("position", before.position), len(others) + 1)
            rule = await _update(change, before.id, **changes | {"position": new_position})
            _audit(change, caller, "rule.changed", rule)
            await _number(change, [*others[: new_position - 1], rule, *others[new_position - 1 :]])
            return rule

        return await self._store.write(work)

    async def remove(self, caller: Caller, rule_id: str) -> Rule:
        only_people(caller)

        async def work(change: Change) -> Rule:
            rule = await find(change.tx, "rules", rule_id, RULES.get, Rule)
            await change.tx.run(RULES.remove, id=rule.id)
            change.emit("rule.removed", rule)
            _audit(change, caller, "rule.removed", rule)
            await _number(change, await change.tx.all(RULES.all, Rule))
            return rule

        return await self._store.write(work)

    def _check(self, fields: dict[str, Any], known_agent: str | None = None) -> None:
        agent = fields["agent"]
        if agent is not None and agent != known_agent:
            self._catalog.get(agent)
        for name in PATTERNS:
            value = fields[name]
            if value is not None and not (value.strip() and len(value) <= LONGEST_PATTERN):
                raise Invalid(
                    "bad_rule",
                    f"{name} has between 1 and {LONGEST_PATTERN} characters; omit it, or send null, to match any.",
                )
            if value is not None:
                _check_glob(name, value)
        if len(fields["note"]) > LONGEST_NOTE:
            raise Invalid("bad_rule", f"A note has at most {LONGEST_NOTE} characters.")
        if fields["effect"] == "allow" and not any(_narrows(fields[name]) for name in MATCHERS):
            raise Invalid(
                "rule_too_wide",
                "This would allow everything. Say what the rule allows: a kind, or a pattern for tool, command or path "
                "that is more than wildcards. To let one session do everything, give it the mode allow-all.",
            )


def only_people(caller: Caller) -> None:
    """Refuses sessions: agents must not decide what agents may do."""
    if caller.kind == "session":
        raise Denied("policy_for_people", "Only people can change rules and remembered choices.")


def _audit(change: Change, caller: Caller, action: AuditAction, rule: Rule) -> None:
    conditions = {name: getattr(rule, name) for name in ("agent", *MATCHERS)}
    change.audit(caller, action, subject_id=rule.id, effect=rule.effect, **conditions)


def _narrows(value: str | None) -> bool:
    return value is not None and bool(value.strip(WILD))


def _check_glob(name: str, pattern: str) -> None:
    """Refuses a glob that can match nothing, before an agent's question depends on it."""
    if (odd := globs.empty_set(pattern)) is not None:
        raise Invalid("bad_rule", f"The {name} {pattern!r} is a pattern that matches nothing: {odd} is an empty set.")


def _check_position(position: int | None) -> None:
    if position is not None and position < 1:
        raise Invalid("bad_rule", "Positions start at 1; a position past the end means the last.")


async def _update(change: Change, rule_id: str, **columns: Any) -> Rule:
    query = RULES.patch.setting(columns)
    fresh = await change.tx.one(query, Rule, id=rule_id, now=change.now, **columns)
    assert fresh is not None
    change.emit("rule.patched", fresh)
    return fresh


async def _number(change: Change, order: list[Rule]) -> None:
    """Numbers the rules in this order and leaves those with the right position alone."""
    for position, rule in enumerate(order, 1):
        if rule.position != position:
            await _update(change, rule.id, position=position)
