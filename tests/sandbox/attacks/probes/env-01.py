import os

ok = {
    "PATH",
    "HOME",
    "TMPDIR",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "PWD",
    "SHLVL",
    "_",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
}
for k, v in os.environ.items():
    if "SECRET-" in v or k in ("NATS_CREDS", "NATS_URL", "KUBECONFIG", "HTTP_PROXY", "LD_PRELOAD"):
        print("ESCAPED", k)
extra = sorted(
    k
    for k in os.environ
    if k not in ok and not k.startswith(("PYTHON", "MALLOC_", "KMNB_", "OMP_", "OPENBLAS_", "BASH_FUNC_"))
)
print("ESCAPED unexpected names %s" % extra if extra else "HELD")
