"""Signs in as a browser does: follows the link, keeps its cookie, and redeems the ticket for a page key."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from urllib.parse import urldefrag

import httpx

LOCATION_PREFIX = "ticket="


@dataclass
class SignedIn:
    """A signed-in browser. `http` has its cookie and sends nothing else by itself."""

    http: httpx.AsyncClient
    key_id: str
    key: str
    origin: str

    @property
    def cookie(self) -> str:
        return "; ".join(f"{name}={value}" for name, value in self.http.cookies.items())

    @property
    def headers(self) -> dict[str, str]:
        """The headers of a request that the page makes."""
        return {"authorization": f"Bearer {self.key}", "origin": self.origin}

    @property
    def socket_protocols(self) -> list[str]:
        """The protocols that the page offers when it opens a WebSocket."""
        return ["bough", f"bough.key.{self.key}"]


async def follow_link(http: httpx.AsyncClient, token: str) -> str:
    """Opens the link, which sets the cookie, and returns the ticket."""
    answer = await http.get("/", params={"token": token}, follow_redirects=False)
    assert answer.status_code == 303
    fragment = urldefrag(answer.headers["location"]).fragment
    assert fragment.startswith(LOCATION_PREFIX)
    return fragment.removeprefix(LOCATION_PREFIX)


@contextlib.asynccontextmanager
async def signed_in(url: str, token: str, user_agent: str = "") -> AsyncGenerator[SignedIn]:
    """Yields a browser that has opened the link with the server's token."""
    async with httpx.AsyncClient(base_url=url, timeout=30, verify=False) as http:
        ticket = await follow_link(http, token)
        headers = {"origin": url, "user-agent": user_agent}
        answer = await http.post("/sign-in", json={"ticket": ticket}, headers=headers)
        assert answer.status_code == 201, answer.text
        yield SignedIn(http, answer.json()["id"], answer.json()["key"], url)
