"""Python processes that have their libraries already: each is a fork of one that has imported them.

`warm_python.py SOCKET MODULE...` imports, and forks for each connection until its standard input ends; the folder of
the socket goes with it. `warm_python.py --run SOCKET ARGUMENT...` waits for that, and becomes, as far as its parent can
tell, Python with these arguments.
"""

import faulthandler
import fcntl
import json
import os
import runpy
import select
import signal
import shutil
import socket
import sys
import time
import types
from importlib.machinery import SourceFileLoader
from pathlib import Path

# What the programs under test import of Python itself.
OF_HOST = ["asyncio", "ctypes", "difflib", "inspect", "json", "threading", "traceback", "zipfile"]
HOST = Path(__file__).resolve().parents[2] / "python"
# Forks get the numbers of descriptors that they ask for, which lie below this one.
FREE = 100


def run(path, arguments):
    """Gives a fork this process's descriptors, and ends as that does."""
    fds = [int(name) for name in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{name}")]
    server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connect(server, path)
    told = {"fds": fds, "arguments": arguments, "environment": dict(os.environ), "folder": os.getcwd()}
    socket.send_fds(server, [json.dumps(told).encode()], fds)
    for fd in fds:
        os.close(fd)
    status = int(server.recv(16))
    if os.WIFSIGNALED(status):
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.waitstatus_to_exitcode(status))


def connect(server, path):
    """Waits while the one who listens imports, and ends where that has ended."""
    while True:
        try:
            return server.connect(path)
        except (FileNotFoundError, ConnectionRefusedError):
            if not os.path.exists(os.path.dirname(path)):
                sys.exit("the warm Python has ended; what it said is above")
        time.sleep(0.02)


def keep_code():
    """Compiles the programs under test once: they leave no compiled files behind, and are compiled for each process."""
    codes = {str(path): compile(path.read_bytes(), path, "exec", dont_inherit=True) for path in HOST.rglob("*.py")}
    get_code = SourceFileLoader.get_code
    SourceFileLoader.get_code = lambda loader, name: codes.get(loader.path) or get_code(loader, name)


def listen(path, modules):
    """Forks for each connection."""
    keep_code()
    for name in [*OF_HOST, *modules]:
        __import__(name)
    server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    server.bind(path)
    server.listen(64)
    while server in select.select([server, 0], [], [])[0]:
        connection, _ = server.accept()
        if os.fork() == 0:
            server.close()
            try:
                watch(connection)
            finally:
                os._exit(1)
        connection.close()
        # Those that have ended, whose time of a processor counts as this one's then.
        reap()
    reap()


def reap():
    try:
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass
    except ChildProcessError:
        pass


def watch(connection):
    """Starts what is asked for, kills it if the one who asks goes first, and tells its end otherwise."""
    message, fds, _, _ = socket.recv_fds(connection, 1 << 20, FREE)
    pid = os.fork()
    if pid == 0:
        connection.close()
        become(json.loads(message), fds)
    for fd in fds:
        os.close(fd)
    if connection in select.select([connection, os.pidfd_open(pid)], [], [])[0]:
        os.kill(pid, signal.SIGKILL)
    else:
        connection.send(str(os.waitpid(pid, 0)[1]).encode())
    os._exit(0)


def become(told, fds):
    high = [fcntl.fcntl(fd, fcntl.F_DUPFD, FREE) for fd in fds]
    os.closerange(0, FREE)
    for fd, number in zip(high, told["fds"]):
        os.dup2(fd, number)
        os.close(fd)
    os.chdir(told["folder"])
    os.environ.clear()
    os.environ.update(told["environment"])
    faulthandler.enable()
    program, *rest = told["arguments"]
    sys.argv = [program, *rest]
    sys.stdout.reconfigure(line_buffering=True, write_through=True)
    try:
        if program == "-c":
            run_text(sys.argv.pop(1))
        else:
            runpy.run_path(program, run_name="__main__")
    except SystemExit as end:
        if end.code is not None and not isinstance(end.code, int):
            print(end.code, file=sys.stderr)
        os._exit(end.code if isinstance(end.code, int) else int(end.code is not None))
    except BaseException:
        sys.excepthook(*sys.exc_info())
        os._exit(1)
    os._exit(0)


def run_text(text):
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    exec(compile(text, "<string>", "exec"), main.__dict__)


if sys.argv[1] == "--run":
    run(sys.argv[2], sys.argv[3:])
else:
    try:
        listen(sys.argv[1], sys.argv[2:])
    finally:
        shutil.rmtree(os.path.dirname(sys.argv[1]), ignore_errors=True)
