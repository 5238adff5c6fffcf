"""Tests which addresses are public, and which belong to a private network."""

from __future__ import annotations

import pytest

from bough.agents.network.addresses import is_internal, is_public, is_within


@pytest.mark.parametrize("address", ["93.184.215.14", "2606:4700::1111", "::ffff:93.184.215.14", "64:ff9b::808:808"])
def test_public_addresses(address: str) -> None:
    """S6: Addresses of the internet, also those inside others."""
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        *(
            "127.0.0.1",
            "127.8.8.8",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "100.64.0.1",
            "169.254.169.254",
        ),
        *("224.0.0.1", "255.255.255.255", "192.0.2.1", "::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "ff02::1"),
        *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "2002:a00:1::", "nonsense", ""),
        *("192.0.0.192", "192.88.99.1", "168.63.129.16", "::7f00:1", "::ffff:0:7f00:1", "::ffff:0:a00:1", "fec0::1"),
        *("64:ff9b:1::a00:1", "3fff::1", "100::1", "2001::1", "5f00::1", "0.1.2.3"),
    ],
)
def test_other_addresses(address: str) -> None:
    """S6: Loopback, private, link-local, shared and multicast addresses, in every disguise, on every Python."""
    assert not is_public(address)


@pytest.mark.parametrize(
    "address", ["10.0.0.5", "172.16.0.1", "192.168.1.1", "100.64.0.1", "fd12::1", "::ffff:10.0.0.5"]
)
def test_internal_addresses(address: str) -> None:
    """S6: Only hosts that a person lists as internal may have them."""
    assert is_internal(address) and is_within(address, "internal") and not is_within(address, "public")


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "::1", "169.254.169.254", "fe80::1", "100.100.100.200", "fd00:ec2::254", "0.0.0.0", "x"]
)
def test_no_name_leads_to_this_machine_or_its_credentials(address: str) -> None:
    """S6: Also an internal name leads neither to this machine nor to what hands out a machine's credentials."""
    assert not is_within(address, "internal") and is_within(address, "any")
