"""What the spawner's interpreter is started with: choose the strongest engine by trying, then serve."""

from __future__ import annotations

import gc
import json
import os
import select
import socket
import sys

from kmnb.sandbox.inner import landlock, linux, messages, selftest
from kmnb.sandbox.inner.flat import Flat
from kmnb.sandbox.inner.folders import make_folder, remove_folder
from kmnb.sandbox.inner.namespaces import Namespaces
from kmnb.sandbox.inner.places import Places, find_places
from kmnb.sandbox.inner.run import Become, Engine
from kmnb.sandbox.inner.sight import Sight
from kmnb.sandbox.inner.spawner import Spawner
from kmnb.sandbox.inner.users import Users
from kmnb.sandbox.inner.watch import EVERY_SECONDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SELF_TEST_LIMITS = {
    "timeout_seconds": 5.0, "cpu_seconds": 5, "address_bytes": 1 << 29, "memory_bytes": 1 << 30, "processes": 48,
    "file_bytes": 1 << 20, "disk_bytes": 1 << 22, "files": 100, "open_files": 64,
}  # fmt: skip


def main() -> None:
    """Serve the socket whose descriptor and options the command line gives."""
    try:
        _serve(json.loads(sys.argv[-1]))
        return
    except Become as child:
        life = child.life
    # Outside the handler, so that no error of a program has this one as its context.
    life()


def _serve(options: dict[str, Any]) -> None:
    sys.path.remove(options["home"])
    linux.prctl(linux.PR_SET_CHILD_SUBREAPER, 1, "subreaper")
    linux.prctl(linux.PR_SET_DUMPABLE, 0, "dumpable")
    control = socket.socket(fileno=options["control"])
    users = Users.claim()
    places = find_places(options["reads"])
    if options["kernel"]:
        from kmnb.sandbox.kernels._inside import preload

        preload(options["library"], options["reads"])
    sight = Sight.tried(users.first)
    engine, hello = choose(options, places, users, sees=sight.works)
    gc.collect()
    gc.freeze()
    messages.send(control, {"op": "hello", "pid": os.getpid(), **hello})
    spawner = Spawner(control, engine, users, server=options["server"])
    spawner.sight = sight
    spawner.serve(prepare=options["prepare"])


def choose(options: dict[str, Any], places: Places, users: Users, *, sees: bool) -> tuple[Engine, dict[str, Any]]:
    """Try the engines in order and take the first that keeps all it promises, else the best of them."""
    abi = min(landlock.version(), options["landlock_abi"] or 99)
    engines: dict[str, Engine] = {
        "ns": Namespaces(places),
        "flat": Flat(places, abi),
        "plain": Flat(places, 0, filtered=False),
    }
    best, reasons = None, []
    for name in options["engines"]:
        if name == "flat" and users.first is not None and not _reachable(sys.executable):
            reasons.append(_other_interpreter(options, users))
        through, error = _tried(engines[name], users, options)
        held = set() if error else set(selftest.ALL) - set(through)
        level = selftest.level_of(held)
        if error:
            reasons.append(f"{name}: {error}")
        elif best is None or level > best[0]:
            best = level, engines[name], through
        if level >= (3 if name == "ns" else 2):
            break
    if best is None:
        return Flat(places, 0, filtered=False), {"level": -1, "engine": "none", "layers": {}, "missing": reasons}
    level, engine, through = best
    missing = [f"{name}: {selftest.WITHOUT.get(name, 'not held')} ({what})" for name, what in sorted(through.items())]
    return engine, {
        "level": level,
        "engine": engine.name,
        "interpreter": f"{sys.implementation.name} {sys.version.split()[0]}",
        "layers": _layers(engine, users),
        "missing": missing + reasons,
        "own_user": users.first is not None and not engine.contained,
        "sees_descriptors": engine.contained or sees,
        "guarantees": sorted(set(selftest.ALL) - set(through)),
    }


def _reachable(path: str) -> bool:
    """Tell whether any user can get to a file and read it."""
    parents, at = [], os.path.dirname(path)
    while at not in parents:
        parents.append(at)
        at = os.path.dirname(at)
    return bool(os.stat(path).st_mode & 4) and all(os.stat(one).st_mode & 1 for one in parents)


def _other_interpreter(options: dict[str, Any], users: Users) -> str:
    """Go on as another interpreter of this version that a user of one's own can reach.

    Without namespaces a run sees this machine's folders with its own user's rights. Where there is no such
    interpreter, runs stay with root's number, without its capabilities, and the reason is told.
    """
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for other in (f"/usr/local/bin/{name}", f"/usr/bin/{name}"):
        path = os.path.realpath(other)
        if path != sys.executable and os.path.exists(path) and _reachable(path):
            told = options | {"engines": options["engines"][options["engines"].index("flat") :]}
            os.execv(path, [path, *sys.orig_argv[1:-1], json.dumps(told)])  # noqa: S606 - no shell wanted
    users.first = None
    return f"own user: {sys.executable} can be reached by root alone"


def _tried(engine: Engine, users: Users, options: dict[str, Any]) -> tuple[dict[str, str], str]:
    """Run the self-test under an engine: what went through, or why it could not run."""
    # Nothing here stands in a "finally": the forked child passes by on its way out and must not tidy up.
    base = make_folder("kmnb-try-")
    os.chmod(base, 0o777)  # noqa: S103 - only the sandbox is to stand in the way
    canary = os.path.join(base, "canary")
    with open(canary, "w", encoding="utf-8") as file:
        file.write("canary")
    os.chmod(canary, 0o666)  # noqa: S103
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    answer = os.memfd_create("self-test")
    facts = {"canary": canary, "contained": engine.contained, "server": options["server"]}
    job = {"op": "run", "id": 0, "mode": "self-test", "filename": "main.py", "command": None, "output": False}
    job |= {"limits": SELF_TEST_LIMITS, "parent": None, "artifacts": None, "facts": facts}
    messages.send(ours, job, [os.memfd_create("none"), answer, answer])
    spawner = Spawner(theirs, engine, users)
    ended: dict[str, Any] = {}
    while ended.get("op") != "ended":
        spawner.step()
        while select.select([ours], [], [], 0)[0]:
            ended, _ = messages.receive(ours) or ({"op": "ended"}, [])
    text = messages.read_all(answer).decode("utf-8", "replace")
    spawner.close()
    for one in (ours, theirs):
        one.close()
    remove_folder(base)
    return _understand(ended, text)


def _understand(ended: dict[str, Any], text: str) -> tuple[dict[str, str], str]:
    if ended.get("error"):
        return {}, str(ended["error"])
    try:
        return dict(json.loads(text)), ""
    except ValueError:
        return {}, f"the self-test ended with {ended.get('status')} ({ended.get('reason')}): {text[-300:]}"


def _layers(engine: Engine, users: Users) -> dict[str, str]:
    """Say what stands in the way of what."""
    found = {
        "environment": "empty",
        "memory": f"rlimit, watched every {EVERY_SECONDS} s",
        "time": "wall clock, rlimit",
    }
    if engine.name == "plain":
        return found | {"processes": "process group"}
    found |= {"kernel": "seccomp", "privileges": "no capabilities, no_new_privs"}
    if users.first is not None:
        found["privileges"] += ", own user"
    if engine.contained:
        more = {"network": "namespace, seccomp", "files": "private root", "processes": "pid namespace", "disk": "tmpfs"}
        return found | more
    files = f"landlock {engine.abi}" if isinstance(engine, Flat) and engine.abi else "user permissions"
    return found | {"network": "seccomp", "files": files, "processes": "seccomp, killpg", "disk": "rlimit, watched"}
