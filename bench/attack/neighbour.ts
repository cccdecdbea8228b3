import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { watchChild } from "../../test/helpers/children.ts";
import type { NeighbourJob, NeighbourReports } from "./neighbour-report.ts";

/** Other clients of attacked servers, in a process of their own, which takes one server after the other. */
export class Neighbour {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  /** Starts its process. */
  static async start(): Promise<Neighbour> {
    const child = watchChild(fork(fileURLToPath(new URL("../attack-neighbour.ts", import.meta.url))));
    await once(child, "message");
    return new Neighbour(child);
  }

  /** Begins to ask. */
  begin(job: NeighbourJob): void {
    this.#child.send(job);
  }

  /** Asks no more until it is told to. */
  end(): void {
    this.#child.send("end");
  }

  /** Its waits since the last call. */
  async report(): Promise<NeighbourReports> {
    const answer = once(this.#child, "message");
    this.#child.send("report");
    const [report] = await answer;
    return report as NeighbourReports;
  }

  /** Ends its process. */
  async stop(): Promise<void> {
    const ended = once(this.#child, "exit");
    this.#child.disconnect();
    await ended;
  }
}
