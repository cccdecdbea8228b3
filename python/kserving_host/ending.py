"""The end of this process, once the model or the hooks have closed."""

import atexit
import os
import sys
import traceback


def end_process():
    """Does what Python's own end does for the user's code, without the rest of it, which takes a second where torch is loaded."""
    try:
        _end_children()
        atexit._run_exitfuncs()
        sys.stdout.flush()
    except BaseException:
        traceback.print_exc()
    os._exit(0)


def _end_children():
    """Processes of pools never learn that this one is gone. Those that are daemons end at exit; others would be waited for."""
    multiprocessing = sys.modules.get("multiprocessing")
    for child in multiprocessing.active_children() if multiprocessing else ():
        if not child.daemon:
            child.terminate()
