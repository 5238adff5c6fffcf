"""Defines what a new token may be: its name, its scope, and how long it lives."""

from __future__ import annotations

import msgspec

from bough.errors import Denied, Invalid
from bough.model.access.user import Role
from bough.model.values import times

# Seconds; long enough to be no nuisance, short enough that forgotten tokens end.
DEFAULT_LIFETIME = 90 * 24 * 3600
# Seconds; a later end is as good as none, and calendars end in the year 9999.
LONGEST_LIFETIME = 10 * 366 * 24 * 3600
LONGEST_NAME = 200


class NewToken(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A token to add. `user` is the name of its user, by default the caller; `scope` is the most that it may do, by
    default as much as the user. It expires after 90 days unless `expiresAt` says otherwise; null means never."""

    user: str | None = None
    scope: Role | None = None
    name: str = ""
    expires_at: str | msgspec.UnsetType | None = msgspec.UNSET
    idempotency_key: str | None = None


def checked_name(name: str) -> str:
    title = " ".join(name.split()) or "Token"
    if len(title) > LONGEST_NAME or not title.isprintable():
        raise Invalid("bad_name", f"A name must have at most {LONGEST_NAME} printable characters.")
    return title


def checked_expiry(text: str | msgspec.UnsetType | None, latest: str | None) -> str | None:
    """Returns when a new token expires. `latest` is when the token of its creator does: a token cannot create one that
    outlives it."""
    if isinstance(text, msgspec.UnsetType):
        return earlier(times.after(DEFAULT_LIFETIME), latest)
    if text is not None:
        seconds = times.seconds_until(text)
        if seconds <= 0:
            raise Invalid("bad_time", f"{text[:64]!r} has passed; choose a later time for the token to expire.")
        if seconds > LONGEST_LIFETIME:
            raise Invalid("bad_time", f"{text[:64]!r} is more than ten years ahead; choose an earlier time, or null.")
        text = times.written(times.parse(text))
    check_lifetime(text, latest)
    return text


def check_lifetime(expires_at: str | None, latest: str | None) -> None:
    """Raises `Denied` if a secret would be valid for longer than the token of the person who gets it."""
    if latest is not None and (expires_at is None or expires_at > latest):
        raise Denied(
            "token_outlives_yours",
            f"This token would be valid for longer than the one that you use, which expires at {latest}.",
            latest=latest,
        )


def renewed_expiry(created_at: str, expires_at: str | None, latest: str | None) -> str | None:
    """Returns the end of a token whose lifetime starts again, as far as the token of the person who renews it goes."""
    if expires_at is None:
        return None
    lifetime = min(times.seconds_between(created_at, expires_at), LONGEST_LIFETIME)
    return max(expires_at, earlier(times.after(lifetime), latest))


def earlier(moment: str, other: str | None) -> str:
    return moment if other is None else min(moment, other)
