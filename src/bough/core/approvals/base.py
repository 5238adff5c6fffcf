"""The base class of the kinds of approvals: which answers fit, what a decision does, what happens if nobody answers.
The kinds themselves are in `tool_uses`, `questions`, `network` and `held_turns`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import msgspec

from bough.agents.catalog import Catalog
from bough.core.store.transactions import Change
from bough.errors import Invalid
from bough.model.approval import Approval, Decision, Option
from bough.model.rule import Scope

Arguments = dict[str, Any]
By = dict[str, Any]

DENIED_ON_EXPIRY = "Nobody answered in time, and the session is set to deny then."
ALLOWED_ON_EXPIRY = "Nobody answered in time, and the session is set to allow then."


class Expired(NamedTuple):
    """The decision for a person who did not answer in time, and its reason."""

    decision: Decision
    reason: str
    # The values of an accepted question.
    content: Arguments | None = None


class Conclusion(NamedTuple):
    """A decision about an approval that follows from another one: whose it is, and why."""

    decision: Decision
    by: By
    reason: str


class ApprovalKind(ABC):
    """One kind of approval. The defaults are those of a kind that knows no "always" and is denied on expiry.

    Each kind has its own `ask`, because the questions have nothing in common; it stores title, reason, options and
    details, and every door shows these. So no kind needs to describe an approval again.
    """

    # Whether a denial on expiry is shown in the transcript.
    shows_denial = True
    # Whether a new mode of the turn can answer it.
    is_judged_again = True

    def __init__(self, name: str) -> None:
        self.name = name

    def offers_always(self, approval: Approval) -> bool:
        """Tells whether people can be offered "always" for this approval."""
        return approval.key is not None

    def check(self, approval: Approval, decision: Decision, arguments: Arguments | None) -> None:
        """Refuses an answer that does not fit the kind."""
        if arguments is not None:
            raise Invalid("bad_answer", "Omit `arguments`: only an allowed call of one of Bough's tools takes them.")

    async def record_answer(
        self, change: Change, approval: Approval, option: Option | None, content: Arguments | None
    ) -> msgspec.Raw | None:
        """Returns the answer to show with the decided approval, if the kind has more than an option to choose."""
        return None

    @abstractmethod
    async def decide(self, change: Change, approval: Approval, by: By, arguments: Arguments | None) -> None:
        """Does what a decision means, whoever made it. The approval's row is decided already."""

    def remembered(self, approval: Approval) -> Scope | None:
        """Returns how far a person's answer is remembered, unless they say otherwise; None if it is not."""
        return None

    async def also_decided(self, change: Change, approval: Approval) -> list[Approval]:
        """Returns the other open approvals that a person's answer decides in the same way."""
        return []

    async def covered(
        self, change: Change, catalog: Catalog, approval: Approval, like: Approval, by: By
    ) -> Conclusion | None:
        """Returns the answer to an open approval with the key of `like`, to which a person just said "always"; None if
        that does not cover it."""
        return None

    async def expire(self, change: Change, catalog: Catalog, approval: Approval) -> Expired:
        """Decides for a person who did not answer in time."""
        return Expired("deny", DENIED_ON_EXPIRY)
