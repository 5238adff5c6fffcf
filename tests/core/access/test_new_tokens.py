"""Tests what a new token may be: its name, its scope beside its user's role, and how long it lives."""

from __future__ import annotations

import msgspec
import pytest

from bough.core.access.new_tokens import (
    DEFAULT_LIFETIME,
    LONGEST_LIFETIME,
    LONGEST_NAME,
    checked_expiry,
    checked_name,
    renewed_expiry,
)
from bough.core.access.token_records import KnownToken, StoredToken
from bough.errors import Denied, Invalid
from bough.model.access.user import ROLES, Role, includes, lower_role
from bough.model.values import times

DAY = 24 * 3600.0


@pytest.mark.parametrize(("name", "stored"), [("", "Token"), (" \n", "Token"), ("  my\tlaptop ", "my laptop")])
def test_names(name: str, stored: str) -> None:
    """L1: A token's name is one line; without one, it is called Token."""
    assert checked_name(name) == stored


@pytest.mark.parametrize("name", ["x" * (LONGEST_NAME + 1), "a\u202eb", "a\x00b"])
def test_bad_names(name: str) -> None:
    """L1: A token's name is short and shows all its characters."""
    with pytest.raises(Invalid, match="printable"):
        checked_name(name)


def test_a_token_expires_by_default() -> None:
    """L1: Without a time, a token lives for 90 days, or as long as the token that creates it if that is shorter."""
    usual = checked_expiry(msgspec.UNSET, None)
    assert usual is not None and abs(times.seconds_until(usual) - DEFAULT_LIFETIME) < DAY
    creators = times.after(DAY)
    assert checked_expiry(msgspec.UNSET, creators) == creators
    later = checked_expiry(msgspec.UNSET, times.after(DEFAULT_LIFETIME + DAY))
    assert later is not None and later <= times.after(DEFAULT_LIFETIME)


def test_a_token_does_not_outlive_its_creators() -> None:
    """L1: A token cannot create one that is valid for longer, nor one without an end."""
    creators = times.after(DAY)
    earlier = times.after(DAY / 2)
    assert checked_expiry(earlier, creators) == earlier
    assert checked_expiry(None, None) is None
    for expires_at in (None, times.after(2 * DAY)):
        with pytest.raises(Denied) as denied:
            checked_expiry(expires_at, creators)
        assert denied.value.code == "token_outlives_yours" and denied.value.details == {"latest": creators}


def test_times_of_expiry() -> None:
    """L1: A time of expiry is in the future, at most ten years ahead, and stored in UTC whatever its offset."""
    moment = times.parse(times.after(DAY)).replace(microsecond=0)
    written = checked_expiry(moment.isoformat().replace("+00:00", "-02:00"), None)
    assert written is not None and times.seconds_between(times.written(moment), written) == 2 * 3600
    for wrong in (times.before(1), times.after(LONGEST_LIFETIME + DAY), "soon"):
        with pytest.raises(Invalid) as invalid:
            checked_expiry(wrong, None)
        assert invalid.value.code == "bad_time"


def test_a_lifetime_starts_again() -> None:
    """L1: A renewed token lives for as long as it was created for, but no longer than the token that renews it, and
    never ends earlier than before."""
    created, expires = times.before(20 * DAY), times.after(10 * DAY)
    renewed = renewed_expiry(created, expires, None)
    assert renewed is not None and abs(times.seconds_until(renewed) - 30 * DAY) < DAY
    latest = times.after(15 * DAY)
    assert renewed_expiry(created, expires, latest) == latest
    assert renewed_expiry(created, expires, times.after(5 * DAY)) == expires
    assert renewed_expiry(created, None, latest) is None


def test_an_expired_token() -> None:
    """L1: A token is expired from its time on; one without a time never is."""
    for expires_at, expired in ((None, False), (times.before(1), True), (times.after(DAY), False)):
        row = StoredToken("id", None, "Token", "viewer", "hash", times.now(), None, expires_at)
        assert KnownToken(row).expired is expired


def test_a_scope_only_lowers_a_role() -> None:
    """L1: What a token may do is the lower of its scope and its user's role, in both orders."""
    roles: tuple[Role, ...] = ("viewer", "operator", "admin")
    assert roles == ROLES
    for low, role in enumerate(roles):
        assert [includes(role, needed) for needed in roles] == [place <= low for place in range(3)]
        for high in roles[low:]:
            assert lower_role(role, high) == lower_role(high, role) == role
