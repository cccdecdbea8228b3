import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll } from "vitest";

const PROGRAM = fileURLToPath(new URL("warm_python.py", import.meta.url));

/**
 * The path of a program that is this Python with modules imported already, in the tests of a file or suite: a process
 * of theirs is a fork of one that has them, since importing torch takes two seconds of a processor. It takes the
 * arguments that the driver gives; what Python itself does at its start is for tests with a Python of their own.
 * Without a Python, whose tests are skipped, it is none.
 */
export function warmPython(python: string | undefined, ...modules: readonly string[]): string {
  if (python === undefined) return "";
  const folder = join(tmpdir(), `kserving-warm-${randomUUID()}`);
  const [program, socket] = [join(folder, "python"), join(folder, "socket")];
  // What lies before the program are Python's own options.
  const script = `#!/bin/sh\nwhile [ "\${1#-}" != "$1" ]; do [ "$1" = -X ] && shift; shift; done
exec '${python}' -I -S '${PROGRAM}' --run '${socket}' "$@"\n`;
  // What the drivers set before they import is set here, since the libraries are imported already.
  const set = { HF_HUB_OFFLINE: "1", MLFLOW_DISABLE_TELEMETRY: "true" };
  const env = { OMP_NUM_THREADS: "1", OPENBLAS_NUM_THREADS: "1", ...set, ...process.env };
  let stop = async () => {};
  beforeAll(async () => {
    mkdirSync(folder);
    writeFileSync(program, script, { mode: 0o755 });
    const child = spawn(python, [PROGRAM, socket, ...modules], { env, stdio: ["pipe", "pipe", "inherit"] });
    const ended = once(child, "exit");
    stop = async () => {
      child.stdin.end();
      await ended;
    };
    await Promise.race([
      once(child.stdout, "data"),
      ended.then(([code]) => {
        throw new Error(`${python} cannot import ${modules.join(", ")}: it ended with ${code}`);
      }),
    ]);
  }, 180_000);
  afterAll(async () => {
    await stop();
    rmSync(folder, { recursive: true });
  });
  return program;
}
