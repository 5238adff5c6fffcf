"""Maps the sentences that the demo agent knows to directives, so that people can try Bough in plain words. Only a whole
text counts; every other text without a directive is quoted, as ever."""

SENTENCES = {
    # The examples on the page.
    "Introduce yourself.": (
        "[[say Hello! I am the **demo agent**. I have no model: I know a few sentences, and follow what they say.]]"
    ),
    "Make a plan and work through it.": (
        "[[plan Look around; Change something; Test it]][[slow 10 5]][[say Done with all three steps.]]"
    ),
    "Start a file for my notes.": "[[write notes.md # Notes\n]][[say Your notes are in `notes.md`.]]",
    "Show me what has changed in the repository.": "[[run git status --short]]",
    "Ask me a question.": (
        '[[ask {"message": "What shall I call you?", "required": ["name"], '
        '"properties": {"name": {"type": "string", "title": "Name"}}}]]'
    ),
    "Let another agent introduce itself.": (
        '[[mcp agor_sessions_spawn {"prompt": "Introduce yourself.", "title": "Introduce yourself"}]]'
    ),
    # The tour.
    "Write a friendly HELLO.md for this project.": (
        "[[think The person is new here. A plan first, then the file.]][[plan Look around; Write a greeting; Report]]"
        "[[write HELLO.md # Hello\n\nThis file was written by the demo agent, in a scratch repository.\n]]"
        "[[say I wrote `HELLO.md`. The **plan**, the *edit* with its diff, and these words are all in the transcript.]]"
    ),
    "Run the tests, please.": "[[run python3 -m unittest -q]][[say The tests ran, because you allowed it.]]",
    "What have I asked you so far?": "[[say You have asked me:]][[recall]]",
    "Write notes about this project into NOTES.md.": (
        "[[slow 6 3]]"
        "[[write NOTES.md # Notes\n\n- `greeting.py` greets people by their names.\n- `test_greeting.py` tests it.\n]]"
        "[[say The notes are in `NOTES.md`.]]"
    ),
    "Count slowly to 40.": "[[slow 40 12]][[say That was a long turn.]]",
    "What are you doing right now?": "[[say A side answer: I am counting to 40, and this did not interrupt me.]]",
}

# The words with which Bough begins the last block of a report.
REPORTED = "Sessions that you had started have reported"
REPORT_READ = "[[say Thank you, I have read the report.]]"


def in_directives(text: str, earlier: list[str]) -> str:
    """Returns the directives of a sentence that the agent knows, and any other text unchanged. A conversation in such
    sentences goes on like that when a child reports; `earlier` holds its texts."""
    if text.startswith(REPORTED) and any(_plain(former) in _DIRECTIVES for former in earlier):
        return REPORT_READ
    return _DIRECTIVES.get(_plain(text), text)


def _plain(text: str) -> str:
    """Returns a text without what differs between two ways of typing it."""
    return " ".join(text.split()).casefold().rstrip(".!?")


_DIRECTIVES = {_plain(sentence): directives for sentence, directives in SENTENCES.items()}
