import { TurnUse, turns } from "./event-loop-turns.ts";

/** Turns of the event loop for pieces of work of one kind, such as the new connections of a server. */
export class WorkTurns {
  readonly #use = new TurnUse();
  #isTaken = false;

  /** Does a piece of work now, or in a later turn; work of the same kind that it starts belongs to it. */
  take(work: () => void): void {
    if (!this.#isTaken && turns.begin(this.#use) > 0) this.#do(work);
    else this.takeLater(work);
  }

  /** {@link take} in a later turn, so that the data which arrived in this one has its time. */
  takeLater(work: () => void): void {
    if (this.#isTaken) {
      work();
      return;
    }
    turns.wait(this.#use, () => {
      turns.resume(this.#use);
      this.#do(work);
    });
  }

  #do(work: () => void): void {
    this.#isTaken = true;
    try {
      work();
    } finally {
      this.#isTaken = false;
    }
  }
}
