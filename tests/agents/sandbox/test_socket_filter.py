"""Tests the filter of a strict box by running it over system calls, as the kernel does."""

from __future__ import annotations

import errno
import struct

import pytest

from bough.agents.sandbox.socket_filter import ALLOW, AT_LEAST, EQUAL, FAIL, LOAD, MACHINES, RETURN, socket_filter

X86, X86_32, ARM, ARM_32 = 0xC000003E, 0x40000003, 0xC00000B7, 0x40000028
MISSING, NO_FAMILY = FAIL | errno.ENOSYS, FAIL | errno.EAFNOSUPPORT


def run(code: bytes, architecture: int, number: int, first: int = 0) -> int:
    """Runs a filter over one system call and returns its verdict."""
    words = {0: number, 4: architecture, 16: first}
    steps = list(struct.iter_unpack("=HBBI", code))
    value, position = 0, 0
    while True:
        kind, matched, otherwise, operand = steps[position]
        if kind == RETURN:
            return operand
        if kind == LOAD:
            value, jump = words[operand], 0
        else:
            assert kind in (EQUAL, AT_LEAST)
            matches = value == operand if kind == EQUAL else value >= operand
            jump = matched if matches else otherwise
        position += 1 + jump


@pytest.mark.parametrize(
    ("machine", "architecture", "creating"), [("x86_64", X86, (41, 53)), ("aarch64", ARM, (198, 199))]
)
def test_only_usual_sockets_are_created(machine: str, architecture: int, creating: tuple[int, ...]) -> None:
    """S6: Unix, internet and netlink sockets; not those of virtual machines, packets or the kernel's ciphers."""
    code = socket_filter(machine)
    assert code is not None
    for number in creating:
        assert [run(code, architecture, number, family) for family in (1, 2, 10, 16)] == [ALLOW] * 4
        assert [run(code, architecture, number, family) for family in (0, 3, 17, 38, 40, 44)] == [NO_FAMILY] * 6
    assert run(code, architecture, 425) == MISSING
    for number in (0, 1, 42, 56, 57, 200, 220, 435):
        assert run(code, architecture, number, 40) == ALLOW, number


@pytest.mark.parametrize(
    ("machine", "architecture", "creating"), [("x86_64", X86_32, (102, 359, 360)), ("aarch64", ARM_32, (102, 281, 288))]
)
def test_32_bit_programs_get_no_sockets(machine: str, architecture: int, creating: tuple[int, ...]) -> None:
    """S6: Their arguments may be in memory, which a filter cannot read."""
    code = socket_filter(machine)
    assert code is not None
    assert [run(code, architecture, number, 1) for number in (*creating, 425)] == [MISSING] * 4
    assert [run(code, architecture, number) for number in (1, 41, 53, 120)] == [ALLOW] * 4


def test_the_second_set_of_calls_is_closed() -> None:
    """S6: On x86-64, the same calls have other numbers, too."""
    code = socket_filter("x86_64")
    assert code is not None
    assert run(code, X86, 0x40000000 + 41, 40) == MISSING


def test_unknown_machines_have_no_filter() -> None:
    """S6: The box then starts without one."""
    assert socket_filter("pdp11") is None and "x86_64" in MACHINES
