"""Runs the probes of this folder against a sandbox and checks what index.json expects.  Standard library only, Linux.

    python check.py ADAPTER.py [--only REGEX] [--heavy] [--json FILE]

ADAPTER.py is a Python file that offers

    def execute(language, code, *, timeout=10.0, artifacts=None, tmp=None, tool="execute", filename=None,
                output_cap=None) -> dict
        runs the code in the sandbox and returns: stdout, stderr (str), exit_code (int), timed_out, truncated (bool),
        error (str or None; a refusal or a failure of the tool itself), and for tool="validate": valid (bool).
        `artifacts` is a host folder to show read-only; `tmp` is where run folders are to be made, if that can be said.
    def artifacts_path(host_folder) -> str     where the program finds that folder (the product: "/artifacts")
    GUARANTEES = {...}                         optional: the guarantees that it claims; cases needing others are skipped
    def kernel_cells(cells, *, timeout=30.0) -> list[dict]
        optional, for the cases of target "kernel": runs the cells one after the other as %%compute cells would, each
        in a kernel of its own, and returns for each: status ("ok" or "error"), stdout, stderr, ename, mimes (list).

The adapter runs in a process of its own (the "server"), whose environment holds secrets and hostile settings.
Listeners, a victim process, and host files stand ready outside; after each case they must be untouched.
A probe prints HELD when the sandbox held, and ESCAPED when it got through; ESCAPED fails the case whatever else is said.
"""

import argparse
import ctypes
import hashlib
import importlib.util
import json
import os
import re
import resource
import select
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ALL = {
    "net",
    "vsock",
    "iouring",
    "fs",
    "fs_hidden",
    "proc",
    "kill",
    "mem_total",
    "disk_total",
    "nproc",
    "caps",
    "env",
    "ipc",
    "stdlib_only",
    "self_only",
    "mount",
}


# ------------------------------------------------------------------------------------------------ the server process
def serve(adapter):
    spec = importlib.util.spec_from_file_location("adapter", adapter)
    mod = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(mod)
    sys.stdin = open(0, "r", encoding="utf-8", newline="\n")
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    print(
        json.dumps(
            {
                "guarantees": sorted(getattr(mod, "GUARANTEES", ALL)),
                "kernel": hasattr(mod, "kernel_cells"),
                "pid": os.getpid(),
            }
        ),
        file=out,
        flush=True,
    )
    lock = threading.Lock()

    def one(req):
        try:
            if req["call"] == "artifacts_path":
                res = mod.artifacts_path(req["args"][0])
            elif req["call"] == "kernel_cells":
                res = mod.kernel_cells(req["cells"], timeout=req.get("timeout", 30.0))
            else:
                kw = dict(req["kw"])
                if isinstance(kw.get("timeout"), str):
                    try:
                        kw["timeout"] = float(kw["timeout"])
                    except ValueError:
                        pass
                res = mod.execute(req["language"], req["code"], **kw)
        except Exception as e:  # noqa: BLE001
            res = {"error": "%s: %s" % (type(e).__name__, e), "raised": True}
        with lock:
            print(json.dumps({"id": req["id"], "res": res}), file=out, flush=True)

    for line in sys.stdin:
        req = json.loads(line)
        if req.get("thread"):
            threading.Thread(target=one, args=(req,), daemon=True).start()
        else:
            one(req)


class Server:
    def __init__(self, adapter, env, cwd):
        self.p = subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), "--serve", adapter],
            env=env,
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=open(os.environ.get("CHECK_STDERR", os.devnull), "ab"),
            start_new_session=True,
            encoding="utf-8",
        )
        self.n = 0
        self.got = {}
        self.buf = ""
        self.hello = json.loads(self._line(60))

    def _line(self, timeout):
        end = time.monotonic() + timeout
        while "\n" not in self.buf:
            left = end - time.monotonic()
            if left <= 0:
                raise TimeoutError("the server did not answer in %.0f s" % timeout)
            if select.select([self.p.stdout], [], [], left)[0]:
                b = os.read(self.p.stdout.fileno(), 1 << 20).decode("utf-8", "surrogateescape")
                if not b:
                    raise EOFError("the server ended")
                self.buf += b
        line, self.buf = self.buf.split("\n", 1)
        return line

    def send(self, **req):
        self.n += 1
        self.p.stdin.write(json.dumps({"id": self.n, **req}) + "\n")
        self.p.stdin.flush()
        return self.n

    def wait(self, n, timeout):
        while n not in self.got:
            m = json.loads(self._line(timeout))
            self.got[m["id"]] = m["res"]
        return self.got.pop(n)

    def stop(self):
        try:
            self.p.stdin.close()
            self.p.wait(5)
        except Exception:  # noqa: BLE001
            self.p.kill()
            self.p.wait()


