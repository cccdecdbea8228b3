import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { freePort } from "../../test/helpers/free-port.ts";

/** The command line of a server. */
export interface ServerCommand {
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts a program on a free port and waits until it listens there. */
export async function startProgram(toCommand: (port: number, folder: string) => ServerCommand) {
  const folder = mkdtempSync(join(tmpdir(), "check-storage-"));
  const port = await freePort();
  const { command, env } = toCommand(port, folder);
  const [program = "", ...args] = command;
  const child: ChildProcess = spawn(program, args, {
    env: { ...process.env, ...env },
    stdio: "ignore",
    detached: true,
  });
  const ended = once(child, "exit");
  const stop = async () => {
    child.kill();
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  for (let tries = 0; tries < 300; tries++) {
    if (child.exitCode !== null) throw new Error(`${program} has ended`);
    const isThere = await fetch(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false,
    );
    if (isThere) return { port, stop };
    await delay(200);
  }
  await stop();
  throw new Error(`${program} does not listen`);
}
