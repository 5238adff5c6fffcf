"""Stands in for `codex` between Codex's ACP adapter and its `app-server`, and marks every folder as untrusted.

The adapter marks every folder as trusted. Codex would then take rules, MCP servers and hooks from the repository.
"""

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
    """Runs the real program and replaces the trust level in its input."""
    child = subprocess.Popen([*find_codex(), *sys.argv[1:]], stdin=subprocess.PIPE)
    assert child.stdin is not None
    try:
        # Quotation marks inside a JSON text are escaped, so text that people wrote never matches.
        for line in sys.stdin.buffer:
            child.stdin.write(TRUSTED.sub(UNTRUSTED, line))
            child.stdin.flush()
        child.stdin.close()
    except BrokenPipeError:
        pass  # The program has ended; its exit code is returned below.
    return child.wait()


def find_codex() -> list[str]:
    """Returns the command of the real codex: the one in the adapter's package, else the one on the PATH."""
    for word in parent_command():
        for folder in Path(os.path.realpath(word)).parents if word.startswith(os.sep) else ():
            if (folder / PROGRAM).is_file():
                return [parent_command()[0], str(folder / PROGRAM)]
    own = os.path.dirname(os.environ.get("CODEX_PATH", ""))
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        if folder != own and (program := shutil.which("codex", path=folder)):
            return [program]
    sys.exit("codex was found neither in the package of its ACP adapter nor on the PATH. Install it and try again.")


def parent_command() -> list[str]:
    """Returns the command line of the program that started this one."""
    parent = os.getppid()
    try:
        return [part.decode() for part in Path(f"/proc/{parent}/cmdline").read_bytes().split(b"\0") if part]
    except OSError:
        listing = subprocess.run(["ps", "-o", "args=", "-p", str(parent)], capture_output=True, text=True, check=False)
        return listing.stdout.split()


if __name__ == "__main__":
    sys.exit(main())
