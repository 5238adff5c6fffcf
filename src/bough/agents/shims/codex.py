"""Stands in for `codex`, between Codex's ACP adapter and its `app-server`: the adapter calls every folder trusted, and
Codex would then take rules, MCP servers and hooks from the repository. It uses the standard library alone."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

TRUSTED = re.compile(rb'"trust_level"\s*:\s*"trusted"')
UNTRUSTED = b'"trust_level":"untrusted"'
PROGRAM = Path("node_modules", "@openai", "codex", "bin", "codex.js")


def main() -> int:
    """Runs the real program, with its input changed in that one place."""
    child = subprocess.Popen([*find_codex(), *sys.argv[1:]], stdin=subprocess.PIPE)
    assert child.stdin is not None
    try:
        # A quotation mark within a JSON text is escaped, so what people write is never touched.
        for line in sys.stdin.buffer:
            child.stdin.write(TRUSTED.sub(UNTRUSTED, line))
            child.stdin.flush()
        child.stdin.close()
    except BrokenPipeError:
        pass  # It has ended by itself, and says how.
    return child.wait()


def find_codex() -> list[str]:
    """The codex that the adapter would have started: the one of its own package, else the user's."""
    for word in parent_command():
        for folder in Path(os.path.realpath(word)).parents if word.startswith(os.sep) else ():
            if (folder / PROGRAM).is_file():
                return [parent_command()[0], str(folder / PROGRAM)]
    own = os.path.dirname(os.environ.get("CODEX_PATH", ""))
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        if folder != own and (program := shutil.which("codex", path=folder)):
            return [program]
    sys.exit("codex was found neither beside its ACP adapter nor on the PATH.")


def parent_command() -> list[str]:
    """The command line of the program that started this one."""
    parent = os.getppid()
    try:
        return [part.decode() for part in Path(f"/proc/{parent}/cmdline").read_bytes().split(b"\0") if part]
    except OSError:
        shown = subprocess.run(["ps", "-o", "args=", "-p", str(parent)], capture_output=True, text=True, check=False)
        return shown.stdout.split()


if __name__ == "__main__":
    sys.exit(main())
