"""The signals that end programs."""

import signal

# Whoever stops a group of processes, rotates its log or has it read files again sends these to all, and the server alone is meant.
PASSED_OVER = ("SIGTERM", "SIGHUP", "SIGUSR2")


def pass_over_signals():
    """Has signals do nothing. By handlers, since programs that a model starts would inherit SIG_IGN."""
    for name in PASSED_OVER:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), lambda *_: None)
