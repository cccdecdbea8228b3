import { reasonText } from "../errors.ts";
import type { Logger } from "../observability/logger.ts";
import { MAX_TIMER_MS } from "../platform/limits/call-limits.ts";

/** Something that acts as a plan says. */
export interface Planned {
  /** True while something waits for it, so that the process must not end. */
  readonly isAwaited: boolean;
  /** True while it waits for a change of another model. */
  readonly isWatching?: boolean;
  /** Acts until its plan has nothing left to do; returns the time at which it does again, without an event. */
  follow(): number;
}

/** Time after which something is planned again that could not act, in milliseconds. */
const AGAIN_MS = 1000;

/**
 * Lets everything that is planned act, one after the other: after each event, and when time is up. It keeps a process
 * alive only while something is awaited. Nothing that goes wrong with one reaches the others, or who tells of an event.
 */
export class Turns {
  /** Times at which each has to be planned without an event. */
  readonly #wakes = new Map<Planned, number>();
  readonly #awaited = new Set<Planned>();
  readonly #watching = new Set<Planned>();
  /** Those to be planned. */
  readonly #due = new Set<Planned>();
  /** Those to be planned once the change that is being made is whole. */
  readonly #soon = new Set<Planned>();
  readonly #log: Pick<Logger, "error">;
  #isTurning = false;
  /** Time at which the timer fires: no later than any of {@link #wakes}. */
  #wakeAt = Number.POSITIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(log: Pick<Logger, "error">) {
    this.#log = log;
  }

  /** Plans one before this returns, unless another is just acting. */
  take(one: Planned): void {
    this.#due.add(one);
    if (!this.#isTurning) this.#turn();
  }

  /** Plans one after the change that is being made, of which it may see a half now. */
  takeSoon(one: Planned): void {
    if (this.#soon.size === 0) queueMicrotask(() => this.#takeAll());
    this.#soon.add(one);
  }

  /** Plans those soon that wait for a change of another model. */
  changed(): void {
    for (const one of this.#watching) this.takeSoon(one);
  }

  /** Lets go of one. */
  forget(one: Planned): void {
    for (const each of [this.#wakes, this.#awaited, this.#watching, this.#due, this.#soon]) each.delete(one);
    this.#keepAlive();
  }

  #takeAll(): void {
    for (const one of this.#soon) this.#due.add(one);
    this.#soon.clear();
    if (!this.#isTurning) this.#turn();
  }

  #turn(): void {
    this.#isTurning = true;
    try {
      // A set that grows while it is iterated also visits the added elements.
      for (const one of this.#due) {
        this.#due.delete(one);
        const at = this.#follow(one);
        if (Number.isFinite(at)) this.#wakes.set(one, at);
        else this.#wakes.delete(one);
        keep(this.#awaited, one, one.isAwaited);
        keep(this.#watching, one, one.isWatching === true);
        this.#wakeBy(at);
      }
    } finally {
      this.#isTurning = false;
      this.#keepAlive();
    }
  }

  #follow(one: Planned): number {
    try {
      return one.follow();
    } catch (err) {
      this.#report(err);
      return performance.now() + AGAIN_MS;
    }
  }

  #report(err: unknown): void {
    try {
      this.#log.error(`a model was not changed as it should: ${reasonText(err)}`, { err });
    } catch {
      // A log that fails, too, must not be the end of all plans.
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
    if (this.#awaited.size > 0) this.#timer?.ref();
    else this.#timer?.unref();
  }

  #wake(): void {
    this.#timer = undefined;
    this.#wakeAt = Number.POSITIVE_INFINITY;
    const now = performance.now();
    let next = Number.POSITIVE_INFINITY;
    for (const [one, at] of this.#wakes) {
      if (at <= now) this.#due.add(one);
      else next = Math.min(next, at);
    }
    this.#wakeBy(next);
    this.#turn();
  }
}

function keep(all: Set<Planned>, one: Planned, isIn: boolean): void {
  if (isIn) all.add(one);
  else all.delete(one);
}
