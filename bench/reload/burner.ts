import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

/** Burns processor time when it is told to, and says when it has. */
const PROGRAM = `
process.on("message", (ms) => {
  const started = process.cpuUsage();
  for (;;) {
    const { user, system } = process.cpuUsage(started);
    if ((user + system) / 1000 >= ms) break;
  }
  process.send("done");
});`;

/** Another process that takes so much of the machine as it is told to, and nothing else. */
export class Burner {
  readonly #child: ChildProcess = spawn(process.execPath, ["-e", PROGRAM], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });

  /** Resolves once it has used so many milliseconds of processor time. */
  async burn(ms: number): Promise<void> {
    const done = once(this.#child, "message");
    this.#child.send(ms);
    await done;
  }

  close(): void {
    this.#child.kill();
  }
}
