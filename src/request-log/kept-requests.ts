import type { Logger } from "../observability/logger.ts";
import type { Lease } from "../serving/inference-service.ts";
import type { RecordedCount } from "../serving/recorded-count.ts";
import type { FatalRequestOptions } from "../serving/request-log.ts";
import type { RecordedCall, RequestRecorder } from "../serving/request-recorder.ts";
import { FatalFiles } from "./fatal-files.ts";
import { KeptLease } from "./kept-lease.ts";
import type { RequestLogs } from "./request-logs.ts";

/** Keeps the request that ends a process that runs a model, in addition to what request logs record. */
export class KeptRequests implements RequestRecorder {
  readonly #options: FatalRequestOptions;
  readonly #logs: RequestLogs;
  readonly #files: FatalFiles;

  constructor(options: FatalRequestOptions, logs: RequestLogs, log: Logger) {
    this.#options = options;
    this.#logs = logs;
    this.#files = new FatalFiles(options.folder, log);
  }

  recorded(lease: Lease, call: RecordedCall): Lease {
    return new KeptLease(this.#logs.recorded(lease, call), call, this.#files);
  }

  mayRecord(): boolean {
    return true;
  }

  counts(): readonly RecordedCount[] {
    return this.#logs.counts();
  }

  forget(served: ReadonlySet<string>): void {
    this.#logs.forget(served);
  }

  /** Looks for what earlier processes have left, and warns where a folder cannot be written. */
  async check(): Promise<void> {
    this.#files.open(this.#options.models ?? []);
    await this.#logs.check();
  }

  /** As {@link RequestLogs.close}. */
  close(): Promise<void> {
    return this.#logs.close();
  }
}
