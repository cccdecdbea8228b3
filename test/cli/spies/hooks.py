"""Hooks that answer with the secrets that they find, as look.ts does."""

import json
import os
import re
import subprocess
import sys

SECRET = re.compile(r"canary-[\da-f]{16}(\w*)")


def process(inputs, ctx):
    found = look(int(inputs["x"][0]))
    found += [name for name in ctx.metadata if re.search("authorization", name)]
    return {"found": json.dumps(found)}


def look(top):
    found = in_text("process.env", repr(dict(os.environ))) + in_text("argv", repr(sys.argv))
    found += in_text("child", subprocess.run(["/usr/bin/env"], capture_output=True, text=True).stdout)
    for pid in family(top):
        who = "own" if pid == os.getpid() else "other"
        for name in ("environ", "cmdline", "comm"):
            found += in_text(f"{who} {name}", read(f"/proc/{pid}/{name}"))
        if who == "other" and is_readable(pid):
            found.append("other mem")
        if who == "other" and link_of(f"/proc/{pid}/fd/1"):
            found.append("other fd")
    if may_read_others():
        found.append("rights")
    if holds_listener():
        found.append("listening socket")
    return sorted(set(found))


def may_read_others():
    rights = re.findall(r"^Cap(?:Eff|Bnd):\s*([\da-f]+)$", read("/proc/self/status"), re.M)
    return any(int(text, 16) >> right & 1 for text in rights for right in (19, 21, 38))


def holds_listener():
    tables = read("/proc/net/tcp") + read("/proc/net/tcp6")
    listening = {f"socket:[{inode}]" for inode in re.findall(r" 0A (?:\S+ +){5}(\d+)", tables)}
    return any(link_of(f"/proc/self/fd/{fd}") in listening for fd in os.listdir("/proc/self/fd"))


def in_text(place, text):
    return [f"{place}: {end}" for end in SECRET.findall(text)]


def family(top):
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        stat = read(f"/proc/{name}/stat")
        if stat:
            parents[int(name)] = int(stat[stat.rindex(")") + 4 :].split(" ")[0])
    members = [top]
    for member in members:
        members += [pid for pid, parent in parents.items() if parent == member]
    return members


def read(path):
    try:
        with open(path, encoding="latin1") as file:
            return file.read()
    except OSError:
        return ""


def is_readable(pid):
    try:
        start = int(read(f"/proc/{pid}/maps").split("-")[0], 16)
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            memory.seek(start)
            return len(memory.read(16)) > 0
    except (OSError, ValueError):
        return False


def link_of(path):
    try:
        return os.readlink(path)
    except OSError:
        return ""
