"""Renders the metrics of a running server in the Prometheus text format."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Gauge, generate_latest

CONTENT_TYPE = "text/plain; version=0.0.4"

HELP = {
    "bough_sessions": "Sessions by status.",
    "bough_tasks": "Tasks by status.",
    "bough_approvals_pending": "Pending approvals.",
    "bough_agents": "Agent processes by state.",
    "bough_subscribers": "Open event streams.",
    "bough_event_cursor": "The newest event cursor.",
}


def render(values: dict[str, dict[str, float]]) -> bytes:
    """Renders values by metric and label value; an empty label value means no label."""
    registry = CollectorRegistry()
    for name, by_label in values.items():
        labels = ["state"] if any(by_label) else []
        gauge = Gauge(name, HELP[name], labels, registry=registry)
        for label, value in by_label.items():
            (gauge.labels(label) if labels else gauge).set(value)
    return generate_latest(registry)
