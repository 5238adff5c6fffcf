"""Masks secret values (R1): names stay, values become `***`."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit

from bough.model.values.redaction import MASK


def masked(values: dict[str, str]) -> dict[str, str]:
    """Replaces every value by the mask."""
    return dict.fromkeys(values, MASK)


def unmasked(values: dict[str, str], stored: dict[str, str]) -> dict[str, str]:
    """Returns the new values, keeping the stored value wherever the mask was sent back."""
    return {name: stored.get(name, value) if value == MASK else value for name, value in values.items()}


def is_address(url: str) -> bool:
    """Tells whether `url` is an HTTP address."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False


def masked_url(url: str) -> str:
    """Returns the address without its credentials and query values."""
    parts = urlsplit(url)
    login, at, place = parts.netloc.rpartition("@")
    user, colon, _ = login.partition(":")
    # A user name without a password is often a token, so it is masked.
    netloc = (f"{user}:{MASK}" if colon and user else MASK) + at + place if at else place
    pieces = [_masked_piece(piece) for piece in parts.query.split("&") if piece]
    return urlunsplit((parts.scheme, netloc, parts.path, "&".join(pieces), MASK if parts.fragment else ""))


def _masked_piece(piece: str) -> str:
    name, equals, _ = piece.partition("=")
    return f"{name}={MASK}" if equals else MASK
