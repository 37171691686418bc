"""Every line of the seccomp filter, tried by a process that has it on."""

from __future__ import annotations

import errno
import json
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kmnb.sandbox.inner.assemble import MAX_INSTRUCTIONS, assemble
from kmnb.sandbox.inner.filter import ALLOW, PRETEND, Condition, Profile, Rule, rules
from kmnb.sandbox.inner.syscalls import _NUMBERS, HIGHEST, MACHINES, number

PROFILES = {
    "ns": Profile(contained=True),
    "flat": Profile(contained=False, landlock=7),
    "old": Profile(contained=False, landlock=2, leader=1),
    "kernel": Profile(contained=False, kernel=True, landlock=7),
}
TRY = """
import ctypes, json, os, sys
sys.path.insert(0, sys.argv[1])
from kmnb.sandbox.inner import linux
from kmnb.sandbox.inner.assemble import assemble
from kmnb.sandbox.inner.filter import Profile, rules
profile, calls = json.loads(sys.argv[2])
if os.getuid() == 0:
    os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
libc = ctypes.CDLL(None, use_errno=True)
linux.no_new_privileges()
linux.install_filter(assemble(rules(Profile(**profile))))
found = []
for number, arguments in calls:
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(one) for one in arguments])
    found.append([result, ctypes.get_errno()])
sys.stdout.write(json.dumps(found))
"""


def answers(profile: Profile, calls: list[tuple[int, list[int]]]) -> list[list[int]]:
    """Make system calls under a profile's filter and give results with errors."""
    facts = {name: getattr(profile, name) for name in ("contained", "kernel", "landlock", "leader")}
    command = [sys.executable, "-I", "-S", "-c", TRY, str(Path.cwd()), json.dumps([facts, calls])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def refused(rule: Rule) -> list[tuple[list[int], int]]:
    """Arguments that a rule refuses, each with the answer."""
    if not rule.tests:
        return [([0] * 6, rule.otherwise)]
    found = []
    for test in rule.tests:
        if test.answer != ALLOW:
            arguments = [0] * 6
            arguments[test.argument] = test.value if test.same else test.value ^ _lowest(test.mask)
            if not _earlier(rule, test, arguments):
                found.append((arguments, test.answer))
    if rule.otherwise != ALLOW:
        allowed = {test.value for test in rule.tests}
        arguments = [0] * 6
        arguments[rule.tests[0].argument] = next(value for value in range(1, 1 << 20) if value not in allowed)
        found.append((arguments, rule.otherwise))
    return found


def _lowest(mask: int) -> int:
    return mask & -mask


def _earlier(rule: Rule, test: Condition, arguments: list[int]) -> bool:
    """Whether a test before this one decides already."""
    before = rule.tests[: rule.tests.index(test)]
    return any(((arguments[one.argument] & one.mask) == one.value) == one.same for one in before)


@pytest.mark.parametrize("name", PROFILES)
def test_every_refusal_of_the_tables_is_the_kernels_answer(name: str) -> None:
    profile = PROFILES[name]
    cases = [
        (call, arguments, answer)
        for call, rule in rules(profile).items()
        if number(call) is not None
        for arguments, answer in refused(rule)
    ]
    assert len(cases) > 100
    found = answers(profile, [(number(call) or 0, arguments) for call, arguments, _ in cases])
    wrong = {
        f"{call}{arguments}": told
        for (call, arguments, answer), told in zip(cases, found, strict=True)
        if told != ([0, 0] if answer == PRETEND else [-1, answer & 0xFFFF])
    }
    assert wrong == {}


ALLOWED: dict[str, list[tuple[str, list[int]]]] = {
    "ns": [("setsid", []), ("setpgid", [0, 0]), ("kill", [999_999, 0]), ("socketpair", [1, 1, 0, 0])],
    "flat": [
        ("kill", [999_999, 0]),
        ("socketpair", [1, 5, 0, 0]),
        ("prlimit64", [0, 99, 0, 0]),
        ("ioctl", [99, 0x5401]),
    ],
    "old": [("kill", [0, 0]), ("kill", [1, 0]), ("fcntl", [99, 1])],
    "kernel": [("socket", [1, 1, 0]), ("listen", [99, 1]), ("bind", [99, 0, 0]), ("accept4", [99, 0, 0, 0])],
}
"""Calls that must reach the kernel proper: it answers otherwise than the filter would."""


@pytest.mark.parametrize("name", PROFILES)
def test_what_programs_need_reaches_the_kernel(name: str) -> None:
    calls = [(number(call) or 0, arguments) for call, arguments in ALLOWED[name]]
    blocked = (errno.EACCES, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTTY)
    found = answers(PROFILES[name], calls)
    assert [told for told in found if told[0] < 0 and told[1] in blocked] == []


def test_a_number_above_the_known_ones_does_not_exist() -> None:
    found = answers(PROFILES["ns"], [(HIGHEST + 1, [0] * 6), (HIGHEST + 500, [0] * 6)])
    assert found == [[-1, errno.ENOSYS]] * 2


@pytest.mark.skipif(platform.machine() != "x86_64", reason="another machine has no x32 numbers")
def test_an_x32_number_ends_the_program() -> None:
    with pytest.raises(AssertionError):
        answers(PROFILES["ns"], [(0x40000000 | 39, [])])


def test_fcntl_of_old_landlock_refuses_to_send_signals_by_the_kernel() -> None:
    calls: list[tuple[int, list[int]]] = [(number("fcntl") or 0, [0, command, 1]) for command in (8, 10, 15)]
    assert answers(PROFILES["old"], calls) == [[-1, errno.EPERM]] * 3


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", PROFILES)
def test_the_filter_fits_the_kernel_on_every_machine(name: str, machine: str) -> None:
    program = assemble(rules(PROFILES[name]), machine)
    assert len(program) % 8 == 0
    assert 250 < len(program) // 8 < MAX_INSTRUCTIONS


def test_no_number_stands_for_two_calls_and_none_is_above_the_ceiling() -> None:
    for column in range(len(MACHINES)):
        numbers = [row[column] for row in _NUMBERS.values() if row[column] is not None]
        assert len(numbers) == len(set(numbers))
        assert max(numbers) <= HIGHEST  # type: ignore[type-var]


def test_every_rule_names_a_call_of_the_table() -> None:
    named: set[Any] = {call for profile in PROFILES.values() for call in rules(profile)}
    assert named <= set(_NUMBERS)
