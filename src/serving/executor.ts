import { reasonText } from "../errors.ts";
import type { Logger } from "../observability/logger.ts";
import { MAX_TIMER_MS } from "../platform/limits/call-limits.ts";
import { type Action, type Event, plan, type Residence, step, type Use, wakeOf } from "./plan/residence.ts";

/** A copy that the executor acts on; it answers with events. */
export interface Executed {
  /** As it is now. */
  readonly use: Use;
  /** Begins one action, without waiting for it. */
  act(action: Action): void;
}

/** Time after which a copy is planned again whose action could not begin, in milliseconds. */
const AGAIN_MS = 1000;

/**
 * Does what the plan says: it alone changes where copies are, one action after the other, and plans again after each of
 * them, after each event, and when time is up. It keeps a process alive only while memory is given back, for which
 * loads may wait. Nothing that goes wrong with one copy reaches the others, or who tells of an event.
 */
export class Executor {
  readonly #copies = new Map<Executed, Residence>();
  /** Times at which they have to be planned without an event. */
  readonly #wakes = new Map<Executed, number>();
  /** Copies whose memory is given back. */
  readonly #parking = new Set<Executed>();
  /** Copies to be planned. */
  readonly #due = new Set<Executed>();
  #isTurning = false;
  readonly #log: Pick<Logger, "error">;
  /** Time at which the timer fires: no later than any of {@link #wakes}. */
  #wakeAt = Number.POSITIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(log: Pick<Logger, "error">) {
    this.#log = log;
  }

  /** Takes charge of a copy that has been loaded. */
  adopt(copy: Executed): void {
    this.#become(copy, { is: "resident" });
    this.look(copy);
  }

  /** Lets go of a copy; its later events count for nothing. */
  forget(copy: Executed): void {
    this.#copies.delete(copy);
    this.#wakes.delete(copy);
    this.#parking.delete(copy);
    this.#keepAlive();
  }

  /** Notes what has happened to a copy, and acts on it before this returns, unless an action is just beginning. */
  tell(copy: Executed, event: Event): void {
    const known = this.#copies.get(copy);
    if (known === undefined) return;
    this.#become(copy, step(known, event, performance.now()));
    this.look(copy);
  }

  /** To be called when other times count for a copy. */
  look(copy: Executed): void {
    this.#due.add(copy);
    if (!this.#isTurning) this.#turn();
  }

  #become(copy: Executed, residence: Residence): void {
    this.#copies.set(copy, residence);
    if (residence.is === "parking") this.#parking.add(copy);
    else this.#parking.delete(copy);
  }

  #turn(): void {
    this.#isTurning = true;
    try {
      // A set that grows while it is iterated also visits the added elements.
      for (const copy of this.#due) {
        this.#due.delete(copy);
        this.#tryToFollow(copy);
      }
    } finally {
      this.#isTurning = false;
      this.#keepAlive();
    }
  }

  #tryToFollow(copy: Executed): void {
    try {
      this.#follow(copy);
    } catch (err) {
      this.#log.error(`a model's copy was not changed as it should: ${reasonText(err)}`, { err });
      if (!this.#copies.has(copy)) return;
      this.#wakes.set(copy, performance.now() + AGAIN_MS);
      this.#wakeBy(performance.now() + AGAIN_MS);
    }
  }

  /** Acts on one copy until nothing is left to do. */
  #follow(copy: Executed): void {
    for (let known = this.#copies.get(copy); known !== undefined; known = this.#copies.get(copy)) {
      const { use } = copy;
      const now = performance.now();
      const action = plan(known, use, now);
      if (action === undefined) {
        const at = wakeOf(known, use, now);
        this.#wakes.set(copy, at);
        this.#wakeBy(at);
        return;
      }
      this.#become(copy, step(known, action, now));
      copy.act(action);
    }
  }

  #wakeBy(at: number): void {
    if (at >= this.#wakeAt) return;
    this.#wakeAt = at;
    clearTimeout(this.#timer);
    const leftMs = Math.min(Math.max(1, Math.ceil(at - performance.now())), MAX_TIMER_MS);
    this.#timer = setTimeout(() => this.#wake(), leftMs).unref();
  }

  #keepAlive(): void {
    if (this.#parking.size > 0) this.#timer?.ref();
    else this.#timer?.unref();
  }

  #wake(): void {
    this.#timer = undefined;
    this.#wakeAt = Number.POSITIVE_INFINITY;
    const now = performance.now();
    let next = Number.POSITIVE_INFINITY;
    for (const [copy, at] of this.#wakes) {
      if (at <= now) this.#due.add(copy);
      else next = Math.min(next, at);
    }
    this.#wakeBy(next);
    this.#turn();
  }
}
