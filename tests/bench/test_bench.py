"""Tests the table of benchmarks: every benchmark is in it, and missed targets stand out."""

from __future__ import annotations

import json

from bench.__main__ import ALL
from bench.support import report
from bench.support.report import Result, Row

RESULT = Result(
    title="speed",
    about="How fast.",
    rows=[
        Row(name="met", ours="1 s", target="≤ 2 s", number=1.0, ok=True),
        Row(name="not met", ours="3 s", target="≤ 2 s", number=3.0, ok=False),
        Row(name="only shown", ours="5 s"),
    ],
)


def test_every_benchmark_is_documented() -> None:
    """L1b: The page has a table for each benchmark, and no other."""
    page = report.PAGE.read_text("utf-8")
    titles = [line.removeprefix("## ") for line in page.splitlines() if line.startswith("## ")]
    assert titles == list(ALL)
    assert "Measured on " in page and "make bench" in page


def test_a_missed_target_is_marked() -> None:
    """L1b: A reader sees at once which targets were missed, in a terminal and on the page."""
    lines = report.as_text(RESULT).splitlines()
    assert [line.split()[-1] for line in lines[2:4]] == ["ok", report.MISSED]
    page = report.as_markdown([RESULT], ["speed"])
    assert "| not met |  | 3 s |  | ≤ 2 s | **MISSED** |" in page
    assert "**Targets missed: 1.**" in page


def test_tables_that_were_not_measured_again_stay() -> None:
    """L1b: Storing one benchmark leaves the others' tables as they were."""
    titles = ["speed", "size", "weight"]
    size = Result(title="size", about="How large.", rows=[Row(name="all", ours="2 MB")])
    page = report.as_markdown([size], titles, report.as_markdown([RESULT], titles))
    assert [line for line in page.splitlines() if line.startswith("## ")] == ["## speed", "## size", "## weight"]
    assert "How fast." in page and "How large." in page and page.count("Not measured yet.") == 1
    assert report.as_markdown([size], titles, page) == page


def test_json_has_the_same_results() -> None:
    """L1b: The JSON document has every row with its value."""
    rows = json.loads(report.as_json([RESULT]))["results"][0]["rows"]
    assert [(row["name"], row["number"], row["ok"]) for row in rows] == [
        ("met", 1.0, True),
        ("not met", 3.0, False),
        ("only shown", None, None),
    ]
