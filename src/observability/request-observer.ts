import type { AccessLog, RequestOutcome } from "./access-log.ts";
import type { RecentRequests } from "./live/recent-requests.ts";
import type { RequestMetrics } from "./metrics/request-metrics.ts";
import type { RequestRecord } from "./request-record.ts";
import type { RequestTracer } from "./request-tracer.ts";
import { Timeline } from "./timeline.ts";

/** Those that are notified of requests in addition to the access log. */
export interface ObserverParts {
  /** Absent = requests are not counted. */
  readonly metrics?: RequestMetrics | undefined;
  /** Sends clients the times of their requests, if that is on. Default: it is not. */
  readonly logging?: { readonly serverTiming: boolean } | undefined;
  /** Absent = nothing is traced. */
  readonly tracer?: RequestTracer | undefined;
  /** Absent = no requests are kept for people to see. */
  readonly recent?: RecentRequests | undefined;
}

/** Reports each completed request to the access log and the metrics. */
export class RequestObserver {
  readonly #access: AccessLog;
  readonly #metrics: RequestMetrics | undefined;
  readonly #sendsTimes: boolean;
  readonly #tracer: RequestTracer | undefined;
  readonly #recent: RecentRequests | undefined;

  constructor(access: AccessLog, { metrics, logging, tracer, recent }: ObserverParts = {}) {
    this.#tracer = tracer;
    this.#recent = recent;
    this.#access = access;
    this.#metrics = metrics;
    this.#sendsTimes = logging?.serverTiming ?? false;
  }

  /**
   * Begins to observe a request, from an address; absent = its client is known. Returns
   * true if it has to be reported.
   */
  begin(record: RequestRecord, address?: string): boolean {
    const isLogged = this.#access.isOn;
    const trace = this.#tracer?.begin(record.metadata);
    const isWatched = this.#recent?.isWatched === true;
    const isWanted = isLogged || isWatched || this.#sendsTimes || trace !== undefined;
    if (this.#metrics === undefined && !isWanted) return false;
    record.startTiming();
    if (isLogged && address !== undefined) this.#access.begin(record, { address, headers: record.metadata });
    record.trace = trace;
    if (isWanted) record.timeline = new Timeline({ span: trace?.span });
    record.sendsTimes = this.#sendsTimes;
    return true;
  }

  /** Reports a completed request. Each message of a stream is a request. */
  over(record: RequestRecord, outcome: RequestOutcome): void {
    if (this.#access.isOn) this.#access.write(record, outcome);
    if (record.messages !== undefined) return;
    this.#metrics?.add(record, outcome.code ?? outcome.endStatus ?? outcome.status);
    if (record.timeline !== undefined && this.#recent?.isWatched) this.#recent.add(record, outcome);
    if (record.trace !== undefined && record.isTraced) this.#tracer?.over(record, record.trace, outcome);
  }
}
