"""Validates environment variables given by callers: their names, their values and their total size."""

from __future__ import annotations

from bough.errors import Invalid, TooLarge

# Linux refuses to start a process with more than a few MiB of environment and arguments, or with a value of 128 KiB.
LARGEST_ENV = 128 * 1024 - 1


def checked_env(env: dict[str, str]) -> dict[str, str]:
    """Returns the variables unchanged, or raises `Invalid` naming the variable but never its value."""
    size = 0
    for name, value in env.items():
        if not name or "=" in name or "\0" in name:
            raise Invalid("bad_env", f"{name!r} is not a valid environment variable name.")
        if "\0" in value:
            raise Invalid("bad_env", f"The value of the environment variable {name!r} contains a NUL character.")
        size += len(f"{name}={value}".encode("utf-8", "surrogatepass")) + 1
    if size > LARGEST_ENV:
        raise TooLarge(
            "env_too_large",
            f"The environment has {size} bytes and the limit is {LARGEST_ENV}. Put long values into a file.",
            limit=LARGEST_ENV,
        )
    return env
