import { ServingError } from "../../errors.ts";
import { hasLostProcess } from "../../lost-process.ts";
import { copyPayload, payloadBytes } from "../../pipeline/payload.ts";
import { codecs } from "../../platform/codec-host/codec-pool.ts";
import { LARGE_MESSAGE_BYTES } from "../../platform/codec-host/large-message.ts";
import { sizeText } from "../../platform/text/size-text.ts";
import type { InferRequest, InferResponse, Lease } from "../../serving/inference-service.ts";
import type { RecordedCount } from "../../serving/recorded-count.ts";
import type { FatalRequestOptions, RecordedKind, RecordedMessage, Recording } from "../../serving/request-log.ts";
import type { RecordedCall, RequestRecorder } from "../../serving/request-recorder.ts";
import type { ServableDescription } from "../../serving/servable-description.ts";
import type { Logger } from "../logger.ts";
import { FatalFiles, removeFile, type UnderWayFile } from "./fatal-files.ts";
import { type LoggedRequest, loggedPredict, toRecordJob } from "./logged-request.ts";
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

  /** Looks for what earlier processes have left, and warns if a folder cannot be written. */
  async check(): Promise<void> {
    this.#files.open(this.#options.models ?? []);
    await this.#logs.check();
  }

  /** As {@link RequestLogs.close}. */
  close(): Promise<void> {
    return this.#logs.close();
  }
}

/** Larger requests are not kept: the time that a copy takes would delay the others. */
const MAX_BYTES = 64 * 1024 * 1024;
const TOO_LARGE = `it has more than ${sizeText(MAX_BYTES)}.`;
const NO_ROOM = "the requests under way hold too much memory (--max-queue-bytes).";

/** A request in its protocol's own form. */
interface OwnForm {
  readonly kind: RecordedKind;
  readonly message: RecordedMessage;
}

/** A lease whose request lies in a file while it runs, which stays there if the process ends that runs the model. */
class KeptLease implements Lease {
  readonly description: ServableDescription;
  readonly #lease: Lease;
  readonly #call: Pick<RecordedCall, "ref" | "memory">;
  readonly #files: FatalFiles;
  #own: OwnForm | undefined;

  constructor(lease: Lease, call: Pick<RecordedCall, "ref" | "memory">, files: FatalFiles) {
    this.description = lease.description;
    this.#lease = lease;
    this.#call = call;
    this.#files = files;
  }

  async infer(request: InferRequest): Promise<InferResponse> {
    const file = await this.#begin(request);
    if (file === undefined) return this.#lease.infer(request);
    try {
      const answer = await this.#lease.infer(request);
      removeFile(file);
      return answer;
    } catch (reason) {
      if (hasLostProcess(ServingError.from(reason).details)) this.#files.keep(file);
      else removeFile(file);
      throw reason;
    }
  }

  recordAs(kind: RecordedKind, message: RecordedMessage): Recording | undefined {
    this.#own = { kind, message };
    return this.#lease.recordAs?.(kind, message);
  }

  release(): void {
    this.#lease.release();
  }

  /** Before it runs, which takes its inputs away. Undefined for a request that no record can hold. */
  async #begin(request: InferRequest): Promise<UnderWayFile | undefined> {
    if (request.call.limits?.warmUp !== undefined || request.raw !== undefined) return undefined;
    const bytes = this.#own?.message.bytes ?? payloadBytes(request.inputs);
    if (bytes > MAX_BYTES) {
      this.#files.lose(TOO_LARGE);
      return undefined;
    }
    const share = this.#call.memory.open();
    try {
      share.grow(2 * bytes);
      const record = await this.#toRecord(request, bytes);
      return record && (await this.#files.begin(this.description.model, record));
    } catch {
      this.#files.lose(NO_ROOM);
      return undefined;
    } finally {
      share.release();
    }
  }

  /** Undefined for JSON that does not become tensors, which the model refuses. */
  async #toRecord(request: InferRequest, bytes: number): Promise<Uint8Array | undefined> {
    const isLarge = bytes > LARGE_MESSAGE_BYTES;
    const logged = this.#toLogged(isLarge ? { ...request, inputs: copyPayload(request.inputs) } : request);
    try {
      return await (isLarge ? codecs.run(toRecordJob, [logged], { transfer: "owned" }) : toRecordJob.run(logged));
    } catch {
      return undefined;
    }
  }

  #toLogged(request: InferRequest): LoggedRequest {
    const { model, version } = this.description;
    const signature = request.signature.name;
    const metadata = {
      spec: { model, version, signature, versionEncoding: "int64" as const },
      rate: 1,
      timeMs: performance.timeOrigin + performance.now(),
    };
    if (this.#own === undefined) return { metadata, content: loggedPredict(this.#call.ref, model, request) };
    const { kind, message } = this.#own;
    // Another record of it may have the same bytes.
    return { metadata, content: { kind, request: new Uint8Array(message.encode()) } };
  }
}
