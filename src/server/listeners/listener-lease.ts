import { toPlainCall } from "../../pipeline/call-options.ts";
import { convertedBytes, payloadBytes, payloadFromTensors, payloadToTensors } from "../../pipeline/payload.ts";
import type { RpcClient, RpcResponse } from "../../platform/threads/rpc-client.ts";
import { openTimedAnswer } from "../../platform/threads/timed-answer.ts";
import type { InferRequest, InferResponse, Lease } from "../../serving/inference-service.ts";
import type { RecordedKind, RecordedMessage, Recording } from "../../serving/request-log.ts";
import type { ServableDescription } from "../../serving/servable-description.ts";
import { createTensor, createTensors } from "../../tensor/tensor.ts";
import { type RanMeta, RECORD, RECORDED, RUN, type RunMeta } from "./listener-messages.ts";

/** Parts of a lease that the main thread has. */
export interface ListenerLeaseParts {
  /** Its number there. */
  readonly id: number;
  readonly description: ServableDescription;
  readonly mayRecord: boolean;
  readonly release: () => void;
}

const NO_METADATA = {};

/** A lease of a version that the main thread has. */
export class ListenerLease implements Lease {
  readonly description: ServableDescription;
  readonly recordAs?: NonNullable<Lease["recordAs"]>;
  readonly #client: RpcClient;
  readonly #parts: ListenerLeaseParts;
  #isReleased = false;

  constructor(client: RpcClient, parts: ListenerLeaseParts) {
    this.#client = client;
    this.#parts = parts;
    this.description = parts.description;
    if (parts.mayRecord) this.recordAs = (kind, request) => this.#record(kind, request);
  }

  /** One function, since each further await would cost a small request as much as its checks. */
  async infer({ signature, inputs, outputs, targets, raw, call }: InferRequest): Promise<InferResponse> {
    const { model, version } = this.description;
    const { record, memory, signal, timeline } = call;
    const { name } = signature;
    record?.servedBy(model, version);
    record?.beginInference();
    try {
      memory?.growTo(payloadBytes(inputs) + convertedBytes(inputs, signature.spec?.inputs));
      const meta: RunMeta = {
        lease: this.#parts.id,
        call: toPlainCall(call),
        signature: name,
        kind: inputs.kind,
        outputs,
        targets,
        raw,
        heldBytes: memory?.bytes ?? 0,
        client: memory?.client.key ?? "",
      };
      const answer = await this.#client.ask({ kind: RUN, meta, tensors: payloadToTensors(inputs) }, signal, true);
      const ran = answer.meta as RanMeta | undefined;
      if (timeline !== undefined) openTimedAnswer(ran?.timed, timeline);
      const made = toResponse(answer, ran, { model, version, signature: name, kind: inputs.kind });
      if (ran?.version !== undefined) record?.servedBy(made.model, made.version);
      if (memory !== undefined) {
        memory.growTo(payloadBytes(made.outputs));
        // The main thread keeps none of them.
        memory.isWireOnly = true;
      }
      return made;
    } finally {
      record?.endInference();
    }
  }

  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#parts.release();
  }

  /** Sent in the order of the calls, so that it begins before the request runs. */
  #record(kind: RecordedKind, request: RecordedMessage): Recording {
    this.#tell(RECORD, request.encode(), kind);
    return { finish: (response) => this.#tell(RECORDED, response.encode()) };
  }

  #tell(message: number, bytes: Uint8Array, kind?: RecordedKind): void {
    const meta = { lease: this.#parts.id, ...(kind !== undefined && { kind }) };
    const tensors = createTensors([["message", createTensor("uint8", [bytes.length], bytes)]]);
    this.#client.ask({ kind: message, meta, tensors }, undefined, true).catch(() => {});
  }
}

function toResponse(
  { tensors }: RpcResponse,
  ran: RanMeta | undefined,
  { kind, ...own }: Pick<InferResponse, "model" | "version" | "signature"> & { kind: InferRequest["inputs"]["kind"] },
): InferResponse {
  const outputs = payloadFromTensors(kind, tensors);
  if (ran === undefined) return { ...own, outputs, metadata: NO_METADATA };
  const { model = own.model, version, metadata = NO_METADATA, contentType, status } = ran;
  const served = version === undefined ? own.version : BigInt(version);
  return { model, version: served, signature: own.signature, outputs, metadata, contentType, status };
}
