"""Describes the limit of an agent's account that a parked task waits for."""

from __future__ import annotations

from bough.api.cli.framework.client import Json
from bough.api.cli.framework.formats import moment
from bough.api.cli.framework.terminal_safety import clean


def describe_limit(parked: Json) -> str:
    """Returns the limit and its end, such as `Usage limit of AGENT; resumes at 2026-11-18 14:05`."""
    account = f" ({clean(parked['account'])})" if parked["account"] else ""
    name = f"{'Usage' if parked['kind'] == 'usage' else 'Rate'} limit of {clean(parked['agent'])}{account}"
    if parked["resumesAt"] is None:
        return f"{name}; waits for your answer after {parked['tries']} tries. {clean(parked['reason'])}"
    return f"{name}; resumes at {moment(parked['resumesAt'])}. {clean(parked['reason'])}"