# ---------------------------------------------------------------------------------------------------------- fixtures
class Listeners:
    """Loopback listeners that note what reaches them."""

    def __init__(self, base, mark):
        self.hits = []
        self.socks = []
        self.vals = {}
        self._add("TCP4", socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))
        self._add("UDP4", socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0))
        try:
            self._add("TCP6", socket.AF_INET6, socket.SOCK_STREAM, ("::1", 0))
        except OSError:
            self.vals["TCP6"] = "1"
        self._add("UNIX", socket.AF_UNIX, socket.SOCK_STREAM, os.path.join(base, "s.sock"))
        self._add("UNIXDGRAM", socket.AF_UNIX, socket.SOCK_DGRAM, os.path.join(base, "d.sock"))
        self._add("ABSTRACT", socket.AF_UNIX, socket.SOCK_STREAM, "\0kmnb-abs-" + mark)
        self.vals["ABSTRACT"] = "kmnb-abs-" + mark
        threading.Thread(target=self._loop, daemon=True).start()

    def _add(self, name, fam, typ, addr):
        s = socket.socket(fam, typ)
        s.bind(addr)
        if typ == socket.SOCK_STREAM:
            s.listen(16)
        s.setblocking(False)
        self.socks.append((name, typ, s))
        a = s.getsockname()
        self.vals[name] = str(a[1]) if isinstance(a, tuple) else a
        if fam == socket.AF_UNIX and not str(addr).startswith("\0"):
            os.chmod(addr, 0o777)

    def _loop(self):
        while True:
            r, _, _ = select.select([s for _, _, s in self.socks], [], [], 1)
            for name, typ, s in self.socks:
                if s in r:
                    try:
                        if typ == socket.SOCK_STREAM:
                            s.accept()[0].close()
                        else:
                            s.recv(100)
                        self.hits.append(name)
                    except OSError:
                        pass


def snapshot(root):
    out = {}
    for d, ds, fs in os.walk(root):
        for n in ds + fs:
            p = os.path.join(d, n)
            st = os.lstat(p)
            h = ""
            if stat.S_ISREG(st.st_mode):
                with open(p, "rb") as f:
                    h = hashlib.sha256(f.read()).hexdigest()[:16]
            out[os.path.relpath(p, root)] = (
                stat.S_IFMT(st.st_mode),
                stat.S_IMODE(st.st_mode),
                st.st_uid,
                st.st_gid,
                0 if stat.S_ISSOCK(st.st_mode) else st.st_mtime_ns,
                h,
            )
    return out


def children(pid):
    kids = {}
    for p in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % p) as f:
                s = f.read().rsplit(")", 1)[1].split()
            kids.setdefault(int(s[1]), []).append((int(p), s[0]))
        except (OSError, IndexError, ValueError):
            pass
    todo, out = [pid], {}
    while todo:
        for c, state in kids.get(todo.pop(), ()):
            out[c] = state
            todo.append(c)
    return out


