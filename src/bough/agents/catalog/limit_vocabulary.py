"""Defines the words in which an agent reports that a limit ended its turn: the account's, the service's or that of the
model's context."""

from __future__ import annotations

import msgspec


class LimitVocabulary(msgspec.Struct, rename="kebab", forbid_unknown_fields=True, kw_only=True):
    """An agent's reports of limits, in its errors and in the final text of a turn that failed."""

    # Error codes that mean a limit of the account or of the service.
    codes: list[int] = []
    # Fields of an error's data that mean the same, as `path.to.field=value`.
    data: list[str] = []
    # Regular expressions for words that mean the same.
    words: list[str] = []
    # Regular expressions for those of these words that mean that the account's allowance is used up. All other limits
    # are of requests in a short time.
    usage: list[str] = []
    # Regular expressions that find when the limit ends, by the groups `seconds`, `duration` (1h5m), or `clock` (2:54
    # PM) with an optional `date` (Nov 20) and `zone` (Europe/Berlin); without a zone it is the server's time.
    resets: list[str] = []
    # Regular expressions for words that mean that the conversation no longer fits the model's context.
    context: list[str] = []
    # The agent's command that shortens its conversation, such as `/compact`.
    compact: str = ""

    def patterns(self) -> list[str]:
        """Returns all regular expressions."""
        return [*self.words, *self.usage, *self.resets, *self.context]
