"""Shows what an approval is about to a person who follows a turn, and reads what the person types."""

from __future__ import annotations

from bough.api.cli.approvals.details import describe
from bough.api.cli.approvals.fill_form import FormFill
from bough.api.cli.framework import output
from bough.api.cli.framework.client import Json, part, parts
from bough.api.cli.framework.formats import brief, short
from bough.api.cli.session.follow.print_transcript import TranscriptPrinter

# Lines of a change or a command that are shown with a question; a longer one would push the question's start away.
LONGEST_SUBJECT = 60
ANSWERS = {
    **dict.fromkeys(("y", "yes", "allow"), "allow"),
    **dict.fromkeys(("a", "always"), "allow_always"),
    **dict.fromkeys(("n", "no", "d", "deny"), "deny"),
}


def print_subject(talk: TranscriptPrinter, approval: Json) -> None:
    """Prints the form, the changes that the agent wants to make or the command that it wants to run, or else the
    files."""
    lines = list(describe(approval))
    shown = [line for line in lines if line[0] != f"$ {approval['title']}"]
    for text, style in shown[:LONGEST_SUBJECT]:
        talk.line(f"  {text}", style or "dim")
    if len(shown) > LONGEST_SUBJECT:
        rest = f"{len(shown) - LONGEST_SUBJECT} more lines: bough approval show {short(approval['id'])}"
        talk.line(f"  … {rest}", "dim")
    if not lines:
        for location in parts(part(approval, "toolCall"), "locations"):
            talk.line(f"  {brief(str(location.get('path')), 500)}", "dim")


def read_answer(filling: FormFill | None, text: str) -> Json | None:
    """Returns the answer that the lines typed so far give, if they do; `filling` is the form of a question."""
    if filling is None:
        decision = ANSWERS.get(text.strip().lower())
        return {"decision": decision} if decision is not None else None
    for line in text.splitlines():
        if wrong := filling.take(line):
            output.note(f"  {wrong}")
        if filling.body is not None:
            break
    return filling.body
