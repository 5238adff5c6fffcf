"""Builds rules, choices and tool uses in one line for the tests of policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from bough.agents.catalog import load_catalog
from bough.core.policy.protected_paths import ProtectionContext, agents_patterns, written
from bough.model.rule import Choice, Effect, Rule, Scope
from bough.model.tool import ToolUse
from bough.model.values.ids import new_id

CWD = "/work space/repo"
PLACES = ProtectionContext(CWD, "/nowhere", "/home/me", (), agents_patterns(load_catalog(Path("/nowhere")).protected))
NULL = msgspec.Raw(b"null")
AT = "2026-11-15T08:19:00.000000Z"


def rule(effect: Effect, **conditions: Any) -> Rule:
    defaults: dict[str, Any] = {"agent": None, "kind": None, "tool": None, "command": None, "path": None, "note": ""}
    return Rule(
        id=new_id(), position=1, effect=effect, created_by=NULL, created_at=AT, updated_at=AT, **defaults | conditions
    )


def choice(key: str, agent: str = "demo", scope: Scope = "session") -> Choice:
    return Choice(new_id(), scope, None, None, agent, "execute", key, key, None, NULL, AT)


def use(kind: Any = "other", *paths: str, **fields: Any) -> ToolUse:
    protected = tuple(hit for path in paths if (hit := written(path, PLACES)) is not None)
    defaults: dict[str, Any] = {"agent": "demo", "cwd": CWD, "kind": kind, "paths": paths, "key": "k"}
    defaults["protected"] = protected
    return ToolUse(**defaults | fields)
