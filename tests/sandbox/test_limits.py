"""Every named limit ends a run, or makes it fail, and the Outcome names it."""

from __future__ import annotations

import mmap
import os
import resource
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kmnb.errors import SandboxUnavailable
from kmnb.sandbox._host import Host
from kmnb.sandbox._limits import SMALLEST, Limits
from kmnb.sandbox.inner import seal, sight, watch
from kmnb.sandbox.inner.flat import Flat
from kmnb.sandbox.inner.run import Run

FLOOD = "import os\nwhile True: os.write(1, b'x' * 65536)"
CASES = {
    "timeout": ("import time; print('early'); time.sleep(30)", {}, 0.4),
    "cpu": ("while True: pass", {"cpu_seconds": 1}, 20),
    "output": (FLOOD, {"written_bytes": 1 << 20}, 20),
    "open-files": ("x = [open('/dev/null') for _ in range(500)]", {}, 20),
    "file-size": ("open('big', 'wb').write(b'x' * (2 << 20))", {"file_bytes": 1 << 20}, 20),
    "processes": ("import os, time\nwhile True:\n if os.fork() == 0: time.sleep(20)", {"processes": 8}, 20),
}


@pytest.mark.parametrize("reason", CASES)
def test_a_limit_is_the_reason_of_the_end(run: Any, reason: str) -> None:
    code, limits, seconds = CASES[reason]
    outcome = run(code, timeout_seconds=seconds, limits=limits)
    assert (outcome.reason, outcome.ok) == (reason, False), outcome.stderr
    assert outcome.exit_code == (-1 if reason == "timeout" else outcome.exit_code) != 0


def test_the_address_space_of_a_process_is_bounded(run: Any) -> None:
    outcome = run("x = bytearray(800 << 20)")
    assert (outcome.reason, outcome.exit_code) == ("memory", 1)


def test_the_memory_of_all_processes_together_is_bounded(run: Any) -> None:
    code = "import os, time\nfor _ in range(6):\n if os.fork() == 0: break\nx = b'x' * (60 << 20)\ntime.sleep(20)"
    outcome = run(code, limits={"memory_bytes": 200 << 20})
    assert (outcome.reason, outcome.exit_code) == ("memory", -9)


def test_files_together_are_bounded(run: Any) -> None:
    code = "import time\nfor i in range(100):\n open(f'f{i}', 'wb').write(b'x' * (1 << 20))\n time.sleep(.02)"
    assert run(code, limits={"disk_bytes": 8 << 20}).reason == "disk"


def test_files_without_a_name_count(run: Any) -> None:
    code = (
        "import os, time\nfor i in range(100):\n f = os.open(f'f{i}', os.O_CREAT | os.O_RDWR); os.unlink(f'f{i}')\n"
        " os.write(f, b'x' * (1 << 20)); time.sleep(.02)"
    )
    assert run(code, limits={"disk_bytes": 8 << 20}).reason == "disk"


def test_what_was_printed_before_the_limit_is_kept(run: Any) -> None:
    outcome = run(CASES["timeout"][0], timeout_seconds=0.4)
    assert (outcome.stdout, outcome.timed_out) == ("early\n", True)


def test_a_signal_is_told(run: Any) -> None:
    outcome = run("import os, signal; os.kill(os.getpid(), signal.SIGTERM); import time; time.sleep(5)")
    assert (outcome.reason, outcome.exit_code) == ("signal", -15)


def test_the_limits_stand_in_the_receipt(run: Any) -> None:
    receipt = run("print(1)", limits={"processes": 9}).receipt
    assert (receipt.limits["processes"], receipt.limits["timeout_seconds"]) == (9, 30)


def test_files_without_a_name_that_cannot_be_seen_are_bounded_by_their_number(run: Any, host: Any) -> None:
    host.sees_descriptors = False
    try:
        outcome = run("import os\nn = 3\nwhile True: os.open('/dev/null', os.O_RDONLY); n += 1; print(n)")
    finally:
        host.sees_descriptors = True
    assert (outcome.reason, outcome.stdout.split()[-1]) == ("open-files", "64")
    assert outcome.receipt.limits["open_files"] == 64


