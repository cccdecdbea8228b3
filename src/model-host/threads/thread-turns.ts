/** Lets the models of one thread work one after the other, and shows other threads which of them does. */
export class ThreadTurns {
  readonly #running: Int32Array;
  #count = 0;
  #last: Promise<void> = Promise.resolve();

  /** `memory` is where the number of the model is written that works now; 0 = none does. */
  constructor(memory: SharedArrayBuffer) {
    this.#running = new Int32Array(memory);
  }

  /** Does the work of a model when all that came before is done. The work throws nothing, but may reject. */
  run<Result>(model: number, work: () => Promise<Result>): Promise<Result> {
    const begin = () => {
      Atomics.store(this.#running, 0, model);
      return work();
    };
    const turn = this.#count === 0 ? begin() : this.#last.then(begin);
    this.#count++;
    this.#last = turn.then(this.#end, this.#end);
    return turn;
  }

  readonly #end = () => {
    this.#count--;
    Atomics.store(this.#running, 0, 0);
  };
}
