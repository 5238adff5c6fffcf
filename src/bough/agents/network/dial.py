"""Connects to allowed hosts. Names are resolved here, outside the box, and lead only to public addresses."""

import asyncio
import socket

from bough.agents.network.hosts import Target, is_public

RESOLVE_WITHIN = 15.0
CONNECT_WITHIN = 15.0
"""Seconds for each address of a host; a reachable one answers within one."""
MOST_ADDRESSES = 8


class Unreachable(Exception):
    """A host that could not be connected, with a sentence that says why."""


class NotPublic(Unreachable):
    """A host whose name leads into this machine or its network, where programs trust whoever is inside."""


async def dial(target: Target, *, trusted: bool) -> socket.socket:
    """Returns a connected socket. Raises `NotPublic` unless the target may have any address, and `Unreachable`."""
    addresses = await _resolve(target)
    allowed = [address for address in addresses if trusted or is_public(address[1][0])]
    if not allowed:
        raise NotPublic("Its name leads to an address that is not on the public internet.")
    failure = "no answer"
    for family, address in allowed[:MOST_ADDRESSES]:
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            sock.setblocking(False)
            async with asyncio.timeout(CONNECT_WITHIN):
                await asyncio.get_running_loop().sock_connect(sock, address)
            # A public address of this machine leads to it, too.
            if not trusted and sock.getsockname()[0] == sock.getpeername()[0]:
                raise NotPublic("Its name leads to this machine itself.")
            return sock
        except TimeoutError:
            sock.close()
        except OSError as error:
            sock.close()
            failure = error.strerror or str(error)
        except BaseException:
            sock.close()
            raise
    raise Unreachable(f"It could not be connected: {failure}.")


async def _resolve(target: Target) -> list[tuple[socket.AddressFamily, tuple[str, int]]]:
    """Returns the addresses of a host. They are used as they are, so that a name cannot change in between."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(RESOLVE_WITHIN):
            results = await loop.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except TimeoutError as error:
        raise Unreachable("Its name could not be resolved in time.") from error
    except (OSError, UnicodeError) as error:
        raise Unreachable(f"Its name could not be resolved: {error}.") from error
    return [(family, (str(address[0]), int(address[1]))) for family, _, _, _, address in results]
