/** The turns of one of several models that share a thread. */
export interface ModelTurns {
  /** True while no model works: {@link begin} has nothing to wait for. */
  readonly isFree: boolean;
  /** Begins the model's turn; resolves when all turns that were asked for before are over, undefined = they are. */
  begin(): Promise<void> | undefined;
  /** Ends it. */
  end(): void;
  /** Ends it, and begins the next one once the others had theirs and the event loop has turned. */
  pause(): Promise<void>;
}

interface Waiting {
  readonly model: number;
  readonly begin: () => void;
}

/** Lets the models of one thread work one after the other, and shows other threads which of them does. */
export class ThreadTurns {
  readonly #working: Int32Array;
  readonly #waiting: Waiting[] = [];
  #isTaken = false;

  /** `memory` is where the number of the model is written that works now; 0 = none does. */
  constructor(memory: SharedArrayBuffer) {
    this.#working = new Int32Array(memory);
  }

  /** The turns of a model, by its number. */
  of(model: number): ModelTurns {
    const isFree = () => !this.#isTaken;
    return {
      get isFree() {
        return isFree();
      },
      begin: () => this.#begin(model),
      end: () => this.#end(),
      pause: async () => {
        this.#end();
        await new Promise(setImmediate);
        await this.#begin(model);
      },
    };
  }

  #begin(model: number): Promise<void> | undefined {
    if (this.#isTaken) return new Promise((begin) => this.#waiting.push({ model, begin }));
    this.#isTaken = true;
    Atomics.store(this.#working, 0, model);
    return undefined;
  }

  /** The turn passes to the next in line, once the answers that it gave are sent: the next one may block the thread. */
  #end(): void {
    const next = this.#waiting.shift();
    this.#isTaken = next !== undefined;
    Atomics.store(this.#working, 0, 0);
    if (next === undefined) return;
    setImmediate(() => {
      Atomics.store(this.#working, 0, next.model);
      next.begin();
    });
  }
}
