"""A scripted model in this event loop, and one-line requests to it."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import httpx
import pytest

from tests.support.scripted_model.running import ScriptedModel, scripted_model


@pytest.fixture
async def model() -> AsyncGenerator[ScriptedModel]:
    async with scripted_model(delay=0) as model:
        yield model


@pytest.fixture
async def http(model: ScriptedModel) -> AsyncGenerator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=model.url, trust_env=False, timeout=10) as http:
        yield http
