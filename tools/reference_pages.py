"""`python -m tools.reference_pages DOCS` writes the generated sections of the pages in the folder DOCS. A section is
between two markers, `<!-- NAME -->` and `<!-- end of NAME -->`; people write everything else."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

from bough.api.mcp.protocol import guide
from tools import acp_reference, agent_reference, cli_reference, mcp_reference, mode_reference, settings_reference

# Page → name of the section → function that generates it.
PAGES: dict[str, dict[str, Callable[[], str]]] = {
    "reference/settings.md": settings_reference.SECTIONS,
    "reference/cli.md": cli_reference.SECTIONS,
    "reference/agents.md": agent_reference.SECTIONS,
    "reference/acp.md": acp_reference.SECTIONS,
    "reference/mcp.md": mcp_reference.SECTIONS,
    "reference/modes.md": mode_reference.SECTIONS,
    "how-to/orchestrate-agents.md": {"guide": guide.text},
}


def replace_section(text: str, name: str, section: str) -> str:
    """Returns a page's text with the section between its markers replaced."""
    between = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)", re.DOTALL)
    if between.search(text) is None:
        raise SystemExit(f"The markers of the section {name!r} are missing.")
    return between.sub(lambda match: f"{match[1]}{section}\n{match[2]}", text)


def write(folder: Path) -> None:
    """Regenerates the sections of every page in the folder."""
    for name, sections in PAGES.items():
        page = folder / name
        text = page.read_text("utf-8")
        for section, generate in sections.items():
            text = replace_section(text, section, generate())
        page.write_text(text, "utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