class World:
    def __init__(self, adapter):
        self.mark = os.urandom(6).hex()
        self.base = tempfile.mkdtemp(prefix="kmnb-check-")
        os.chmod(self.base, 0o755)
        self.host = self.mk("host", 0o777)
        self.home = self.mk("home", 0o755)
        self.art = self.mk("art", 0o755)
        self.site = self.mk("site", 0o755)
        self.tmp = self.mk("tmp", 0o711)
        self.cwd = self.mk("cwd", 0o755)  # the server's working folder: probes that break out land here
        secret = "SECRET-" + self.mark
        self.write(self.host, "secret.txt", secret + "\n")
        self.write(self.host, "keep/inner.txt", "keep me\n", mode=0o666)
        os.chmod(os.path.join(self.host, "keep"), 0o777)
        os.mkfifo(os.path.join(self.host, "fifo"))
        os.chmod(os.path.join(self.host, "fifo"), 0o666)
        self.write(self.home, ".ssh/id_ed25519", secret + "\n")
        self.write(self.home, ".jupyter/jupyter_server_config.py", "# " + secret + "\n")
        self.write(
            self.home,
            ".local/share/jupyter/runtime/kernel-1.json",
            json.dumps({"key": secret, "transport": "tcp", "ip": "127.0.0.1", "shell_port": 1}),
        )
        self.write(self.home, "nats/user.creds", "-----BEGIN NATS USER JWT-----\n" + secret + "\n")
        self.write(self.home, ".kube/config", "token: " + secret + "\n")
        self.write(self.art, "data.csv", "ns,pods\n" + "".join("ns%d,%d\n" % (i, i * i) for i in range(50)))
        self.write(self.art, "sub/blob.json", '{"rows": [1, 2, 3]}\n')
        self.write(self.site, "kmnb_marker_pkg.py", "MARK = 'third-party code was importable'\n")
        self.write(self.host, "bashenv.sh", "echo INJECTED-BY-BASH-ENV\n")
        self.write(self.host, "startup.py", "print('INJECTED-BY-STARTUP')\n")
        self.fifo = os.open(os.path.join(self.host, "fifo"), os.O_RDONLY | os.O_NONBLOCK)
        self.net = Listeners(self.host, self.mark)
        self.start_victim()
        env = {
            k: v
            for k, v in os.environ.items()
            if k in ("PATH", "LANG", "SANDBOX_PY", "MODE", "CHECK_STDERR", "VIRTUAL_ENV")
            or k.startswith(("ADAPTER_", "ISOLIB_"))
        }
        env.update(
            HOME=self.home,
            SECRET_TOKEN=secret,
            NATS_CREDS=os.path.join(self.home, "nats/user.creds"),
            NATS_URL="nats://127.0.0.1:" + self.net.vals["TCP4"],
            AWS_SECRET_ACCESS_KEY=secret,
            JPY_API_TOKEN=secret,
            OPENAI_API_KEY=secret,
            KUBECONFIG=os.path.join(self.home, ".kube/config"),
            PYTHONSTARTUP=os.path.join(self.host, "startup.py"),
            PYTHONPATH=self.site,
            PYTHONDONTWRITEBYTECODE="1",
            BASH_ENV=os.path.join(self.host, "bashenv.sh"),
            ENV=os.path.join(self.host, "bashenv.sh"),
            PROMPT_COMMAND="echo INJECTED",
            LD_PRELOAD="/nonexistent/kmnb-preload.so",
            PERL5OPT="-Mnonexistent",
            HTTP_PROXY="http://127.0.0.1:" + self.net.vals["TCP4"],
            TMPDIR=self.tmp,
        )
        self.env = env
        self.adapter = adapter
        self.server = Server(adapter, env, self.cwd)
        self.artpath = self.server.wait(self.server.send(call="artifacts_path", args=[self.art]), 30)
        self.vars = {
            **self.net.vals,
            "MARK": self.mark,
            "HOSTDIR": self.host,
            "HOME": self.home,
            "SECRETFILE": os.path.join(self.host, "secret.txt"),
            "VICTIM": str(self.victim.pid),
            "ARTIFACTS": self.artpath,
            "SITE": self.site,
            "TMPBASE": self.tmp,
        }

    def mk(self, name, mode):
        p = os.path.join(self.base, name)
        os.mkdir(p)
        os.chmod(p, mode)
        return p

    def write(self, root, rel, text, mode=0o644):
        p = os.path.join(root, rel)
        os.makedirs(os.path.dirname(p), exist_ok=True)
        with open(p, "w") as f:
            f.write(text)
        os.chmod(p, mode)

    def start_victim(self):
        """A process of the same user that notes every harmless signal it is sent."""
        self.noted = os.path.join(self.base, "victim-noted")
        code = (
            "import os, signal, time\nfor s in (1, 10, 12, 18, 23, 28, 29):\n"
            " signal.signal(s, lambda n, f: os.close(os.open(%r, os.O_CREAT | os.O_WRONLY)))\nprint('up', flush=True)\n"
            "while True: time.sleep(100)" % self.noted
        )
        self.victim = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", code],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            start_new_session=True,
            env={"PATH": "/usr/bin:/bin"},
        )
        self.victim.stdout.readline()
        self.vstate = self.victim_state()

    def victim_state(self):
        p = self.victim.pid
        return (
            os.getpriority(os.PRIO_PROCESS, p),
            os.sched_getscheduler(p),
            tuple(sorted(os.sched_getaffinity(p))),
            resource.prlimit(p, resource.RLIMIT_CPU),
            resource.prlimit(p, resource.RLIMIT_NOFILE),
        )

    def fill(self, text):
        v = {**self.vars, "SERVER": str(self.server.hello["pid"])}
        return re.sub(r"\{\{(\w+)\}\}", lambda m: v.get(m.group(1), m.group(0)), text)

    def restart(self):
        self.server.stop()
        self.server = Server(self.adapter, self.env, self.cwd)

    def close(self):
        self.server.stop()
        self.victim.kill()
        self.victim.wait()
        os.close(self.fifo)
        subprocess.run(["chmod", "-R", "u+rwx", self.base], stderr=subprocess.DEVNULL)
        shutil.rmtree(self.base, ignore_errors=True)


