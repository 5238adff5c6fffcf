"""Demands encryption from other machines: a certificate of our own, or a proxy that is named in the settings."""

from __future__ import annotations

import ipaddress
import os
import ssl
import stat
from pathlib import Path

from litestar.types import ASGIApp, Receive, Scope, Send

from bough.api.server.middleware import refuse
from bough.errors import Denied, Invalid
from bough.settings import Settings

ENCRYPTED = frozenset({"https", "wss"})
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def is_loopback(host: str) -> bool:
    """Returns whether only this machine can reach an address."""
    if host == "localhost":
        return True
    address = _address(host)
    return address is not None and address.is_loopback


def check(settings: Settings) -> None:
    """Raises `Invalid` if other machines could reach the server without encryption."""
    if bool(settings.tls_cert) != bool(settings.tls_key):
        raise Invalid("bad_tls", "tls_cert and tls_key belong together: set both, or neither.")
    networks(settings)
    if not is_loopback(settings.host) and not settings.tls_cert and not settings.behind_proxy:
        raise Invalid(
            "needs_tls",
            f"Other machines can reach {settings.host}, so set tls_cert and tls_key, or name the proxy that encrypts "
            "their connections with behind_proxy.",
        )


def networks(settings: Settings) -> list[Network]:
    """Returns the addresses of the named proxies."""
    named: list[Network] = []
    for text in filter(None, (part.strip() for part in settings.behind_proxy.split(","))):
        try:
            named.append(ipaddress.ip_network(text))
        except ValueError as error:
            raise Invalid(
                "bad_setting",
                f"behind_proxy: {text[:100]!r} is not an address or a network, such as 10.0.0.5 or 10.0.0.0/24.",
            ) from error
    return named


def certificate(settings: Settings) -> ssl.SSLContext | None:
    """Loads the server's certificate and key; None if there are none."""
    if not settings.tls_cert:
        return None
    key = Path(settings.tls_key).expanduser()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        if stat.S_IMODE(os.stat(key).st_mode) & 0o007:
            raise Invalid("bad_tls", f"Other users can read {key}. Run: chmod o= {key}")
        # Without a password function, OpenSSL would ask for one on the terminal.
        context.load_cert_chain(Path(settings.tls_cert).expanduser(), key, password=lambda: "")
    except (OSError, ValueError) as error:
        raise Invalid(
            "bad_tls", f"Cannot use the certificate {settings.tls_cert} with the key {key}: {error}"
        ) from error
    return context


class EncryptedOnly:
    """Refuses unencrypted requests of other machines. Only named proxies, and programs on this machine, may say that a
    client reached them by TLS."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._networks = networks(settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket") or scope["scheme"] in ENCRYPTED:
            await self._app(scope, receive, send)
            return
        client = scope["client"]
        peer = _address(client[0]) if client is not None else None
        if peer is not None and self._may_speak_for_others(peer) and _forwarded_by_tls(scope):
            # Cookies, origins and links must fit the address that the client sees.
            scope["scheme"] = "wss" if scope["type"] == "websocket" else "https"
        elif peer is None or not peer.is_loopback:
            error = Denied(
                "needs_tls", "This server accepts only encrypted connections from other machines: use https."
            )
            await refuse(error, scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _may_speak_for_others(self, peer: Address) -> bool:
        return peer.is_loopback or any(peer in network for network in self._networks if network.version == peer.version)


def _forwarded_by_tls(scope: Scope) -> bool:
    protocols = [value.strip().lower() for name, value in scope["headers"] if name.lower() == b"x-forwarded-proto"]
    return protocols in ([b"https"], [b"wss"])


def _address(host: str) -> Address | None:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address
