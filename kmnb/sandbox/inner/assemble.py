"""Turn the rules of the filter into the program that the kernel runs at each system call.

The form: the machine is checked, then the ceiling, then one call after the other. Each call's block ends with an
answer, so that no jump is longer than a block.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from kmnb.sandbox.inner.filter import ALLOW, ENOSYS, KILL, Condition, Rule
from kmnb.sandbox.inner.syscalls import AUDIT_ARCH, HIGHEST, MACHINE, X32_BIT, number

LOAD, AND, RETURN = 0x20, 0x54, 0x06
EQUAL, GREATER, GREATER_OR_EQUAL = 0x15, 0x25, 0x35
CALL_AT, MACHINE_AT, ARGUMENTS_AT = 0, 4, 16
"""Offsets in ``struct seccomp_data``: the number, the machine, and six arguments of 8 bytes, low half first."""
MAX_INSTRUCTIONS = 4096
"""The kernel takes no longer programs (BPF_MAXINSNS)."""

Instruction = tuple[int, int, int, int]


def assemble(rules: Mapping[str, Rule], machine: str | None = None) -> bytes:
    """Give the filter as an array of ``struct sock_filter``.

    Args:
        rules: What becomes of which call.
        machine: ``x86_64`` or ``aarch64``; None is this one.

    Raises:
        ValueError: More instructions than the kernel takes.
    """
    machine = machine or MACHINE
    code: list[Instruction] = [
        (LOAD, 0, 0, MACHINE_AT),
        (EQUAL, 1, 0, AUDIT_ARCH[machine]),
        # A 32-bit call on a 64-bit machine has other numbers: the tables would not fit.
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, CALL_AT),
    ]
    if machine == "x86_64":
        code += [(GREATER_OR_EQUAL, 0, 1, X32_BIT), (RETURN, 0, 0, KILL)]
    code += [(GREATER, 0, 1, HIGHEST), (RETURN, 0, 0, ENOSYS)]
    for name, rule in rules.items():
        call = number(name, machine)
        if call is not None:
            block = _block(rule)
            code += [(EQUAL, 0, len(block), call), *block]
    code.append((RETURN, 0, 0, ALLOW))
    if len(code) > MAX_INSTRUCTIONS:
        raise ValueError(f"the filter has {len(code)} instructions; the kernel takes {MAX_INSTRUCTIONS}")
    return b"".join(struct.pack("HBBI", *one) for one in code)


def _block(rule: Rule) -> list[Instruction]:
    code: list[Instruction] = []
    for test in rule.tests:
        code += _comparison(test)
    return [*code, (RETURN, 0, 0, rule.otherwise)]


def _comparison(test: Condition) -> list[Instruction]:
    skip = (0, 1) if test.same else (1, 0)
    return [
        (LOAD, 0, 0, ARGUMENTS_AT + 8 * test.argument),
        (AND, 0, 0, test.mask),
        (EQUAL, *skip, test.value),
        (RETURN, 0, 0, test.answer),
    ]
