import { quantile } from "../../test/helpers/quantile.ts";
import { GrpcConnection } from "./grpc-connection.ts";
import { HttpConnection } from "./http-connection.ts";
import type { LoadConnection, LoadMessage } from "./load-connection.ts";
import type { LoadJob, LoadResult } from "./load-job.ts";

/** Runs one job over connections of its own. */
export function runJob(job: LoadJob): Promise<LoadResult> {
  const open = job.protocol === "grpc" ? GrpcConnection : HttpConnection;
  const connections = Array.from({ length: job.connections }, () => new open(job.port, job.path));
  const run = new JobRun(job, connections);
  return run.finished.finally(() => connections.forEach((connection) => void connection.close()));
}

class JobRun {
  readonly finished: Promise<LoadResult>;
  readonly #job: LoadJob;
  readonly #connections: readonly LoadConnection[];
  readonly #latencies: number[] = [];
  readonly #problems: Record<string, number> = {};
  readonly #started = performance.now();
  readonly #ends: number;
  #begun = 0;
  #open = 0;
  #resolve: (result: LoadResult) => void = () => {};

  constructor(job: LoadJob, connections: readonly LoadConnection[]) {
    this.#job = job;
    this.#connections = connections;
    this.#ends = this.#started + (job.seconds ?? Number.POSITIVE_INFINITY) * 1000;
    this.finished = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    for (let slot = 0; slot < job.inFlight; slot++) this.#next(slot);
  }

  /** Sends the slot's next request when it is due. */
  #next(slot: number): void {
    const now = performance.now();
    if (now >= this.#ends || this.#begun >= (this.#job.requests ?? Number.POSITIVE_INFINITY)) {
      if (this.#open === 0) this.#finish(now);
      return;
    }
    const { perSecond } = this.#job;
    const due = perSecond === undefined ? now : this.#started + (this.#begun / perSecond) * 1000;
    this.#begun++;
    this.#open++;
    if (due - now < 1) this.#send(slot, now);
    else setTimeout(() => this.#send(slot, performance.now()), due - now);
  }

  #send(slot: number, sent: number): void {
    const { messages } = this.#job;
    const connection = this.#connections[slot % this.#connections.length] as LoadConnection;
    connection.send(messages[this.#begun % messages.length] as LoadMessage, (problem) => {
      this.#latencies.push(performance.now() - sent);
      if (problem !== undefined) this.#problems[problem] = (this.#problems[problem] ?? 0) + 1;
      this.#open--;
      this.#next(slot);
    });
  }

  #finish(now: number): void {
    const sorted = Float64Array.from(this.#latencies).sort();
    this.#resolve({
      requests: this.#latencies.length,
      seconds: (now - this.#started) / 1000,
      p50Ms: quantile(sorted, 0.5),
      p99Ms: quantile(sorted, 0.99),
      problems: this.#problems,
    });
  }
}
