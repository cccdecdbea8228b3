/**
 * Clients that suffer, in a process of their own: each way to ask has one request under way on each wire, without end.
 */
import { setTimeout as wait } from "node:timers/promises";
import type { NeighbourCommand, NeighbourJob, WayName, Wire } from "./attack/neighbour-report.ts";
import { Waits, WatchedThreads } from "./attack/waits.ts";
import { type Asker, createAsker, WAYS } from "./attack/ways.ts";

const AGAIN_MS = 20;
const WIRES: readonly Wire[] = ["http", "grpc"];

let asking: Asking | undefined;
process.on("message", (command: NeighbourCommand) => {
  if (command === "report") process.send?.(asking?.report());
  else if (command === "end") asking?.end();
  else asking = new Asking(command);
});
process.on("disconnect", () => process.exit());
process.send?.("ready");

/** All requests to one server. */
class Asking {
  readonly #threads: WatchedThreads;
  readonly #waits = new Map<string, Waits>();
  readonly #askers: Asker[] = [];
  #isOver = false;

  constructor(job: NeighbourJob) {
    this.#threads = new WatchedThreads(job.pid);
    for (const way of job.ways) for (const wire of WIRES) void this.#askOn(way, createAsker(way, wire, job), wire);
  }

  report(): object {
    return Object.fromEntries([...this.#waits].map(([name, waits]) => [name, waits.report()]));
  }

  end(): void {
    this.#isOver = true;
    for (const asker of this.#askers) asker.close();
    this.#threads.close();
  }

  async #askOn(way: WayName, asker: Asker, wire: Wire): Promise<void> {
    const waits = new Waits(this.#threads);
    this.#askers.push(asker);
    this.#waits.set(`${way} ${wire}`, waits);
    while (!this.#isOver) {
      await (way === "tiny" ? askOnce(asker, waits) : this.#askUntilServed(asker, waits));
      await wait(WAYS[way].pauseMs);
    }
  }

  /** A refusal makes the wait longer. */
  async #askUntilServed({ ask, ok, refusals }: Asker, waits: Waits): Promise<void> {
    const end = waits.begin();
    let status = await ask();
    while (refusals.includes(status) && !this.#isOver) {
      waits.refuse();
      await wait(AGAIN_MS);
      status = await ask();
    }
    if (!this.#isOver) end(status === ok ? "ok" : { failure: status });
  }
}

async function askOnce({ ask, ok, refusals }: Asker, waits: Waits): Promise<void> {
  const end = waits.begin();
  const status = await ask();
  end(status === ok ? "ok" : refusals.includes(status) ? "refused" : { failure: status });
}
