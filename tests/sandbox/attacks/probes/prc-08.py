import os, resource

V = {{VICTIM}}


def quiet(label, f):
    try:
        f()
        print("said done:", label)
    except OSError as e:
        print("refused:", label, e)


quiet("nice", lambda: os.setpriority(os.PRIO_PROCESS, V, 19))
quiet("affinity", lambda: os.sched_setaffinity(V, {sorted(os.sched_getaffinity(0))[0]}))
quiet("scheduler", lambda: os.sched_setscheduler(V, os.SCHED_IDLE, os.sched_param(0)))
quiet("limits", lambda: resource.prlimit(V, resource.RLIMIT_NOFILE, (64, 64)))
print("HELD if the victim is as it was (checked outside)")
