import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { watchChild } from "../children.ts";
import type { NeighbourJob, NeighbourReport } from "./neighbour-report.ts";

/** The other client of an attacked server, in a process of its own. */
export class Neighbour {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  /** Starts its process and its requests. */
  static async start(job: NeighbourJob): Promise<Neighbour> {
    const child = watchChild(fork(fileURLToPath(new URL("../attack-neighbour.ts", import.meta.url))));
    await once(child, "message");
    child.send(job);
    return new Neighbour(child);
  }

  /** Its waits since the last call. */
  async report(): Promise<NeighbourReport> {
    const answer = once(this.#child, "message");
    this.#child.send("report");
    const [report] = await answer;
    return report as NeighbourReport;
  }

  /** Ends its process. */
  async stop(): Promise<void> {
    const ended = once(this.#child, "exit");
    this.#child.disconnect();
    await ended;
  }
}
