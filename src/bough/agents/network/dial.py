"""Connects to allowed hosts. Names are resolved here, outside the box, and lead only to allowed addresses."""

import asyncio
import contextlib
import socket
from itertools import zip_longest

from bough.agents.network.addresses import Reach, is_within
from bough.agents.network.hosts import HostAndPort

RESOLVE_WITHIN = 15.0
CONNECT_WITHIN = 15.0
"""Seconds for each address of a host; a reachable one answers within one."""
STAGGER = 0.3
"""Seconds after which the next address is tried as well: a machine may have IPv6 that leads nowhere."""
MOST_ADDRESSES = 8

ResolvedAddress = tuple[socket.AddressFamily, tuple[str, int]]


class Unreachable(Exception):
    """A host that could not be connected, with a sentence that says why."""


class NotPublic(Unreachable):
    """A host whose name leads into this machine or its network, where programs trust whoever is inside."""


async def dial(target: HostAndPort, reach: Reach) -> socket.socket:
    """Returns a connected socket. Raises `NotPublic` if the target has only addresses that it may not have, and
    `Unreachable`."""
    addresses = await _resolve(target)
    allowed = _alternating([address for address in addresses if is_within(address[1][0], reach)])
    if not allowed:
        raise NotPublic(
            "Its name leads to an address that is not on the public internet. A person can list a host of a private "
            f"network as internal:{target.name}."
        )
    attempts: set[asyncio.Task[socket.socket]] = set()
    failure: BaseException | None = None
    try:
        for number, address in enumerate(allowed, 1):
            attempts.add(asyncio.create_task(_connect(address, reach)))
            while attempts:
                wait = STAGGER if number < len(allowed) else None
                done, attempts = await asyncio.wait(attempts, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
                for attempt in done:
                    failure = attempt.exception()
                    if failure is None or isinstance(failure, NotPublic):
                        attempts |= done - {attempt}
                        return attempt.result()
                if wait is not None:
                    break
    finally:
        await _give_up(attempts)
    raise Unreachable(f"It could not be connected: {failure}.")


async def _connect(address: ResolvedAddress, reach: Reach) -> socket.socket:
    """Connects to one address. Raises `Unreachable` with the reason as a phrase, and `NotPublic`."""
    sock = socket.socket(address[0], socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        async with asyncio.timeout(CONNECT_WITHIN):
            await asyncio.get_running_loop().sock_connect(sock, address[1])
        # An address of this machine in another network leads to it, too.
        if reach != "any" and _is_this_machine(sock):
            raise NotPublic("Its name leads to this machine itself.")
    except TimeoutError as error:
        sock.close()
        raise Unreachable("no answer") from error
    except OSError as error:
        sock.close()
        raise Unreachable(error.strerror or str(error)) from error
    except BaseException:
        sock.close()
        raise
    return sock


def _is_this_machine(sock: socket.socket) -> bool:
    return sock.getsockname()[0] == sock.getpeername()[0]


async def _give_up(attempts: set[asyncio.Task[socket.socket]]) -> None:
    """Ends attempts that nobody waits for anymore."""
    for attempt in attempts:
        attempt.cancel()
    for attempt in attempts:
        with contextlib.suppress(asyncio.CancelledError, Unreachable):
            (await attempt).close()


def _alternating(addresses: list[ResolvedAddress]) -> list[ResolvedAddress]:
    """Returns some of the addresses, in turn of the family that the system prefers and of the others."""
    preferred = [address for address in addresses if address[0] == addresses[0][0]]
    others = [address for address in addresses if address[0] != addresses[0][0]]
    ordered = [address for pair in zip_longest(preferred, others) for address in pair if address is not None]
    return ordered[:MOST_ADDRESSES]


async def _resolve(target: HostAndPort) -> list[ResolvedAddress]:
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
