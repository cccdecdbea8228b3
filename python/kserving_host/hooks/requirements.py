"""Packages that a hook file needs, installed where the user asks for it."""

import importlib
import os
import subprocess
import sys
import tempfile

from ..errors import refused

# Of pip's last lines, that are told.
MOST_LINES = 3


def install_requirements(asked, name):
    """Installs a list of packages into this interpreter's environment: `requirements.txt` beside the hook file for `true`, else the file of that name."""
    path = os.path.join(os.path.dirname(name), "requirements.txt") if asked == "true" else asked
    if not os.path.isfile(path):
        raise refused(f"{name}: there is no {path}; expected a file of packages for -o requirements={asked}.")
    print(f"installing the packages of {path} for {sys.executable}", flush=True)
    with _alone():
        command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--quiet", "-r", path]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        lines = done.stdout.decode("utf-8", "replace").strip().splitlines()[-MOST_LINES:]
        raise refused(f"{path} cannot be installed for {sys.executable}: {' / '.join(lines)}. A virtual environment can be named: -o python=PATH.")
    importlib.invalidate_caches()


def _alone():
    """A lock among the processes of this user: pip bears no other one in the same environment."""
    import fcntl

    file = open(os.path.join(tempfile.gettempdir(), f"kserving-pip-{os.getuid()}.lock"), "w")
    fcntl.flock(file, fcntl.LOCK_EX)
    return file
