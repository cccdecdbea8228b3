import type { MessagePort } from "node:worker_threads";
import type { RawOptions } from "../drivers/option-table.ts";
import type { Logger } from "../observability/logger.ts";
import { type MalformedListener, MalformedMessage } from "../threads/malformed-message.ts";
import type { LeaseRequest, ModelLines } from "./hook-protocol.ts";

export type { MalformedListener };

/** Leases models to the hooks of a thread; each call is for one thread, which returns its leases when it ends. */
export interface ModelProvider {
  /** Connections to the stages' models. */
  stages(onMalformed: MalformedListener): readonly ModelLines[];
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
  readonly lines: ModelLines;
  close(): Promise<void>;
}

/** The models that the hooks of one thread loaded; each is returned once, however the thread ends. */
export class HookLeases {
  readonly #provider: ModelProvider;
  readonly #log: Logger;
  readonly #onMalformed: MalformedListener;
  readonly #leased = new Map<number, LeasedModel>();
  /** Ids of all requested models. */
  readonly #ids = new Set<number>();
  readonly #pending = new Set<Promise<void>>();
  #isOver = false;

  /** `onMalformed` is called when the thread sends a model a malformed message. */
  constructor(provider: ModelProvider, log: Logger, onMalformed: MalformedListener) {
    this.#provider = provider;
    this.#log = log;
    this.#onMalformed = onMalformed;
  }

  /** Loads a model and resolves with connections to it; throws the load's error. After {@link end}, it is returned at once. */
  lease(request: LeaseRequest): Promise<ModelLines> {
    if (this.#ids.has(request.id)) throw new MalformedMessage(`it asks for model ${request.id} a second time`);
    this.#ids.add(request.id);
    const lending = this.#load(request);
    const ignore = () => {};
    this.#track(lending.then(ignore, ignore));
    return lending;
  }

  /** Returns one model, without waiting for it; a failure is logged. */
  giveBack(id: number): void {
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
    for (const id of [...this.#leased.keys()]) this.giveBack(id);
  }

  /** Resolves once no model is being loaded or returned. */
  async settled(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending);
  }

  async #load({ id, driver, path, options }: LeaseRequest): Promise<ModelLines> {
    const leased = await this.#provider.load({ driver, path, options }, this.#onMalformed);
    this.#leased.set(id, leased);
    if (this.#isOver) this.giveBack(id);
    return leased.lines;
  }

  #track(task: Promise<void>): void {
    const tracked = task.finally(() => this.#pending.delete(tracked));
    this.#pending.add(tracked);
  }
}
