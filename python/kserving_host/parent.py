"""This process ends with the server, whatever ends that."""

import ctypes
import os
import signal
import sys
import threading
import time

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
GRACE_SECONDS = 4


def end_with_parent(fd):
    """`fd` is a pipe that the server holds open and never writes to. The kernel's help is for code that never lets Python's other threads run."""
    if sys.platform == "linux":
        prctl = ctypes.CDLL(None).prctl
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        # Other models' processes do not read this one's memory.
        if os.environ.get("KSERVING_DEBUGGABLE", "").lower() not in ("true", "yes", "on", "1"):
            prctl(PR_SET_DUMPABLE, 0)
    threading.Thread(target=_wait, args=(fd,), daemon=True).start()


def _wait(fd):
    while os.read(fd, 64):
        pass
    # Closing takes a while where a model closes; a hung one is killed by the server, or by the kernel with it.
    time.sleep(GRACE_SECONDS)
    os._exit(1)