FORGED = {
    "import sys; print('MemoryError', file=sys.stderr); sys.exit(1)": "memory",
    "import os, signal; os.kill(os.getpid(), signal.SIGXFSZ); signal.pause()": None,
    "import sys; sys.exit(152)": "cpu",
    "import sys; sys.exit('OSError: [Errno 28] No space left on device')": "disk",
}


@pytest.mark.parametrize("code", FORGED)
def test_a_reason_that_the_program_gives_itself_says_so(run: Any, code: str) -> None:
    outcome = run(code, timeout_seconds=1)
    if FORGED[code] is not None:
        assert (outcome.reason, outcome.reason_by) == (FORGED[code], "program")
        assert "by its own account" in repr(outcome)
        assert outcome.receipt.as_dict()["reason_by"] == "program"
    assert outcome.receipt.genuine


def test_a_signal_that_the_program_sends_itself_is_no_limit(run: Any) -> None:
    for name in ("SIGXCPU", "SIGKILL"):
        outcome = run(f"import os, signal; os.kill(os.getpid(), signal.{name}); signal.pause()", timeout_seconds=5)
        assert (outcome.reason, outcome.reason_by) == ("signal", "supervisor"), name


@pytest.mark.parametrize("prelude", ["", "import signal; signal.signal(signal.SIGXCPU, signal.SIG_IGN)\n"])
def test_processor_time_is_measured_by_the_kernel(run: Any, prelude: str) -> None:
    outcome = run(prelude + "while True: pass", limits={"cpu_seconds": 1}, timeout_seconds=20)
    assert (outcome.reason, outcome.reason_by, outcome.exit_code) == ("cpu", "supervisor", -9 if prelude else -24)
    assert "reason_by" not in outcome.receipt.as_dict()


