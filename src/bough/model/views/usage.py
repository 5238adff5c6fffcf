"""Defines usage by day, agent, repository or tree (O4)."""

from __future__ import annotations

from typing import Literal

import msgspec

from bough.model.views.home import TurnUsage

Grouping = Literal["day", "agent", "repo", "tree"]
GROUPINGS: dict[str, Grouping] = {"day": "day", "agent": "agent", "repo": "repo", "tree": "tree"}


class UsageGroup(TurnUsage, kw_only=True):
    """The usage of one day, agent, repository or tree. `id` is the day (`2026-11-15`), the agent's name, or the id of
    the repository or of the tree's root, which may have been removed since: `name` is then empty."""

    id: str
    name: str


class UsageReport(msgspec.Struct, rename="camel"):
    """Usage since the beginning of a day. Days come in order and include those without turns; other groups come by
    tokens, the largest first, and `rest` sums up those that are left out."""

    by: Grouping
    since: str
    groups: list[UsageGroup]
    rest: TurnUsage
    total: TurnUsage
