import { syncBuiltinESMExports } from "node:module";
import promises from "node:timers/promises";
import { Random, seedOf } from "./random.ts";

const real = { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, random: Math.random, now: Date.now };
const realPromises = { setTimeout: promises.setTimeout, setImmediate: promises.setImmediate };
/** Milliseconds since the epoch at which each history begins. */
const EPOCH = Date.UTC(2030, 0, 1);

/** An event to come. */
interface Due {
  readonly at: number;
  /** Decides between those of one time. */
  readonly tie: number;
  readonly number: number;
  readonly happen: () => void;
  isCancelled: boolean;
}

/** A part of the process with its own turns: what it waits for comes only while it can take it. */
export interface EventLoop {
  /** Lets something happen in it, as soon as that can be. */
  enter(happen: () => void): void;
}

/**
 * The time and the chance of a whole process, which pass only when they are told to: timers, clocks and random numbers
 * are its own while it is installed.
 */
export class VirtualTime {
  readonly #random: Random;
  readonly #salt: number;
  readonly #heap: Due[] = [];
  /** The event loop whose timers are being set; undefined = all have one. */
  loop: EventLoop | undefined;
  #now = 0;
  #number = 0;

  constructor(random: Random) {
    this.#random = random;
    this.#salt = random.below(2 ** 31);
  }

  /** Milliseconds since it began. */
  get now(): number {
    return this.#now;
  }

  /** The time of what happens next; undefined = nothing will. */
  get next(): number | undefined {
    for (let first = this.#heap[0]; first?.isCancelled; first = this.#heap[0]) this.#pop();
    return this.#heap[0]?.at;
  }

  /**
   * Lets something happen after a time. Among several of one time their names decide, by chance: a history from which
   * others are left out stays the same.
   */
  after(ms: number, name: string, happen: () => void): Due {
    return this.#push(ms, new Random(seedOf(this.#salt, name)).next(), happen);
  }

  /** Lets what is next happen, with what microtasks follow from it. */
  async step(): Promise<void> {
    if (this.next === undefined) return;
    do {
      const { at, happen } = this.#pop() as Due;
      this.#now = Math.max(this.#now, at);
      happen();
      // Now and then two things happen before anything follows from the first, if they do in one event loop.
    } while (this.loop === undefined && this.next === this.#now && new Random(this.#salt ^ this.#now).is(0.2));
    await settle();
  }

  /** Takes the place of the process's own timers, clocks and chance; returns a function that gives them back. */
  install(): () => void {
    const timeout = (run: (...args: unknown[]) => void, ms = 1, ...args: unknown[]) =>
      new VirtualTimer(this, { run: () => run(...args), ms: Math.max(1, Math.trunc(ms) || 1) });
    const interval = (run: (...args: unknown[]) => void, ms = 1, ...args: unknown[]) =>
      new VirtualTimer(this, { run: () => run(...args), ms: Math.max(1, Math.trunc(ms) || 1), repeats: true });
    const immediate = (run: (...args: unknown[]) => void, ...args: unknown[]) =>
      new VirtualTimer(this, { run: () => run(...args), ms: 0 });
    const clear = (timer: unknown) => {
      if (timer instanceof VirtualTimer) timer.close();
      else real.clearTimeout(timer as NodeJS.Timeout);
    };
    Object.assign(globalThis, {
      ...{ setTimeout: timeout, clearTimeout: clear, setInterval: interval, clearInterval: clear },
      ...{ setImmediate: immediate, clearImmediate: clear },
    });
    Object.assign(promises, { setTimeout: this.#delay.bind(this), setImmediate: () => this.#delay(0) });
    syncBuiltinESMExports();
    Object.defineProperty(performance, "now", { configurable: true, value: () => this.#now });
    Date.now = () => EPOCH + this.#now;
    Math.random = () => this.#random.next();
    return restore;
  }

  /** For its timers: only those of one time and one length fire in the order in which they were set, as Node's do. */
  setTimer(ms: number, fire: () => void): Due {
    const tie = new Random(this.#salt ^ Math.imul(this.#now + ms, 0x9e3779b9) ^ ms).next();
    return this.#push(ms, tie, fire);
  }

  #delay(ms = 1, value?: unknown, { signal }: { readonly signal?: AbortSignal } = {}): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const abort = () => {
        timer.close();
        reject(new DOMException("The operation was aborted", "AbortError"));
      };
      const end = () => {
        signal?.removeEventListener("abort", abort);
        resolve(value);
      };
      const timer = new VirtualTimer(this, { run: end, ms });
      if (signal?.aborted) abort();
      else signal?.addEventListener("abort", abort);
    });
  }

  #push(ms: number, tie: number, happen: () => void): Due {
    const due = { at: this.#now + ms, tie, number: this.#number++, happen, isCancelled: false };
    const heap = this.#heap;
    let index = heap.push(due) - 1;
    for (let parent = (index - 1) >> 1; index > 0 && isBefore(due, heap[parent] as Due); parent = (index - 1) >> 1) {
      heap[index] = heap[parent] as Due;
      index = parent;
    }
    heap[index] = due;
    return due;
  }

  #pop(): Due | undefined {
    const heap = this.#heap;
    const [first, last] = [heap[0], heap.pop()];
    if (last === undefined || heap.length === 0) return first;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Due, heap[child] as Due)) child++;
      if (!isBefore(heap[child] as Due, last)) break;
      heap[index] = heap[child] as Due;
      index = child;
    }
    heap[index] = last;
    return first;
  }
}

function isBefore(one: Due, other: Due): boolean {
  if (one.at !== other.at) return one.at < other.at;
  return one.tie !== other.tie ? one.tie < other.tie : one.number < other.number;
}

interface TimerOptions {
  readonly run: () => void;
  readonly ms: number;
  readonly repeats?: boolean;
}

/** A timer as Node's, on the virtual clock. */
class VirtualTimer {
  readonly #time: VirtualTime;
  readonly #options: TimerOptions;
  readonly #loop: EventLoop | undefined;
  #due: Due;

  constructor(time: VirtualTime, options: TimerOptions) {
    this.#time = time;
    this.#loop = time.loop;
    this.#options = options;
    this.#due = this.#set();
  }

  ref = () => this;
  unref = () => this;
  hasRef = () => true;

  refresh(): this {
    this.close();
    this.#due = this.#set();
    return this;
  }

  close(): this {
    this.#due.isCancelled = true;
    return this;
  }

  #set(): Due {
    const { run, ms, repeats = false } = this.#options;
    const fire = () => {
      if (this.#due.isCancelled) return;
      if (repeats) this.#due = this.#set();
      run();
    };
    return this.#time.setTimer(ms, this.#loop === undefined ? fire : () => this.#loop?.enter(fire));
  }
}

function restore(): void {
  const { random, now, ...timers } = real;
  Object.assign(globalThis, timers, { clearImmediate });
  Object.assign(promises, realPromises);
  syncBuiltinESMExports();
  Reflect.deleteProperty(performance, "now");
  Date.now = now;
  Math.random = random;
}

const { clearImmediate } = globalThis;

/** Resolves once every microtask has run, and those that followed from them. */
export function settle(): Promise<void> {
  return new Promise((resolve) => {
    real.setImmediate(resolve);
  });
}
