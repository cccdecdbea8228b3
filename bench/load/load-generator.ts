import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { watchChild } from "../../test/helpers/children.ts";
import type { LoadJob, LoadResult } from "./load-job.ts";

const PROGRAM = fileURLToPath(new URL("../load-process.ts", import.meta.url));

/**
 * The load generator, in a process of its own: what it costs is not the server's, though it shares the machine's cores.
 */
export class LoadGenerator {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  static async start(): Promise<LoadGenerator> {
    const child = watchChild(fork(PROGRAM, { serialization: "advanced" }));
    await once(child, "message");
    return new LoadGenerator(child);
  }

  /** Runs one job; one at a time. */
  async run(job: LoadJob): Promise<LoadResult> {
    this.#child.send(job);
    const [result] = await once(this.#child, "message");
    return result;
  }

  /** Runs one job and throws unless every answer was as expected. */
  async runClean(job: LoadJob): Promise<LoadResult> {
    const result = await this.run(job);
    if (Object.keys(result.problems).length === 0) return result;
    throw new Error(
      `${job.protocol} ${job.path}: not every answer was as expected: ${JSON.stringify(result.problems)}`,
    );
  }

  stop(): void {
    this.#child.disconnect();
  }
}
