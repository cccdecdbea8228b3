import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll } from "vitest";
import { findPython } from "./find-python.ts";

const PROGRAM = fileURLToPath(new URL("warm_python.py", import.meta.url));

/** Programs that have numpy alone, by their Python. They are small, and stay for all files of a worker. */
const small = new Map<string, string>();

/**
 * The path of a program that is this Python with modules imported already, in the tests of a file or suite and where
 * they are collected: a process of theirs is a fork of one that has them, since importing torch takes two seconds of a
 * processor. It takes the arguments that the driver gives, a script's, and `-c`; what Python itself does at its start
 * is for tests with a Python of their own, and so are files by the name of a module that is imported already. Without
 * a Python, whose tests are skipped, it is none.
 */
export function warmPython(python: string | undefined, ...modules: readonly string[]): string {
  if (python === undefined) return "";
  if (modules.join() !== "numpy") {
    const { program, stop } = start(python, modules);
    afterAll(stop);
    return program;
  }
  const program = small.get(python) ?? start(python, modules).program;
  small.set(python, program);
  return program;
}

/** A Python with numpy that has it already; undefined where there is none, whose tests are skipped. */
export function warmNumpy(what: string): string | undefined {
  const python = findPython(what, ["numpy"]);
  return python && warmPython(python, "numpy");
}

/** Those who ask before it has imported all wait. It ends with this process, and deletes its folder then. */
function start(python: string, modules: readonly string[]) {
  const folder = join(tmpdir(), `kserving-warm-${randomUUID()}`);
  const [program, socket] = [join(folder, "python"), join(folder, "socket")];
  // What lies before the program are Python's own options.
  const script = `#!/bin/sh\nwhile [ "\${1#-}" != "$1" ] && [ "$1" != -c ]; do case "$1" in -W|-X) shift;; esac; shift; done
exec '${python}' -I -S '${PROGRAM}' --run '${socket}' "$@"\n`;
  mkdirSync(folder);
  writeFileSync(program, script, { mode: 0o755 });
  // What the drivers set before they import is set here, since the libraries are imported already.
  const set = { HF_HUB_OFFLINE: "1", MLFLOW_DISABLE_TELEMETRY: "true" };
  const env = { OMP_NUM_THREADS: "1", OPENBLAS_NUM_THREADS: "1", ...set, ...process.env };
  const child = spawn(python, [PROGRAM, socket, ...modules], { env, stdio: ["pipe", "ignore", "inherit"] });
  const ended = once(child, "exit");
  child.unref();
  (child.stdin as Socket).unref();
  const stop = async () => {
    child.ref();
    child.stdin.end();
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  return { program, stop };
}
