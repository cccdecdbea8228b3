import type { MessagePort } from "node:worker_threads";
import type { RawOptions } from "../../drivers/option-table.ts";
import { ServingError } from "../../errors.ts";
import type { Logger } from "../../observability/logger.ts";
import { type MalformedListener, MalformedMessage } from "../../platform/threads/host-port.ts";
import { toWireError } from "../../platform/threads/wire-error.ts";
import type { HookControl, ModelEvent } from "./hook-control.ts";
import type { LeaseRequest, ModelConnection } from "./hook-protocol.ts";

export type { MalformedListener };

/** Leases models to the hooks of a thread; each call is for one thread, which returns its leases when it ends. */
export interface ModelProvider {
  /** Connections to the stages' models. */
  stages(onMalformed: MalformedListener): readonly ModelConnection[];
  /**
   * Calls back when a stage's instance was replaced, with a new connection to it; returns a function that removes the
   * listener.
   */
  onReconnect(
    listener: (stage: number, instance: number, port: MessagePort, resend: boolean) => void,
    onMalformed: MalformedListener,
  ): () => void;
  /** Loads a model for hooks. */
  load(wanted: WantedModel, onMalformed: MalformedListener): Promise<LeasedModel>;
}

/** A model that hooks load. */
export interface WantedModel {
  readonly driver: string;
  readonly path: string;
  readonly options: RawOptions;
}

/** A leased model. */
export interface LeasedModel {
  readonly connection: ModelConnection;
  close(): Promise<void>;
}

/** The log, and the connection to the thread. */
interface HookLeasesParts {
  readonly log: Logger;
  readonly send: HookControl["send"];
  /** Called when the thread sends a model a malformed message. */
  readonly onMalformed: MalformedListener;
}

/** The models that the hooks of one thread loaded; each is returned once, however the thread ends. */
export class HookLeases {
  readonly #provider: ModelProvider;
  readonly #log: Logger;
  readonly #onMalformed: MalformedListener;
  readonly #send: HookControl["send"];
  readonly #leased = new Map<number, LeasedModel>();
  /** Ids of all requested models. */
  readonly #ids = new Set<number>();
  readonly #pending = new Set<Promise<void>>();
  #isOver = false;

  constructor(provider: ModelProvider, { log, send, onMalformed }: HookLeasesParts) {
    this.#provider = provider;
    this.#log = log;
    this.#send = send;
    this.#onMalformed = onMalformed;
  }

  /**
   * Answers the thread's request for a model, or takes one back; throws
   * {@link MalformedMessage} for an id that was used before.
   */
  handle(event: ModelEvent): void {
    if ("closeModel" in event) this.#return(event.closeModel);
    else void this.#answer(event.loadModel, this.#lease(event.loadModel));
  }

  /**
   * Loads a model and resolves with connections to it; throws the load's error. After
   * {@link end}, it is returned at once.
   */
  #lease(request: LeaseRequest): Promise<ModelConnection> {
    if (this.#ids.has(request.id)) throw new MalformedMessage(`it asks for model ${request.id} a second time`);
    this.#ids.add(request.id);
    const loading = this.#load(request);
    const ignore = () => {};
    this.#track(loading.then(ignore, ignore));
    return loading;
  }

  /** Returns one model, without waiting for it; a failure is logged. */
  #return(id: number): void {
    const leased = this.#leased.get(id);
    if (leased === undefined) return;
    this.#leased.delete(id);
    this.#track(
      leased
        .close()
        .catch((reason) => this.#log.error("a model that hooks loaded could not be freed", { err: reason })),
    );
  }

  /** Returns all models without waiting for them, and those that are still loading once they have loaded. */
  end(): void {
    this.#isOver = true;
    for (const id of [...this.#leased.keys()]) this.#return(id);
  }

  /** Resolves once no model is being loaded or returned. */
  async settled(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending);
  }

  async #answer({ id }: LeaseRequest, leased: Promise<ModelConnection>): Promise<void> {
    try {
      const connection = await leased;
      this.#send({ loadedModel: { id, connection } }, connection.ports);
    } catch (reason) {
      this.#return(id);
      if (!(reason instanceof ServingError)) this.#log.error("a model that hooks asked for failed", { err: reason });
      this.#send({ loadedModel: { id, failed: toWireError(reason) } });
    }
  }

  async #load({ id, driver, path, options }: LeaseRequest): Promise<ModelConnection> {
    const leased = await this.#provider.load({ driver, path, options }, this.#onMalformed);
    this.#leased.set(id, leased);
    if (this.#isOver) this.#return(id);
    return leased.connection;
  }

  #track(task: Promise<void>): void {
    const tracked = task.finally(() => this.#pending.delete(tracked));
    this.#pending.add(tracked);
  }
}
