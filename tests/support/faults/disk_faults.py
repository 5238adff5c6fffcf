"""Makes what a server, its keepers and its git write fail as on a broken, full or read-only disk, by a library that is
loaded below them (`disk_faults.c`). The product knows nothing of it."""

from __future__ import annotations

import contextlib
import errno
import shutil
import subprocess
from collections.abc import Generator
from pathlib import Path

SOURCE = Path(__file__).with_suffix(".c")
ERRORS = (errno.EIO, errno.ENOSPC, errno.EROFS)
LIBRARY: str = "LD_PRELOAD"
"""Also given to keepers, which inherit nothing from their server (`crashing_server`)."""
VARIABLES: tuple[str, ...] = (LIBRARY, "DISK_FAULT", "DISK_FAULT_ROOT")


def compiler() -> str | None:
    """Returns the C compiler, or None; without one, disks cannot be made to fail."""
    return shutil.which("cc") or shutil.which("gcc")


class FaultyDisk:
    """The disk below a data folder, as programs with this environment see it."""

    def __init__(self, folder: Path, root: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        program = compiler()
        assert program is not None, "there is no C compiler"
        library = folder / "disk_faults.so"
        subprocess.run([program, "-O1", "-shared", "-fPIC", "-o", library, SOURCE, "-ldl"], check=True)
        self._control = folder / "disk-fault"
        self.heal()
        values = (str(library), str(self._control), str(root.resolve()))
        self.env: dict[str, str] = dict(zip(VARIABLES, values, strict=True))

    def fail(self, error: int) -> None:
        """Makes every write fail with this error from now on."""
        # In place: programs have the file mapped.
        with self._control.open("r+b") as file:
            file.write(error.to_bytes(4, "little"))

    def heal(self) -> None:
        if self._control.exists():
            self.fail(0)
        else:
            self._control.write_bytes(bytes(4))

    @contextlib.contextmanager
    def failing(self, error: int) -> Generator[None]:
        self.fail(error)
        try:
            yield
        finally:
            self.heal()
