import { deserialize } from "node:v8";
import { ServingError } from "../../errors.ts";
import { toPlainCall } from "../../pipeline/call-options.ts";
import { convertedBytes, payloadBytes, payloadFromTensors, payloadToTensors } from "../../pipeline/payload.ts";
import type { RpcClient, RpcResponse } from "../../platform/threads/rpc-client.ts";
import { openTimedAnswer } from "../../platform/threads/timed-answer.ts";
import type { HookRoutes } from "../../serving/hook-routes.ts";
import type {
  InferenceService,
  InferRequest,
  InferResponse,
  Lease,
  ModelRef,
  NamedStatistics,
  ServableState,
} from "../../serving/inference-service.ts";
import type { RecordedKind, RecordedMessage, Recording } from "../../serving/request-log.ts";
import type { ServableDescription } from "../../serving/servable-description.ts";
import type { RoutedRequest } from "../../serving/traffic.ts";
import { createTensor, createTensors } from "../../tensor/tensor.ts";
import {
  ACQUIRE,
  type AcquiredMeta,
  type AcquireMeta,
  type RanMeta,
  RECORD,
  RECORDED,
  RELEASE,
  RUN,
  type RunMeta,
  type ServiceState,
} from "./listener-messages.ts";

/** A version for all requests with a reference, until the next change. */
interface KeptLease {
  readonly id: number;
  readonly description: ServableDescription;
  /** Requests that were checked by its description, and are not over. */
  open: number;
  isOver: boolean;
}

/**
 * The main thread's service, for the protocols of a listener: what runs models is sent there, all else is known here.
 * What changes or describes the server never comes here: such calls are passed on as they are.
 */
export class ListenerService implements InferenceService {
  readonly #client: RpcClient;
  readonly #kept = new Map<string, KeptLease>();
  readonly #routeListeners: ((routes: HookRoutes) => void)[] = [];
  #state: ServiceState;
  #changes: number;

  constructor(client: RpcClient, state: ServiceState) {
    this.#client = client;
    this.#state = state;
    this.#changes = state.changes;
  }

  acquire(ref: ModelRef, request?: RoutedRequest): Lease | Promise<Lease> {
    const key = keyOf(ref);
    const kept = key === undefined ? undefined : this.#kept.get(key);
    return kept === undefined ? this.#ask(ref, request, key) : this.#leaseOf(kept);
  }

  nameOf(model: string): string {
    const { alias } = this.#state;
    return alias?.name === model ? alias.model : model;
  }

  index(): readonly ServableState[] {
    return this.#state.index;
  }

  hookRoutes(): HookRoutes {
    return this.#state.hookRoutes;
  }

  mayAnswerInParts(): boolean {
    return this.#state.mayAnswerInParts;
  }

  onHookRoutes(listener: (routes: HookRoutes) => void): void {
    this.#routeListeners.push(listener);
    listener(this.hookRoutes());
  }

  isReady(): boolean {
    return this.#state.isReady;
  }

  onReadiness(listener: (ready: boolean) => void): () => void {
    listener(this.isReady());
    return () => {};
  }

  /** Forgets which versions references mean; those that no request needs any more are let go. */
  changed(changes: number): void {
    this.#changes = changes;
    for (const kept of this.#kept.values()) this.#end(kept);
    this.#kept.clear();
  }

  /** Takes over what has changed. */
  update(state: ServiceState): void {
    this.#state = state;
    for (const listener of this.#routeListeners) listener(state.hookRoutes);
  }

  async statistics(): Promise<readonly NamedStatistics[]> {
    throw notHere();
  }

  async load(): Promise<void> {
    throw notHere();
  }

  async unload(): Promise<void> {
    throw notHere();
  }

  async reconfigure(): Promise<void> {
    throw notHere();
  }

  async rescan(): Promise<void> {
    throw notHere();
  }

  async #ask(
    { model, version, label }: ModelRef,
    request: RoutedRequest | undefined,
    key: string | undefined,
  ): Promise<Lease> {
    const routed = request && toRouted(request);
    const meta: AcquireMeta = { model, version: version?.toString(), label, request: routed };
    const answer = await this.#client.ask({ kind: ACQUIRE, meta, tensors: undefined });
    const { lease: id, isKept, changes, mayRecord } = answer.meta as AcquiredMeta;
    const description = deserialize(answer.tensors.description?.data as Uint8Array) as ServableDescription;
    if (!isKept) {
      const release = () => this.#release(id);
      return new ListenerLease(this.#client, { id, description, mayRecord, release });
    }
    const kept: KeptLease = { id, description, open: 0, isOver: false };
    const lease = this.#leaseOf(kept);
    // A change that was told while the answer came may be one of this version.
    if (changes < this.#changes || key === undefined) this.#end(kept);
    else this.#keep(key, kept);
    return lease;
  }

  /** Requests that came at the same time have each asked. */
  #keep(key: string, kept: KeptLease): void {
    const former = this.#kept.get(key);
    this.#kept.set(key, kept);
    if (former !== undefined) this.#end(former);
  }

  #leaseOf(kept: KeptLease): Lease {
    kept.open++;
    const release = () => {
      kept.open--;
      this.#endIfIdle(kept);
    };
    return new ListenerLease(this.#client, { ...kept, mayRecord: false, release });
  }

  #end(kept: KeptLease): void {
    kept.isOver = true;
    this.#endIfIdle(kept);
  }

  #endIfIdle({ id, open, isOver }: KeptLease): void {
    if (isOver && open === 0) this.#release(id);
  }

  #release(id: number): void {
    this.#client.ask({ kind: RELEASE, meta: id, tensors: undefined }).catch(() => {});
  }
}

/**
 * A version that only some requests with the reference get is not kept; nor is that of a name with what separates the
 * name from the version here, by which a client would get what others may name.
 */
function keyOf({ model, version, label }: ModelRef): string | undefined {
  if (label !== undefined || model.includes(SEPARATOR)) return undefined;
  return version === undefined ? model : model + SEPARATOR + version;
}

const SEPARATOR = "\0";

/** The parts of a call that decide where it goes. */
function toRouted({ metadata, inputKey, ignoresTraffic = false }: RoutedRequest): RoutedRequest {
  return { metadata, inputKey, ignoresTraffic };
}

function notHere(): ServingError {
  return new ServingError("internal", "A thread that listens was asked for what only the main thread knows.");
}

/** Parts of a lease that the main thread has. */
interface ListenerLeaseParts {
  /** Its number there. */
  readonly id: number;
  readonly description: ServableDescription;
  readonly mayRecord: boolean;
  readonly release: () => void;
}

const NO_METADATA = {};

/** A lease of a version that the main thread has. */
class ListenerLease implements Lease {
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
