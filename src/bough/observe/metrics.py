"""Numbers about a running server, in Prometheus' text form. They are read when asked for."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Gauge, generate_latest

CONTENT_TYPE = "text/plain; version=0.0.4"

HELP = {
    "bough_sessions": "Sessions by status.",
    "bough_tasks": "Tasks by status.",
    "bough_approvals_pending": "Questions that wait for a person.",
    "bough_agents": "Living agent processes by what they do.",
    "bough_subscribers": "Open event streams.",
    "bough_event_cursor": "The newest event cursor.",
}


def render(values: dict[str, dict[str, float]]) -> bytes:
    """Values by metric, then by label value (an empty one: no label)."""
    registry = CollectorRegistry()
    for name, by_label in values.items():
        labels = ["state"] if any(by_label) else []
        gauge = Gauge(name, HELP[name], labels, registry=registry)
        for label, value in by_label.items():
            (gauge.labels(label) if labels else gauge).set(value)
    return generate_latest(registry)
