import { serialize } from "node:v8";
import type { LocalGate } from "../../access/client-gate.ts";
import { ServingError } from "../../errors.ts";
import { steadyMs } from "../../observability/steady-clock.ts";
import { fromPlainCall, type PlainCall } from "../../pipeline/call-options.ts";
import { copyPayload, payloadFromTensors, payloadToTensors } from "../../pipeline/payload.ts";
import type { CancelSource } from "../../platform/async/cancel-source.ts";
import { arrivalLimits, BEFORE_OTHERS, type CallLimits } from "../../platform/limits/call-limits.ts";
import type { MemoryShare } from "../../platform/limits/memory/memory-share.ts";
import type { WireRecord } from "../../platform/threads/frame.ts";
import type { HostPort } from "../../platform/threads/host-port.ts";
import { type Reply, Responder } from "../../platform/threads/responder.ts";
import { failedAnswer } from "../../platform/threads/timed-answer.ts";
import type { InferResponse, Lease, ModelRef } from "../../serving/inference-service.ts";
import { KeptVersion } from "../../serving/leases.ts";
import type { LocalService } from "../../serving/local-service.ts";
import type { RecordedMessage, Recording } from "../../serving/request-log.ts";
import { usedNames } from "../../serving/request-names.ts";
import { requireSignature } from "../../serving/require-signature.ts";
import type { ServableDescription } from "../../serving/servable-description.ts";
import { createTensor, createTensors, type Tensors } from "../../tensor/tensor.ts";
import {
  ACQUIRE,
  type AcquiredMeta,
  type AcquireMeta,
  ENTER,
  LEAVE,
  type RanMeta,
  RECORD,
  RECORDED,
  RELEASE,
  type RecordMeta,
  RUN,
  type RunMeta,
} from "./listener-messages.ts";

/** Parts of the main thread that answer a listener. */
export interface AnsweringParts {
  readonly service: LocalService;
  /** Limits of each client; undefined = there are none. */
  readonly clients: LocalGate | undefined;
  /** Number of changes of what references mean, until now. */
  readonly changes: () => number;
}

/** A version that a listener keeps for many requests, or the lease of one. */
interface Held {
  readonly version: KeptVersion | Lease;
  recording?: Recording | undefined;
}

const DONE: Reply = { meta: undefined, tensors: undefined };

/** Answers one listener's requests; when its thread ends, everything that it held is released. */
export class ListenerDesk {
  readonly #parts: AnsweringParts;
  readonly #responder: Responder;
  readonly #held = new Map<number, Held>();
  readonly #clients = new Map<number, () => void>();
  #lastId = 0;

