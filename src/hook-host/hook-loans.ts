import type { MessagePort } from "node:worker_threads";
import type { RawOptions } from "../drivers/option-table.ts";
import type { Logger } from "../observability/logger.ts";
import type { LoanRequest, ModelLines } from "./hook-protocol.ts";

/** Gives models to the hooks of a thread; each call is for one thread, which gives back what it got when it ends. */
export interface ModelLender {
  /** Lines to the stages' models. */
  stages(): readonly ModelLines[];
  /** Calls back when a stage's instance was replaced, with a new line to it; returns how to stop that. */
  onReconnect(listener: (stage: number, instance: number, port: MessagePort) => void): () => void;
  /** A model that hooks load themselves. */
  load(driver: string, path: string, options: RawOptions): Promise<LentModel>;
}

/** A model on loan. */
export interface LentModel {
  readonly lines: ModelLines;
  close(): Promise<void>;
}

/** The models that the hooks of one thread loaded themselves; whatever happens to the thread, each is given back once. */
export class HookLoans {
  readonly #lender: ModelLender;
  readonly #log: Logger;
  readonly #lent = new Map<number, LentModel>();
  readonly #pending = new Set<Promise<void>>();
  #isOver = false;

  constructor(lender: ModelLender, log: Logger) {
    this.#lender = lender;
    this.#log = log;
  }

  /** Loads a model and resolves with the lines to it; throws what loading threw. Where {@link end} came first, it is given back at once. */
  lend(request: LoanRequest): Promise<ModelLines> {
    const lending = this.#load(request);
    const ignore = () => {};
    this.#track(lending.then(ignore, ignore));
    return lending;
  }

  /** Gives one model back, without waiting for it; a failure is logged. */
  giveBack(id: number): void {
    const lent = this.#lent.get(id);
    if (lent === undefined) return;
    this.#lent.delete(id);
    this.#track(
      lent.close().catch((reason) => this.#log.error("a model that hooks loaded could not be freed", { err: reason })),
    );
  }

  /** Gives all models back, without waiting for them, and those that are still loading once they are there. */
  end(): void {
    this.#isOver = true;
    for (const id of [...this.#lent.keys()]) this.giveBack(id);
  }

  /** Resolves once nothing is being loaded or given back. */
  async settled(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending);
  }

  async #load({ id, driver, path, options }: LoanRequest): Promise<ModelLines> {
    const lent = await this.#lender.load(driver, path, options);
    this.#lent.set(id, lent);
    if (this.#isOver) this.giveBack(id);
    return lent.lines;
  }

  #track(task: Promise<void>): void {
    const tracked = task.finally(() => this.#pending.delete(tracked));
    this.#pending.add(tracked);
  }
}
