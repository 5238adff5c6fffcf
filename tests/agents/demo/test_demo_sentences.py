"""The demo agent knows a few sentences, so that people can try Bough in plain words."""

from pathlib import Path

from bough.agents.catalog import load_catalog
from bough.agents.demo.directives import Malformed, parse
from bough.agents.demo.sentences import REPORTED, SENTENCES
from bough.core.state.reports.callbacks import GO_ON
from tests.agents.demo.driver import Driver


def test_the_catalog_offers_sentences_that_the_agent_knows(tmp_path: Path) -> None:
    """O1, L5: Every example and every prompt of the tour is a plain sentence, and the agent knows what to do for it."""
    entry = load_catalog(tmp_path).get("demo")
    assert entry.tour is not None
    tour = [getattr(entry.tour, field) for field in entry.tour.__struct_fields__]
    offered = [example.prompt for example in entry.examples] + tour
    assert sorted(offered) == sorted(SENTENCES)
    assert not any("[[" in sentence for sentence in offered)
    page = (Path(__file__).parents[3] / "docs/reference/demo-agent.md").read_text()
    assert [sentence for sentence in SENTENCES if f"| {sentence} |" not in page] == []
    for directives in SENTENCES.values():
        parsed = parse(directives)
        assert parsed and not any(isinstance(directive, Malformed) for directive in parsed), directives


async def test_a_whole_sentence_is_followed_and_stays_as_it_was_written(agent: Driver, cwd: Path) -> None:
    """L5: A sentence that the agent knows is followed however it is spaced, but only if it is the whole last block; the
    conversation keeps the sentence itself."""
    session = await agent.new(cwd, mode="acceptEdits")
    assert await agent.ask(session, "Start a file for my notes.") == "Your notes are in `notes.md`."
    assert (cwd / "notes.md").read_text() == "# Notes\n"
    assert "demo agent" in await agent.ask(session, " introduce  yourself! ")
    assert await agent.ask(session, "Introduce yourself. Twice.") == (
        'You said "Introduce yourself. Twice.". This is user turn 3.'
    )
    assert await agent.ask(session, "Introduce yourself.", "hm") == 'You said "hm". This is user turn 4.'
    assert await agent.ask(session, "Introduce yourself. [[say no]]") == "no"
    remembered = await agent.ask(session, "[[recall]]")
    assert remembered.splitlines()[:2] == ["1. Start a file for my notes.", "2.  introduce  yourself! "]


async def test_a_report_is_answered_in_words_only_in_a_conversation_of_sentences(agent: Driver, cwd: Path) -> None:
    """L5: After a known sentence, the agent thanks for a child's report; otherwise it quotes the last block as ever."""
    assert GO_ON.startswith(REPORTED)
    script = await agent.new(cwd)
    await agent.ask(script, "[[say hello]]")
    assert await agent.ask(script, "> a report", GO_ON) == f'You said "{GO_ON}". This is user turn 2.'
    person = await agent.new(cwd)
    await agent.ask(person, "Introduce yourself.")
    assert await agent.ask(person, "> a report", GO_ON) == "Thank you, I have read the report."
