"""Adds users to a server under test and calls it as them."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import AsyncGenerator
from typing import Any

import httpx

from tests.support.client import Client
from tests.support.server import Running


async def token_of(server: Running, name: str, role: str, **fields: Any) -> str:
    """Adds a user, if there is none with that name, and returns a new token of that user."""
    users = (await server.client.get("/api/users"))["users"]
    if name not in [user["name"] for user in users]:
        await server.client.post("/api/users", {"name": name, "role": role})
    return (await server.client.post("/api/tokens", {"user": name, **fields}))["token"]


@contextlib.asynccontextmanager
async def as_person(server: Running, token: str) -> AsyncGenerator[Running]:
    """Yields the server with a client and a token of somebody else."""
    headers = {"authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(base_url=server.url, headers=headers, timeout=30, verify=False) as http:
        yield dataclasses.replace(server, token=token, client=Client(http, server.url, token))


@contextlib.asynccontextmanager
async def as_user(server: Running, name: str, role: str) -> AsyncGenerator[Running]:
    """Yields the server as a new user sees it."""
    async with as_person(server, await token_of(server, name, role)) as user:
        yield user