# -------------------------------------------------------------------------------------------------------------- a case
def source(case, which="file"):
    if case.get("code") is not None:
        return case["code"]
    with open(os.path.join(HERE, case[which]), "rb") as f:
        return f.read().decode("utf-8", "surrogatepass")


def build(case, code):
    b = case.get("builder")
    if not b:
        return code
    kind, _, arg = b.partition(":")
    if kind == "pad_comment":  # the code, then comment lines up to that many bytes
        line = "#" + "x" * 78 + "\n"
        return code + line * (max(0, int(arg) - len(code)) // len(line))
    if kind == "nest":  # arg opening brackets, then as many closing ones
        return "x = " + "(" * int(arg) + "1" + ")" * int(arg) + "\n"
    raise ValueError(b)


def match(name, got, exp, bad):
    for r in exp.get(name, []):
        if not re.search(r, got, re.S):
            bad.append("%s lacks /%s/: %r" % (name, r, got[-300:]))
    for r in exp.get(name + "_not", []):
        m = re.search(r, got, re.S)
        if m:
            bad.append("%s has /%s/: %r" % (name, r, got[max(0, m.start() - 60) : m.end() + 200]))


def judge(case, res, dt, bad):
    exp = case.get("expect", {})
    if exp.get("either_error") and res.get("error"):
        return
    err = res.get("error")
    if exp.get("error"):
        if not err or not re.search(exp["error"], err, re.S | re.I):
            bad.append(
                "expected the tool to refuse (/%s/), got error=%r exit=%r" % (exp["error"], err, res.get("exit_code"))
            )
        return
    if err:
        bad.append("tool error: %s" % err[:300])
        return
    if case.get("tool") == "validate":
        if "valid" in exp and bool(res.get("valid")) != exp["valid"]:
            bad.append("valid is %r" % res.get("valid"))
        return
    for key in ("stdout", "stderr"):
        if not isinstance(res.get(key), str):
            bad.append("%s is no text: %r" % (key, type(res.get(key))))
            return
    m = re.search(r"ESCAPED[^\n]*", res["stdout"] + res["stderr"])
    if m:
        bad.append(m.group(0)[:300])
    match("stdout", res["stdout"], exp, bad)
    match("stderr", res["stderr"], exp, bad)
    code = exp.get("exit_code", "any")
    rc = res.get("exit_code")
    if code == "nonzero":
        if rc == 0:
            bad.append("exit code is 0")
    elif code == "signal":
        if not (isinstance(rc, int) and (rc < 0 or rc > 128)):
            bad.append("exit code %r does not tell a signal" % rc)
    elif code != "any" and rc not in (code if isinstance(code, list) else [code]):
        bad.append("exit code %r, expected %r; stderr %r" % (rc, code, res["stderr"][-300:]))
    for key in ("timed_out", "truncated"):
        if key in exp and bool(res.get(key)) != exp[key]:
            bad.append("%s is %r" % (key, res.get(key)))
    for key in ("stdout", "stderr"):
        if len(res[key]) > exp.get("max_%s_chars" % key, 1 << 60):
            bad.append("%s has %d characters" % (key, len(res[key])))
    if "max_seconds" in exp and dt > exp["max_seconds"]:
        bad.append("took %.1f s" % dt)


def judge_cells(case, res, dt, bad):
    for i, exp in enumerate(case["expect"]["cells"]):
        c = res[i]
        out, err = c.get("stdout") or "", c.get("stderr") or ""
        match("stdout", out, exp, bad)
        match("stderr", err, exp, bad)
        m = re.search(r"ESCAPED[^\n]*", out + err)
        if m:
            bad.append("cell %d: %s" % (i + 1, m.group(0)[:200]))
        if "status" in exp and c.get("status") != exp["status"]:
            bad.append("cell %d: status %r (%s)" % (i + 1, c.get("status"), c.get("ename")))
        for mime in exp.get("mimes_not", []):
            if mime in (c.get("mimes") or []):
                bad.append("cell %d: output of type %s reached the notebook" % (i + 1, mime))
        if len(out) > exp.get("max_stdout_chars", 1 << 60):
            bad.append("cell %d: %d characters" % (i + 1, len(out)))
    if dt > case["expect"].get("max_seconds", 1e9):
        bad.append("took %.1f s" % dt)


def reap(w):
    """What was orphaned and has ended is ours to wait for, as it would be init's.  Zombies of the server are its own."""
    me = os.getpid()
    for p in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % p) as f:
                s = f.read().rsplit(")", 1)[1].split()
            if s[0] == "Z" and int(s[1]) == me and int(p) not in (w.server.p.pid, w.victim.pid):
                os.waitpid(int(p), os.WNOHANG)
        except (OSError, IndexError, ValueError):
            pass