def test_a_program_that_cannot_be_set_up_is_refused_with_the_reason(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    given = Limits()
    object.__setattr__(given, "cpu_seconds", 0.1)
    monkeypatch.setattr(Limits, "of", lambda *_: given)
    with pytest.raises(SandboxUnavailable, match="TypeError"):
        run("print(1)")


@pytest.mark.parametrize("name", ["address_bytes", "memory_bytes", "disk_bytes", "files", "open_files", "processes"])
@pytest.mark.parametrize("language", ["python", "bash"])
def test_an_empty_program_runs_under_the_smallest_limits(run: Any, name: str, language: str) -> None:
    smallest = Limits.__dataclass_fields__[name].metadata[SMALLEST]
    code = {"python": "import json, re, csv, decimal, subprocess; print(1)", "bash": "echo 1"}[language]
    outcome = run(code, language=language, limits={name: smallest})
    assert (outcome.stdout, outcome.exit_code) == ("1\n", 0), outcome.stderr


LIBC = (
    "import ctypes, os, time\nlibc = ctypes.CDLL(None)\nlibc.mmap.restype = ctypes.c_void_p\n"
    "libc.mmap.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long\n"
    "libc.munmap.argtypes = ctypes.c_void_p, ctypes.c_size_t\n"
)
HIDDEN = {
    "shared": "import mmap, time\nm = mmap.mmap(-1, 300 << 20)\nfor i in range(300):\n m[i << 20] = 1\n"
    " m.madvise(mmap.MADV_DONTNEED, i << 20, 1 << 20)\ntime.sleep(20)",
    "zero": "import mmap, os, time\nm = mmap.mmap(os.open('/dev/zero', os.O_RDWR), 300 << 20)\ntime.sleep(20)",
    # All but one page of each mapping is given back, and all of it stays.
    "rest": LIBC + "for _ in range(24):\n at = libc.mmap(None, 64 << 20, 3, 0x21, -1, 0)\n"
    " ctypes.memset(at, 1, 64 << 20)\n libc.munmap(at + 4096, (64 << 20) - 4096)\ntime.sleep(20)",
    "sockets": "import os, socket, time\nfor _ in range(9):\n if os.fork() == 0: break\n"
    "kept = [socket.socketpair() for _ in range(100)]\ntime.sleep(20)",
}


@pytest.mark.parametrize("where", HIDDEN)
def test_memory_that_no_process_shows_is_bounded(run: Any, where: str) -> None:
    outcome = run(HIDDEN[where], limits={"memory_bytes": 200 << 20}, timeout_seconds=15)
    assert (outcome.reason, outcome.reason_by, outcome.exit_code) == ("memory", "supervisor", -9), outcome.stderr


def test_few_sockets_and_a_small_shared_mapping_are_no_excess(run: Any) -> None:
    code = "import mmap, socket, time\nm = mmap.mmap(-1, 50 << 20)\np = [socket.socketpair() for _ in range(50)]\n"
    assert run(code + "time.sleep(0.4)", limits={"memory_bytes": 200 << 20, "address_bytes": 120 << 20}).ok


SHARED = {
    "copied on writing": "data = bytearray(b'1') * (120 << 20)",
    "shared": "data = mmap.mmap(-1, 120 << 20)\nfor at in range(0, len(data), 4096): data[at] = 1",
}


@pytest.mark.parametrize("how", SHARED)
def test_memory_that_children_have_from_their_parent_counts_once(run: Any, how: str) -> None:
    children = (
        "\nfor _ in range(3):\n if os.fork() == 0:\n  sum(data[at] for at in range(0, len(data), 4096))\n"
        "  time.sleep(0.6)\n  os._exit(0)\nprint([os.wait()[1] for _ in range(3)])"
    )
    # Few addresses, so that what other programs of the machine share meanwhile can add little.
    limits = {"memory_bytes": 300 << 20, "address_bytes": 200 << 20}
    outcome = run("import mmap, os, time\n" + SHARED[how] + children, limits=limits)
    assert (outcome.stdout, outcome.reason) == ("[0, 0, 0]\n", "exit"), outcome.stderr


def test_a_process_with_too_many_mappings_to_look_through_is_ended(run: Any) -> None:
    code = LIBC + (
        "libc.mprotect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int\n"
        "at = libc.mmap(None, 40_000 << 12, 0, 0x22, -1, 0)\n"
        "for page in range(0, 40_000, 2): libc.mprotect(at + (page << 12), 4096, 1)\ntime.sleep(20)"
    )
    outcome = run(code, limits={"memory_bytes": 100 << 20}, timeout_seconds=15)
    assert (outcome.reason, outcome.reason_by) == ("memory", "supervisor"), outcome.stderr


def test_files_that_are_mapped_alone_count(run: Any, host: Host) -> None:
    code = (
        "for at in range(9):\n file = os.open('f', os.O_RDWR | os.O_CREAT)\n os.write(file, bytes(30 << 20))\n"
        " libc.mmap(None, 4096, 1, 1, file, 0)\n os.unlink('f')\n os.close(file)\ntime.sleep(20)"
    )
    outcome = run(LIBC + code, timeout_seconds=15)
    assert outcome.reason == "disk", outcome.stderr
    assert outcome.reason_by == ("supervisor" if "flat" in host.engines else "program")


def test_no_descriptor_can_be_under_way_where_files_are_watched(run: Any, host: Host) -> None:
    code = (
        "import socket\na, b = socket.socketpair()\na.send(b'fine')\nprint(b.recv(9))\nsocket.send_fds(a, [b'x'], [0])"
    )
    outcome = run(code)
    assert outcome.stdout == "b'fine'\n"
    assert outcome.ok is ("ns" in host.engines), outcome.stderr


def test_folders_that_can_be_entered_and_not_be_read_count_as_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, mode in (("closed", 0o300), ("empty", 0o000)):
        (tmp_path / name).mkdir(mode=mode)

    def scandir(path: str) -> Any:
        # Root may read them all the same.
        if os.fspath(path).endswith(("closed", "empty")):
            raise PermissionError
        return listed(path)

    listed = os.scandir
    monkeypatch.setattr(watch.os, "scandir", scandir)
    assert watch._folder_use(str(tmp_path), 50)[1] > 50
    os.rmdir(tmp_path / "closed")
    assert watch._folder_use(str(tmp_path), 50)[1] == 1


def test_the_buffers_of_a_socket_cannot_be_made_larger(run: Any) -> None:
    code = (
        "import socket\na, b = socket.socketpair()\nbefore = a.getsockopt(1, socket.SO_SNDBUF)\n"
        "a.setsockopt(1, socket.SO_SNDBUF, 1 << 22)\nprint(a.getsockopt(1, socket.SO_SNDBUF) == before)"
    )
    assert run(code).stdout == "True\n"


def test_files_without_content_in_shared_memory_are_bounded(run: Any, host: Host) -> None:
    code = "import os\nfor i in range(5000): os.close(os.open(f'/dev/shm/{i}', os.O_CREAT | os.O_WRONLY))"
    assert ("No space" if "ns" in host.engines else "Permission denied") in run(code).stderr


def test_mappings_that_cannot_be_looked_at_count_by_their_address_space(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str, *arguments: Any, **options: Any) -> Any:
        if str(path).endswith("/maps"):
            raise PermissionError
        return open(path, *arguments, **options)

    monkeypatch.setattr(watch, "open", refuse, raising=False)
    before = watch._shared([os.getpid()])[0]
    with mmap.mmap(-1, 300 << 20):
        assert watch._shared([os.getpid()])[0] - before >= (300 << 20) - (before == 0) * watch.PROGRAM_BYTES


def test_a_process_that_hides_at_two_looks_is_an_excess(monkeypatch: pytest.MonkeyPatch) -> None:
    eyes = sight.Sight.tried(None)
    assert eyes.works
    monkeypatch.setattr(sight, "_is_hidden", lambda pid: pid in (7, 8))
    everyone = {7: (1, 7, 4096, 4096), 8: (1, 8, 0, 0), 9: (1, 9, 4096, 4096)}
    told = {}
    for child in everyone:
        run = Run(None, Flat(None, 0, filtered=False), None, child, limits=Limits().as_dict(), is_set=True)  # type: ignore[arg-type]
        told[child] = [eyes.excess(run, everyone, 0) for _ in range(3)]
        run.is_set, run.hidden = False, False
        told[child] += [eyes.excess(run, everyone, 0) for _ in range(2)]
    # One look may meet a process that is going; one that has ended, or is still being set up, hides nothing.
    assert told == {7: [None, "memory", "memory", None, None], 8: [None] * 5, 9: [None] * 5}


def test_nothing_is_hidden_where_nobody_can_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sight, "_is_hidden", lambda pid: True)
    assert not sight.Sight.tried(None).works


@pytest.mark.skipif(os.getuid() != 0, reason="only root can look as somebody else")
def test_root_looks_with_the_runs_user_and_is_itself_again(tmp_path: Path) -> None:
    (tmp_path / "own").touch(mode=0o600)
    with sight._files_as(53_000), pytest.raises(PermissionError):
        (tmp_path / "own").read_text()
    assert (tmp_path / "own").read_text() == ""


def test_a_process_that_ended_during_a_look_has_no_memory() -> None:
    with subprocess.Popen(["/bin/true"]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert watch._apart(child.pid, 1 << 30) == 0


def test_what_a_machine_lets_its_people_have_is_no_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    found: dict[int, tuple[int, int]] = {}
    monkeypatch.setattr(seal.resource, "getrlimit", lambda _: (99, 99))
    monkeypatch.setattr(seal.resource, "setrlimit", found.__setitem__)
    seal.limit_resources(Limits().as_dict(), others=0)
    assert {found[kind] for kind in (resource.RLIMIT_RTPRIO, resource.RLIMIT_NICE)} == {(0, 0)}
    assert found[resource.RLIMIT_SIGPENDING] == (99, 99)