  constructor(port: HostPort, parts: AnsweringParts) {
    this.#parts = parts;
    this.#responder = new Responder(port, {
      answer: (request, signal) => this.#answer(request, signal),
      transfer: true,
    });
    this.#responder.onClose(() => this.#releaseAll());
  }

  /** Ends the connection, and its open requests. */
  close(): void {
    this.#responder.close();
    this.#releaseAll();
  }

  async #answer({ kind, meta, tensors = {} }: WireRecord, signal: CancelSource): Promise<Reply> {
    if (kind === RUN) return this.#run(meta as RunMeta, tensors, signal);
    if (kind === ACQUIRE) return this.#acquire(meta as AcquireMeta);
    if (kind === RELEASE) this.#release(meta as number);
    else if (kind === RECORD) this.#record(meta as RecordMeta, tensors);
    else if (kind === RECORDED) this.#recorded(meta as RecordMeta, tensors);
    else if (kind === ENTER) return { meta: this.#enter(meta as string), tensors: undefined };
    else if (kind === LEAVE) this.#leave(meta as number);
    else throw new ServingError("internal", `A listener asks for ${kind}.`);
    return DONE;
  }

  async #acquire({ model, version: number, label, request }: AcquireMeta): Promise<Reply> {
    const { service, changes } = this.#parts;
    const ref: ModelRef = { model, version: number === undefined ? undefined : BigInt(number), label };
    const kept = service.keep(ref);
    const version = kept ?? service.acquire(ref, request);
    const lease = ++this.#lastId;
    this.#held.set(lease, { version });
    const mayRecord = "recordAs" in version && version.recordAs !== undefined;
    const acquired: AcquiredMeta = { lease, isKept: kept !== undefined, changes: changes(), mayRecord };
    const bytes = new Uint8Array(serialize(version.description));
    const tensors = createTensors([["description", createTensor("uint8", [bytes.length], bytes)]]);
    return { meta: acquired, tensors };
  }

  async #run(meta: RunMeta, tensors: Tensors, signal: CancelSource): Promise<Reply> {
    const { version } = this.#find(meta.lease);
    const { description } = version;
    const { call: plain, signature: name, kind, outputs, targets, raw } = meta;
    const began = steadyMs();
    const memory = this.#parts.service.memory.open(meta.heldBytes, meta.client);
    const call = fromPlainCall({ ...plain, limits: ownLimits(plain, memory) }, signal, memory);
    const { timeline } = call;
    const isKept = version instanceof KeptVersion;
    const lease = isKept ? version.lease() : version;
    try {
      const inputs = payloadFromTensors(kind, tensors);
      const used = usedNames({ inputs, outputs });
      // The graph's own names are not those of a signature.
      const signature = targets === undefined ? requireSignature(name, description, used) : { name, spec: undefined };
      const answer = await lease.infer({ signature, inputs, outputs, targets, raw, call });
      // Hooks of this thread may go on with theirs.
      const made = memory.isWireOnly ? answer.outputs : copyPayload(answer.outputs);
      const timed = timeline && { began, intervals: timeline.intervals };
      return { meta: toRanMeta(answer, description, timed), tensors: payloadToTensors(made) };
    } catch (reason) {
      if (timeline === undefined) throw reason;
      return { meta: { timed: failedAnswer(reason, began, timeline) } satisfies RanMeta, tensors: undefined };
    } finally {
      memory.release();
      if (isKept) lease.release();
    }
  }

  #find(id: number): Held {
    const held = this.#held.get(id);
    if (held !== undefined) return held;
    throw new ServingError("internal", `A listener has no lease ${id}.`);
  }

  #release(id: number): void {
    this.#held.get(id)?.version.release();
    this.#held.delete(id);
  }

  #record({ lease, kind }: RecordMeta, tensors: Tensors): void {
    const held = this.#find(lease);
    const { version } = held;
    if (kind !== undefined && "recordAs" in version) held.recording = version.recordAs?.(kind, toMessage(tensors));
  }

  #recorded({ lease }: RecordMeta, tensors: Tensors): void {
    this.#held.get(lease)?.recording?.finish(toMessage(tensors));
  }

  #enter(client: string): number {
    const leave = this.#parts.clients?.enterAs(client) ?? (() => {});
    const id = ++this.#lastId;
    this.#clients.set(id, leave);
    return id;
  }

  #leave(id: number): void {
    this.#clients.get(id)?.();
    this.#clients.delete(id);
  }

  #releaseAll(): void {
    for (const { version } of this.#held.values()) version.release();
    for (const leave of this.#clients.values()) leave();
    this.#held.clear();
    this.#clients.clear();
  }
}

/** A listener numbers clients by itself. */
function ownLimits({ limits }: PlainCall, { client: { number } }: MemoryShare): CallLimits | undefined {
  if (limits === undefined) return arrivalLimits(undefined, number);
  return limits.client === BEFORE_OTHERS ? limits : { ...limits, client: number };
}

/** Undefined if there is nothing but tensors: plain data costs as much as the rest of a small record. */
function toRanMeta(answer: InferResponse, own: ServableDescription, timed: RanMeta["timed"]): RanMeta | undefined {
  const { model, version, metadata, contentType, status } = answer;
  let hasMetadata = false;
  for (const _ in metadata) hasMetadata = true;
  const isOwn = version === own.version && model === own.model;
  const hasMore = hasMetadata || timed !== undefined || contentType !== undefined || status !== undefined;
  if (isOwn && !hasMore) return undefined;
  return {
    ...(!isOwn && { model, version: String(version) }),
    ...(hasMetadata && { metadata }),
    contentType,
    status,
    ...(timed !== undefined && { timed }),
  };
}

function toMessage({ message }: Tensors): RecordedMessage {
  const bytes = message?.data as Uint8Array;
  return { bytes: bytes.length, encode: () => bytes };
}
