import { copyPayload, payloadBytes } from "../../pipeline/payload.ts";
import { settlesWithin } from "../../platform/async/promises.ts";
import type { MemoryShare } from "../../platform/limits/memory/memory-share.ts";
import type { LogMetadata } from "../../protocols/tensorflow-serving/log-metadata.ts";
import type { InferRequest, InferResponse, Lease, PartSink } from "../../serving/inference-service.ts";
import type { RecordedCount } from "../../serving/recorded-count.ts";
import type { RecordedKind, RecordedMessage, Recording, RequestLogOptions } from "../../serving/request-log.ts";
import type { RecordedCall, RequestRecorder } from "../../serving/request-recorder.ts";
import type { ServableDescription } from "../../serving/servable-description.ts";
import type { Logger } from "../logger.ts";
import { type FileLimits, LogFiles, writeProblem } from "./log-files.ts";
import { LogWriter } from "./log-writer.ts";
import { type LoggedPart, type LoggedRequest, loggedPredict, toLogged } from "./logged-request.ts";

/** Milliseconds that the last records have to be written when the server ends. */
const FLUSH_MS = 5000;
/** Memory of a record in addition to its values, in bytes, about. */
const RECORD_BYTES = 512;
const INT64 = { versionEncoding: "int64" } as const;

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

/** Place and rate of a lease's record. */
interface RecordedLeaseOptions extends Pick<RecordedCall, "ref" | "memory"> {
  readonly rate: number;
  readonly writer: LogWriter;
}

/** A lease whose request is recorded with its answer, once there is one. */
class RecordedLease implements Lease {
  readonly description: ServableDescription;
  readonly #lease: Lease;
  readonly #options: RecordedLeaseOptions;
  #hasOwnForm = false;
  /** Memory of a recorded request that has no response yet. */
  #unanswered: MemoryShare | undefined;

  constructor(lease: Lease, options: RecordedLeaseOptions) {
    this.description = lease.description;
    this.#lease = lease;
    this.#options = options;
  }

  async infer(request: InferRequest): Promise<InferResponse> {
    const { call, raw } = request;
    const isLeftOut = this.#hasOwnForm || call.limits?.warmUp !== undefined || raw !== undefined;
    const lasts = request.parts !== undefined && this.description.decoupled === true;
    const share = isLeftOut ? undefined : this.#reserve(RECORD_BYTES + payloadBytes(request.inputs), lasts);
    if (share === undefined) return this.#lease.infer(request);
    const timeMs = now();
    // Before it runs, which takes its inputs away.
    const inputs = copyPayload(request.inputs);
    const parts = request.parts && new RecordedParts(request.parts, share, { ...this.#options, request, timeMs });
    const answer = await this.#lease.infer(parts === undefined ? request : { ...request, parts }).catch((reason) => {
      release(this.#options.writer, parts === undefined ? share : parts.share);
      throw reason;
    });
    const answered = { request: { ...request, inputs }, answer, timeMs };
    if (parts === undefined || answer.parts === undefined) this.#record(answered, share);
    else if (parts.share !== undefined) this.#recordParts(answered, parts.share, parts.parts);
    return answer;
  }

  recordAs(kind: RecordedKind, message: RecordedMessage): Recording | undefined {
    this.#hasOwnForm = true;
    const timeMs = now();
    const share = this.#reserve(RECORD_BYTES + message.bytes);
    if (share === undefined) return undefined;
    this.#unanswered = share;
    const request = message.encode();
    return {
      finish: (response) => {
        this.#unanswered = undefined;
        const finish = () => ({
          metadata: this.#metadata({ ...this.description, signature: "" }, timeMs),
          content: { kind, request, response: response.encode() },
        });
        this.#add(finish, share, response.bytes);
      },
    };
  }

  release(): void {
    this.#lease.release();
    release(this.#options.writer, this.#unanswered);
    this.#unanswered = undefined;
  }

  #record({ request, answer, timeMs }: Answered, share: MemoryShare): void {
    const finish = () => ({
      metadata: this.#metadata(answer, timeMs),
      content: {
        ...loggedPredict(this.#options.ref, this.description.model, request),
        outputs: toLogged(copyPayload(answer.outputs), request.signature.spec?.outputs),
      },
    });
    this.#add(finish, share, payloadBytes(answer.outputs));
  }

  #recordParts({ request, answer, timeMs }: Answered, share: MemoryShare, parts: readonly LoggedPart[]): void {
    const { ref, writer } = this.#options;
    const content = { ...loggedPredict(ref, this.description.model, request), parts };
    writer.add({ metadata: this.#metadata(answer, timeMs), content }, [share]);
  }

  /** With the memory of the answer, if there is room for it. */
  #add(finish: () => LoggedRequest, share: MemoryShare, answerBytes: number): void {
    const { writer } = this.#options;
    const answerShare = this.#reserve(answerBytes);
    if (answerShare === undefined) writer.release(share);
    else writer.add(finish(), [share, answerShare]);
  }

  #reserve(bytes: number, lasts = false): MemoryShare | undefined {
    return this.#options.writer.reserve(this.#options.memory, bytes, { lasts });
  }

  #metadata(
    { model, version, signature }: Pick<InferResponse, "model" | "version" | "signature">,
    timeMs: number,
  ): LogMetadata {
    return { spec: { model, version, signature, ...INT64 }, rate: this.#options.rate, timeMs };
  }
}

/** The request of an answer in parts, which arrived at a time in milliseconds since 1970. */
interface RecordedPartsOptions extends RecordedLeaseOptions {
  readonly request: InferRequest;
  readonly timeMs: number;
}

/** Copies the parts of an answer on their way. */
class RecordedParts implements PartSink {
  readonly parts: LoggedPart[] = [];
  /** Memory of the record; undefined = there was no room for a part, and the request is not recorded. */
  share: MemoryShare | undefined;
  readonly #sink: PartSink;
  readonly #options: RecordedPartsOptions;

  /** `share`: that of the request. */
  constructor(sink: PartSink, share: MemoryShare, options: RecordedPartsOptions) {
    this.share = share;
    this.#sink = sink;
    this.#options = options;
  }

  write(part: InferResponse): Promise<void> {
    if (this.share !== undefined) this.#keep(this.share, part);
    return this.#sink.write(part);
  }

  #keep(share: MemoryShare, { outputs }: InferResponse): void {
    const { writer, memory, request, timeMs } = this.#options;
    this.share = writer.reserve(memory, RECORD_BYTES + payloadBytes(outputs), { share, lasts: true });
    if (this.share === undefined) this.parts.length = 0;
    else
      this.parts.push({
        outputs: toLogged(copyPayload(outputs), request.signature.spec?.outputs),
        afterMs: now() - timeMs,
      });
  }
}

function release(writer: LogWriter, share: MemoryShare | undefined): void {
  if (share !== undefined) writer.release(share);
}

interface Answered {
  readonly request: InferRequest;
  readonly answer: InferResponse;
  readonly timeMs: number;
}

/** Milliseconds since 1970, with decimals. */
function now(): number {
  return performance.timeOrigin + performance.now();
}
