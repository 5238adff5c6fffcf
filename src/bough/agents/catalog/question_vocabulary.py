"""Defines where an agent marks parts of its questions that the protocol has no field for."""

from __future__ import annotations

import msgspec


class QuestionVocabulary(msgspec.Struct, rename="kebab", forbid_unknown_fields=True, kw_only=True):
    """The fields of `_meta` in an agent's questions, each as `path.to.field`."""

    # Of a field whose answer is a password or key.
    secret_meta: str = ""
    # Of a choice: a sample of the result to show with it.
    preview_meta: str = ""
