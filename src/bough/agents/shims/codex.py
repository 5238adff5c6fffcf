"""Stands in for `codex` between Codex's ACP adapter and its `app-server`, and marks every folder as untrusted.

The adapter marks every folder as trusted. Codex would then take rules, MCP servers and hooks from the repository.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

TRUSTED = re.compile(rb'"trust_level"\s*:\s*"trusted"')
UNTRUSTED = b'"trust_level":"untrusted"'
PROGRAM = Path("node_modules", "@openai", "codex", "bin", "codex.js")


def main() -> int:
    """Runs the real program, replaces the trust level in its input, and ends as soon as it ends.

    Returns the program's exit code. If a signal ended the program, the same signal ends this one, so that the adapter
    sees what happened. The program's output and errors go straight to the adapter.
    """
    child = subprocess.Popen([*find_codex(), *sys.argv[1:]], stdin=subprocess.PIPE)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda received, _frame: child.send_signal(received))
    # A daemon thread, because reading the adapter's input must not delay the end: the adapter may never close it.
    threading.Thread(target=copy_input, args=(child,), daemon=True).start()
    code = child.wait()
    if code < 0:
        with contextlib.suppress(OSError):  # SIGKILL has no handler to reset.
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code


def copy_input(child: subprocess.Popen[bytes]) -> None:
    """Passes the adapter's lines to the program, with every folder marked as untrusted. Closes its input at the end."""
    assert child.stdin is not None
    # A program that no longer reads has ended; `main` then returns its exit code.
    with contextlib.suppress(BrokenPipeError), child.stdin:
        # Quotation marks inside a JSON text are escaped, so text that people wrote never matches.
        for line in sys.stdin.buffer:
            child.stdin.write(TRUSTED.sub(UNTRUSTED, line))
            child.stdin.flush()


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
    # Without the interpreter's cleanup, which would need the lock that the reading thread holds on stdin.
    os._exit(main())
