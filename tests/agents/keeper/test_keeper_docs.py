"""`docs/reference/keeper.md` matches the program: frames, notes, files and limits."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

from bough.agents.keeper import files, frames, journal
from bough.agents.keeper_client.start_keeper import LOG

ROOT = Path(__file__).parents[3]
DOCS = (ROOT / "docs/reference/keeper.md").read_text()
SOURCES = ROOT / "src" / "bough" / "agents" / "keeper"


def rows(section: str) -> list[list[str]]:
    """Returns the cells of all tables under a heading."""
    text = DOCS.split(f"# {section}\n", 1)[1].split("\n#", 1)[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]


def names(section: str) -> dict[str, str]:
    """Maps each name in the first column to its second column."""
    return {row[0].strip("`"): row[1] for row in rows(section) if row[0].startswith("`")}


def test_frames() -> None:
    """O2: Every kind of frame is documented with its number, and there are no others."""
    known = {name: value for name, value in vars(frames).items() if name.isupper() and isinstance(value, int)}
    kinds = {name: str(value) for name, value in known.items() if name not in ("VERSION", "FRAME_CAP", "OPEN")}
    assert names("Frames") == kinds
    sizes = [int(row[0]) for row in rows("Frames") if row[0].isdigit()]
    assert sum(sizes) == frames.HEADER.size
    assert f"`version` is {frames.VERSION}." in DOCS


def test_notes() -> None:
    """O2: Every note that a keeper can make is documented, and there are no others."""
    made: set[str] = set()
    for path in SOURCES.glob("*.py"):
        made.update(re.findall(r"""(?:note|refuse)\(\s*"([a-z_]+)",""", path.read_text()))
    assert set(names("Notes")) == made


def test_files() -> None:
    """O2: Every file in a keeper's folder is documented."""
    known = {files.KEEPER, files.START, files.EXIT, files.SOCKET, files.NETWORK_LOG, journal.NAME, LOG}
    assert set(names("The folder")) == known
    assert f"`{files.MARK}=NAME`" in DOCS


def test_limits() -> None:
    """O2: The documented limits are those of the program."""
    documented = names("Limits")
    assert len(documented) > 15
    for name, value in documented.items():
        module, _, constant = name.rpartition(".")
        assert getattr(importlib.import_module(f"bough.agents.{module}"), constant) == float(value), name


def test_the_example_that_reads_a_journal(tmp_path: Path) -> None:
    """O2: The example that prints a journal works."""
    (script,) = re.findall(r"```python\n(.*?)```", DOCS, re.DOTALL)
    (tmp_path / "journal").write_bytes(
        frames.send_frame("key", b"hello") + frames.frame(frames.LINES, b"hi\n", first=1)
    )
    command = [sys.executable, "-c", script, str(tmp_path / "journal")]
    output = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    assert output.splitlines() == ["2 0 b'keyhello'", "17 1 b'hi\\n'"]
