"""Tests which line of a dead agent's stderr is shown to people."""

import pytest

from bough.agents.process.stderr import telling_line

NODE = """(node:12) Warning: something is old
/app/index.js:3
    throw new Error("no such model");
    ^

Error: no such model
    at Object.<anonymous> (/app/index.js:3:11)
    at node:internal/main/run_main_module:36:49 {
  code: 'E_MODEL'
}

Node.js v20.19.2
"""
PYTHON = """Traceback (most recent call last):
  File "/app/agent.py", line 1, in <module>
    open("key")
FileNotFoundError: [Errno 2] No such file or directory: 'key'
"""
RUST = """thread 'main' panicked at src/main.rs:2:5:
disk full
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace
"""


@pytest.mark.parametrize(
    ("stderr", "line"),
    [
        (NODE, "Error: no such model"),
        (PYTHON, "FileNotFoundError: [Errno 2] No such file or directory: 'key'"),
        (RUST, "thread 'main' panicked at src/main.rs:2:5:"),
        ("Error: quota exceeded\nsaved the log\nbye\n", "Error: quota exceeded"),
        ("no credentials: run `agent login` first\n", "no credentials: run `agent login` first"),
        ("\n\n", ""),
        ("", ""),
    ],
)
def test_the_line_with_the_cause_is_quoted(stderr: str, line: str) -> None:
    """R1, T3: The error of a dead agent quotes the line that explains its death, not the noise that follows it."""
    assert telling_line(stderr) == line
