import { deserialize } from "node:v8";
import { ServingError } from "../../errors.ts";
import type { RpcClient } from "../../platform/threads/rpc-client.ts";
import type { HookRoutes } from "../../serving/hook-routes.ts";
import type {
  InferenceService,
  Lease,
  ModelRef,
  NamedStatistics,
  ServableState,
} from "../../serving/inference-service.ts";
import type { ServableDescription } from "../../serving/servable-description.ts";
import type { RoutedRequest } from "../../serving/traffic.ts";
import { ListenerLease } from "./listener-lease.ts";
import { ACQUIRE, type AcquiredMeta, type AcquireMeta, RELEASE, type ServiceState } from "./listener-messages.ts";

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