def run_case(w, case):
    bad = []
    before = {n: snapshot(getattr(w, n)) for n in ("host", "home", "art", "site", "cwd")}
    w.net.hits.clear()
    known = set(children(os.getpid()))
    fds = len(os.listdir("/proc/%d/fd" % w.server.hello["pid"]))
    limit = float(case.get("server_limit", 60))
    files = [f for f in ("file", "file2", "file3") if case.get(f)] or ["code"]
    t0 = time.monotonic()
    try:
        if case.get("target") == "kernel":
            cells = [w.fill(source(case, f)) for f in files]
            res = w.server.wait(w.server.send(call="kernel_cells", cells=cells, timeout=case.get("timeout", 30)), 120)
            if isinstance(res, dict) and res.get("error"):
                bad.append("tool error: " + res["error"][:300])
            else:
                judge_cells(case, res, time.monotonic() - t0, bad)
        else:
            kw = {"timeout": case.get("timeout", 10), "artifacts": w.art, "tmp": w.tmp}
            for k in ("tool", "filename", "output_cap"):
                if k in case:
                    kw[k] = w.fill(case[k]) if isinstance(case[k], str) else case[k]
            lang = w.fill(case["language"])
            if case.get("parallel"):  # all files at once, that many times
                ids = []
                for rep in range(case["parallel"]):
                    for f in files:
                        code = w.fill(build(case, source(case, f))).replace("{{N}}", str(rep))
                        ids.append(w.server.send(call="execute", language=lang, code=code, kw=kw, thread=True))
                for i in ids:
                    judge(case, w.server.wait(i, limit), time.monotonic() - t0, bad)
            else:  # one after the other
                for rep in range(case.get("repeat", 1)):
                    for f in files:
                        t1 = time.monotonic()
                        code = w.fill(build(case, source(case, f))).replace("{{N}}", str(rep))
                        i = w.server.send(call="execute", language=lang, code=code, kw=kw)
                        judge(case, w.server.wait(i, limit), time.monotonic() - t1, bad)
    except (TimeoutError, EOFError, BrokenPipeError, json.JSONDecodeError, UnicodeError) as e:
        bad.append("the server: %s %s" % (type(e).__name__, e))
    # ---- afterwards, outside
    time.sleep(case.get("settle", 0.1))
    if w.server.p.poll() is not None:
        bad.append("the server process ended (%s)" % w.server.p.returncode)
        w.restart()
    reap(w)
    left = [p for p in children(os.getpid()) if p not in known and p != w.server.p.pid]
    if left:
        time.sleep(0.4)  # give an exit that is under way a moment
        reap(w)
        left = {p: s for p, s in children(os.getpid()).items() if p not in known and p != w.server.p.pid}
        names = []
        for p in left:
            try:
                with open("/proc/%d/cmdline" % p, "rb") as f:
                    cmd = f.read().replace(b"\0", b" ")[:200].decode("utf-8", "replace")
            except OSError:
                continue
            if "kmnb-pool" not in cmd:  # an adapter may mark its own long-lived helpers so
                names.append("%d %s %s" % (p, left[p], cmd[:80]))
                try:
                    os.kill(p, signal.SIGKILL)
                except OSError:
                    pass
        if names:
            bad.append("processes left: %s" % names[:5])
        reap(w)
    if w.net.hits:
        bad.append("reached listeners: %s" % sorted(set(w.net.hits)))
    try:
        if os.read(w.fifo, 100):
            bad.append("wrote into a host fifo")
    except BlockingIOError:
        pass
    for n, snap in before.items():
        now = snapshot(getattr(w, n))
        diff = sorted(k for k in set(snap) | set(now) if snap.get(k) != now.get(k))
        if diff:
            bad.append("host folder %s changed: %s" % (n, [(k, snap.get(k), now.get(k)) for k in diff[:3]]))
    if w.victim.poll() is not None:
        bad.append("the victim process was ended")
        w.start_victim()
        w.vars["VICTIM"] = str(w.victim.pid)
    elif w.victim_state() != w.vstate:
        bad.append("the victim's scheduling or limits were changed: %s" % (w.victim_state(),))
        w.vstate = w.victim_state()
    if os.path.exists(w.noted):
        bad.append("the victim process got a signal")
        os.unlink(w.noted)
    leftover = os.listdir(w.tmp)
    if leftover:
        bad.append("run folders left: %s" % leftover[:3])
        subprocess.run(["chmod", "-R", "u+rwx", w.tmp], stderr=subprocess.DEVNULL)
        for n in leftover:
            subprocess.run(["rm", "-rf", os.path.join(w.tmp, n)], stderr=subprocess.DEVNULL)
    if w.server.p.poll() is None and case.get("target") != "kernel":
        now = len(os.listdir("/proc/%d/fd" % w.server.hello["pid"]))
        if now > fds + 3:
            bad.append("the server holds %d more descriptors" % (now - fds))
    return bad


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("adapter")
    ap.add_argument("--only", default="", help="regular expression on the id")
    ap.add_argument("--json", help="write the results there")
    ap.add_argument("--heavy", action="store_true", help="also the cases that take gigabytes when they get through")
    ap.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    a = ap.parse_args()
    if a.serve:
        return serve(a.adapter)
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # subreaper: whatever is orphaned becomes our child and is seen
    with open(os.path.join(HERE, "index.json")) as f:
        cases = json.load(f)["cases"]
    w = World(os.path.abspath(a.adapter))
    have = set(w.server.hello["guarantees"])
    results, failed = {}, 0
    try:
        for c in cases:
            if not re.search(a.only, c["id"]):
                continue
            why = None
            if c.get("heavy") and not a.heavy:
                why = "heavy"
            elif set(c.get("needs", [])) - have:
                why = "not claimed: " + ", ".join(sorted(set(c["needs"]) - have))
            elif c.get("target") == "kernel" and not w.server.hello["kernel"]:
                why = "the adapter has no kernel"
            elif c.get("machine") and os.uname().machine not in c["machine"]:
                why = "machine"
            if why:
                results[c["id"]] = ["SKIPPED", why]
                print("skip %-7s %s (%s)" % (c["id"], c["title"], why), flush=True)
                continue
            t = time.monotonic()
            bad = run_case(w, c)
            dt = time.monotonic() - t
            failed += bool(bad)
            results[c["id"]] = ["FAILED", bad] if bad else ["ok", round(dt, 2)]
            print("%s %-7s %s (%.1f s)" % ("FAIL" if bad else "ok  ", c["id"], c["title"], dt), flush=True)
            for b in bad:
                print("        " + b, flush=True)
    finally:
        w.close()
    n = {k: sum(1 for r in results.values() if r[0] == k) for k in ("ok", "FAILED", "SKIPPED")}
    print("%d passed, %d failed, %d skipped" % (n["ok"], n["FAILED"], n["SKIPPED"]))
    if a.json:
        with open(a.json, "w") as f:
            json.dump(results, f, indent=1)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
