"""Sends frames that no client would send to the door of Bough's tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.target import Target
from tests.support.server import serving

FRAMES = Target("mcp_frames", lambda data: None)
HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


@pytest.mark.timeout(300)
async def test_frames_of_clients(tmp_path: Path) -> None:
    """C1: Every frame gets an answer that is no failure of the server, and the server continues."""
    samples = [path.read_bytes() for path in FRAMES.corpus()]
    async with serving(tmp_path) as server:
        http = server.client.http
        for data in (*samples, *FRAMES.fixed_inputs()):
            answer = await http.post("/mcp/", content=data, headers=HEADERS)
            assert answer.status_code < 500, (answer.status_code, answer.text, data)
        call = next(data for data in samples if b'"id":2' in data)
        answer = await http.post("/mcp/", content=call, headers=HEADERS)
        assert answer.status_code == 200, answer.text
