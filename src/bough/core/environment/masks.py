"""What is shown of values that are secret (R1): names stay, values become `***`. Keeping the values is the part of
whoever stores them."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit

MASK = "***"


def masked(values: dict[str, str]) -> dict[str, str]:
    """The same names, with nothing to read."""
    return dict.fromkeys(values, MASK)


def unmasked(values: dict[str, str], known: dict[str, str]) -> dict[str, str]:
    """New values, where one that comes back as it was shown stays what it is."""
    return {name: known.get(name, value) if value == MASK else value for name, value in values.items()}


def is_address(url: str) -> bool:
    """Whether this is an address that HTTP reaches."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False


def masked_url(url: str) -> str:
    """An address without what may be secret in it: who logs in, and the values of its query."""
    parts = urlsplit(url)
    login, at, place = parts.netloc.rpartition("@")
    user, colon, _ = login.partition(":")
    # A name alone is a token as often as not; with a password, it is a name.
    netloc = (f"{user}:{MASK}" if colon and user else MASK) + at + place if at else place
    pieces = [_masked_piece(piece) for piece in parts.query.split("&") if piece]
    return urlunsplit((parts.scheme, netloc, parts.path, "&".join(pieces), MASK if parts.fragment else ""))


def _masked_piece(piece: str) -> str:
    name, equals, _ = piece.partition("=")
    return f"{name}={MASK}" if equals else MASK
