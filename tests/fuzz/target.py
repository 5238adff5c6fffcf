"""Describes a target of fuzzing, reads its corpus, makes new inputs and saves those that fail."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Literal, NamedTuple, get_args

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

CORPUS = Path(__file__).parent / "corpus"
FAILED = "failed"
"""The name under which the smallest failing input is saved in its corpus. Whoever fixes the problem renames it."""
EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES") or 0)
"""Inputs per target in a random round; 0 runs a short round that is the same every time."""
SHORT = 150
"""Inputs per target in a short round."""
LARGEST = 64 * 1024
"""Bytes of the largest input."""

# Pieces that decoders have stumbled over.
_PIECES = (
    *(b"\0", b"\n", b"\r", b"\t", b" ", b"\xff", b"\xed\xa0\x80", b"\xe2\x80\xa8", b"\xc2\xa0", b"\xe2\x80\xae"),
    *(b"\x1b[2J", b"\x1b]0;x\x07", b'"', b"'", b"\\", b"\\u0000", b"\\ud800", b"`", b"$(", b"${", b"<<", b"|", b";"),
    *(b"{", b"}", b"[", b"]", b"[" * 300, b'{"a":' * 300, b"null", b"true", b"-0", b"1e999", b"9" * 400, b"1.5"),
    *(b"..", b"/", b"~", b"~root", b"*", b":", b",", b"=", b"-", b"--", b"#", b"? ", b"1 .M ", b"gitdir: ", b"id"),
)


How = Literal["insert", "replace", "delete", "repeat", "cut"]
_HOWS: tuple[How, ...] = get_args(How)
_FARTHEST = 4096
_WIDEST = 64
_MOST_EDITS = 6


class Edit(NamedTuple):
    """A change to an input: where, how many bytes, and with what."""

    how: How
    at: int
    size: int
    piece: bytes


@dataclass(frozen=True)
class Target:
    """Something that takes any bytes. `run` raises if a promise is broken; errors that are promised it handles
    itself."""

    name: str
    run: Callable[[bytes], None]

    @property
    def folder(self) -> Path:
        return CORPUS / self.name

    def corpus(self) -> list[Path]:
        """Returns the kept inputs."""
        return sorted(path for path in self.folder.iterdir() if path.is_file())

    def inputs(self) -> st.SearchStrategy[bytes]:
        """Returns changed inputs of the corpus, and arbitrary bytes."""
        samples = [path.read_bytes() for path in self.corpus()]
        return st.one_of(
            st.builds(changed, st.sampled_from(samples), st.lists(_edits(samples), min_size=1, max_size=_MOST_EDITS)),
            st.binary(max_size=200),
        )

    def fixed_inputs(self) -> Iterator[bytes]:
        """Returns changed inputs of the corpus, the same every time.

        Hypothesis cannot do this: it also draws constants that it finds in whatever modules were imported before.
        """
        samples = [path.read_bytes() for path in self.corpus()]
        for number in range(SHORT):
            random = Random(f"{self.name} {number}")
            edits = [_random_edit(random, samples) for _ in range(random.randint(1, _MOST_EDITS))]
            yield changed(random.choice(samples), edits)

    def attempt(self, data: bytes) -> None:
        """Runs the target. Saves an input that fails; while Hypothesis makes it smaller, the last one counts."""
        try:
            self.run(data)
        except BaseException:
            (self.folder / FAILED).write_bytes(data)
            raise


def profile() -> settings:
    """Returns the settings of a random round. Failing inputs are kept in the corpora, not in Hypothesis's database."""
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
    return settings(max_examples=EXAMPLES, database=None, deadline=None, suppress_health_check=checks)


def changed(data: bytes, edits: list[Edit]) -> bytes:
    """Returns an input with changes, one after the other."""
    for edit in edits:
        at = edit.at % (len(data) + 1)
        before, middle, after = data[:at], data[at : at + edit.size], data[at + edit.size :]
        match edit.how:
            case "insert":
                data = before + edit.piece + middle + after
            case "replace":
                data = before + edit.piece + after
            case "delete":
                data = before + after
            case "repeat":
                data = before + middle * 3 + after
            case "cut":
                data = before
        data = data[:LARGEST]
    return data


def _edits(samples: list[bytes]) -> st.SearchStrategy[Edit]:
    pieces = st.one_of(st.sampled_from(_PIECES), st.binary(max_size=8), st.sampled_from(samples))
    return st.builds(Edit, st.sampled_from(_HOWS), st.integers(0, _FARTHEST), st.integers(0, _WIDEST), pieces)


def _random_edit(random: Random, samples: list[bytes]) -> Edit:
    pieces = (random.choice(_PIECES), random.randbytes(random.randint(0, 8)), random.choice(samples))
    return Edit(random.choice(_HOWS), random.randint(0, _FARTHEST), random.randint(0, _WIDEST), random.choice(pieces))
