import { settlesWithin } from "../../platform/async/promises.ts";
import type { Lease } from "../../serving/inference-service.ts";
import type { RecordedCount } from "../../serving/recorded-count.ts";
import type { RequestLogOptions } from "../../serving/request-log.ts";
import type { RecordedCall, RequestRecorder } from "../../serving/request-recorder.ts";
import type { Logger } from "../logger.ts";
import { type FileLimits, LogFiles, writeProblem } from "./log-files.ts";
import { LogWriter } from "./log-writer.ts";
import { RecordedLease } from "./recorded-lease.ts";

/** Milliseconds that the last records have to be written when the server ends. */
const FLUSH_MS = 5000;
const NOTHING: RequestLogOptions = {};

/** Settings of all models, which one of them may override. */
export interface RequestLogDefaults extends FileLimits {
  readonly prefix?: string | undefined;
  readonly rate: number;
}

/** Records requests in TFRecord files of tensorflow.serving.PredictionLog, a series of files for each model. */
export class RequestLogs implements RequestRecorder {
  readonly #defaults: RequestLogDefaults;
  readonly #log: Logger;
  readonly #writers = new Map<string, LogWriter>();

  constructor(defaults: RequestLogDefaults, log: Logger) {
    this.#defaults = defaults;
    this.#log = log;
  }

  recorded(lease: Lease, { ref, options = NOTHING, memory }: RecordedCall): Lease {
    const { prefix = this.#defaults.prefix, rate = this.#defaults.rate } = options;
    if (prefix === undefined || Math.random() >= rate) return lease;
    const writer = this.#writerOf(prefix, lease.description.model, options);
    return new RecordedLease(lease, { ref, memory, rate, writer });
  }

  mayRecord({ prefix = this.#defaults.prefix }: RequestLogOptions = NOTHING): boolean {
    return prefix !== undefined;
  }

  counts(): readonly RecordedCount[] {
    const counts = Array.from(this.#writers.values(), ({ model, counts }) =>
      Array.from(counts, ([outcome, count]) => ({ model, outcome, count })),
    );
    return counts.flat();
  }

  /** A writer stays until its last records are written, for which the server waits when it ends. */
  forget(served: ReadonlySet<string>): void {
    for (const [key, writer] of this.#writers)
      if (!served.has(writer.model)) void writer.close().then(() => this.#writers.delete(key));
  }

  /** Warns if the folder of all models cannot be written, before there are requests. */
  async check(): Promise<void> {
    const { prefix } = this.#defaults;
    if (prefix === undefined) return;
    const files = new LogFiles(prefix, "MODEL");
    await files.prepare().catch((reason) => {
      this.#log.warn(`requests will not be recorded: ${writeProblem(files.path, reason)}`);
    });
  }

  /** Writes all that waits, and resolves once that is done or takes too long. */
  async close(): Promise<void> {
    const closing = Promise.all(Array.from(this.#writers.values(), (writer) => writer.close()));
    if (await settlesWithin(closing, FLUSH_MS)) return;
    this.#log.warn(`the last requests were not recorded: their files could not be written within ${FLUSH_MS} ms`);
  }

  #writerOf(prefix: string, model: string, options: RequestLogOptions): LogWriter {
    const { maxBytes = this.#defaults.maxBytes, files = this.#defaults.files } = options;
    const key = `${prefix}\0${model}`;
    const known = this.#writers.get(key);
    const limits = { maxBytes, files };
    if (known === undefined) {
      const writer = new LogWriter(prefix, model, { limits, log: this.#log });
      this.#writers.set(key, writer);
      return writer;
    }
    known.limits = limits;
    return known;
  }
}
