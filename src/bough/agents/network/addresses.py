"""Tells the addresses of the public internet from those of this machine and its network."""

import ipaddress
from typing import Literal

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Reach = Literal["public", "internal", "any"]
"""The addresses that a host's name may lead to: public ones, also those of private networks, or any."""

# Ranges that are not public, but that some versions of Python take for that; and services of cloud providers that hand
# out a machine's credentials.
NOT_PUBLIC = tuple(
    map(
        ipaddress.ip_network,
        (
            *("0.0.0.0/8", "192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32"),
            *("100::/64", "2001::/23", "3fff::/20", "5f00::/16", "64:ff9b:1::/48", "fec0::/10"),
        ),
    )
)
# Private networks, in which a person may list hosts by name.
PRIVATE = tuple(
    map(ipaddress.ip_network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7"))
)
# Addresses in these networks at which cloud providers hand out a machine's credentials.
CREDENTIALS = tuple(map(ipaddress.ip_network, ("100.100.100.200/32", "192.0.0.192/32", "fd00:ec2::/32")))
# IPv6 ranges whose last 32 bits are an IPv4 address: NAT64, IPv4-compatible, and translated ones.
IPV4_INSIDE = tuple(map(ipaddress.IPv6Network, ("64:ff9b::/96", "::/96", "::ffff:0:0:0/96")))


def is_within(address: str, reach: Reach) -> bool:
    """Returns whether a host may have this address."""
    return reach == "any" or is_public(address) or (reach == "internal" and is_internal(address))


def is_public(address: str) -> bool:
    """Returns whether an address belongs to the public internet, also the IPv4 address inside an IPv6 one."""
    parts = _parts(address)
    return bool(parts) and all(
        part.is_global and not part.is_multicast and not part.is_unspecified and not _is_in(part, NOT_PUBLIC)
        for part in parts
    )


def is_internal(address: str) -> bool:
    """Returns whether an address belongs to a private network, and is not known to hand out credentials."""
    parts = _parts(address)
    return len(parts) == 1 and _is_in(parts[0], PRIVATE) and not _is_in(parts[0], CREDENTIALS)


def _parts(address: str) -> list[Address]:
    """Returns an address and the IPv4 addresses inside it; nothing if it is malformed."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return []
    if isinstance(ip, ipaddress.IPv4Address):
        return [ip]
    if ip.ipv4_mapped is not None:
        return [ip.ipv4_mapped]  # The address itself is never global, only the one inside.
    parts: list[Address] = [ip]
    parts += [part for part in (ip.sixtofour, *(ip.teredo or ())) if part is not None]
    if _is_in(ip, IPV4_INSIDE):
        parts.append(ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF))
    return parts


def _is_in(ip: Address, networks: tuple[Network, ...]) -> bool:
    return any(ip.version == network.version and ip in network for network in networks)
