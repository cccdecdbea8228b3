import type { AccessLog, RequestOutcome } from "./access-log.ts";
import type { RequestMetrics } from "./metrics/request-metrics.ts";
import type { RequestRecord } from "./request-record.ts";

/** Tells the access log and the metrics of each request that is over. */
export class RequestObserver {
  readonly #access: AccessLog;
  readonly #metrics: RequestMetrics | undefined;

  /** Without metrics, only the log hears of requests. */
  constructor(access: AccessLog, metrics?: RequestMetrics) {
    this.#access = access;
    this.#metrics = metrics;
  }

  /** True while requests that begin now are to be told of. */
  get isOn(): boolean {
    return this.#metrics !== undefined || this.#access.isOn;
  }

  /** Begins to observe a request, from an address. */
  begin(record: RequestRecord, address: string, headers: Readonly<Record<string, unknown>>): void {
    record.startTiming();
    this.#access.begin(record, { address, headers });
  }

  /** Tells of a request that is over. A stream is told of by its messages, each of which is a request. */
  over(record: RequestRecord, outcome: RequestOutcome): void {
    if (this.#access.isOn) this.#access.write(record, outcome);
    if (record.messages === undefined) this.#metrics?.add(record, outcome.code ?? outcome.status);
  }
}
