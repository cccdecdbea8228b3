import { copyPayload, payloadBytes } from "../../pipeline/payload.ts";
import type { MemoryShare } from "../../platform/limits/memory/memory-share.ts";
import type { LogMetadata } from "../../protocols/tensorflow-serving/log-metadata.ts";
import type { InferRequest, InferResponse, Lease } from "../../serving/inference-service.ts";
import type { RecordedKind, RecordedMessage, Recording } from "../../serving/request-log.ts";
import type { RecordedCall } from "../../serving/request-recorder.ts";
import type { ServableDescription } from "../../serving/servable-description.ts";
import type { LogWriter } from "./log-writer.ts";
import { type LoggedRequest, loggedPredict, toLogged } from "./logged-request.ts";

/** Place and rate of a lease's record. */
export interface RecordedLeaseOptions extends Pick<RecordedCall, "ref" | "memory"> {
  readonly rate: number;
  readonly writer: LogWriter;
}

/** Memory of a record in addition to its values, in bytes, about. */
const RECORD_BYTES = 512;
const INT64 = { versionEncoding: "int64" } as const;

/** A lease whose request is recorded with its answer, once there is one. */
export class RecordedLease implements Lease {
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
    const isLeftOut = this.#hasOwnForm || request.call.limits?.warmUp !== undefined || request.raw !== undefined;
    const share = isLeftOut ? undefined : this.#reserve(RECORD_BYTES + payloadBytes(request.inputs));
    if (share === undefined) return this.#lease.infer(request);
    const timeMs = now();
    // Before it runs, which takes its inputs away.
    const inputs = copyPayload(request.inputs);
    const answer = await this.#lease.infer(request).catch((reason) => {
      this.#options.writer.release(share);
      throw reason;
    });
    this.#record({ request: { ...request, inputs }, answer, timeMs }, share);
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
    if (this.#unanswered !== undefined) this.#options.writer.release(this.#unanswered);
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

  /** With the memory of the answer, if there is room for it. */
  #add(finish: () => LoggedRequest, share: MemoryShare, answerBytes: number): void {
    const { writer } = this.#options;
    const answerShare = this.#reserve(answerBytes);
    if (answerShare === undefined) writer.release(share);
    else writer.add(finish(), [share, answerShare]);
  }

  #reserve(bytes: number): MemoryShare | undefined {
    return this.#options.writer.reserve(this.#options.memory, bytes);
  }

  #metadata(
    { model, version, signature }: Pick<InferResponse, "model" | "version" | "signature">,
    timeMs: number,
  ): LogMetadata {
    return { spec: { model, version, signature, ...INT64 }, rate: this.#options.rate, timeMs };
  }
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
