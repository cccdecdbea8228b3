import { ServingError } from "../../../src/errors.ts";
import { type CancelSignal, unlessAborted } from "../../../src/platform/async/cancel-source.ts";
import { createDeferred } from "../../../src/platform/async/promises.ts";
import { Random, seedOf } from "../random.ts";
import type { VirtualTime } from "../virtual-time.ts";
import type { EdgeKind, GivenEnd, History, Outcome, WishedVersion } from "./history.ts";
import { isKnown } from "./known-faults.ts";

/** A model that a history serves, and one of its versions. */
export interface Wish extends WishedVersion {
  readonly model: string;
}

/** The files of a wish, as its fingerprint tells them. */
export function printOf({ print, hooks }: WishedVersion): string {
  return hooks === undefined ? print : `${print}+${hooks}`;
}

/** A violation of something that must always hold. */
export class Violation extends Error {
  readonly id: string;
  /** The circumstances by which a known fault is told; undefined = none that any explains. */
  readonly shape: string | undefined;

  constructor(id: string, message: string, shape?: string) {
    super(`${id}: ${message}`);
    this.id = id;
    this.shape = shape;
  }
}

/**
 * Everything outside of the code that is simulated: how long it takes and how it ends hangs on the seed, on what it is
 * and on the attempt, never on the order of events, so that two codes see the same world.
 */
export class World {
  readonly time: VirtualTime;
  readonly copies: Copy[] = [];
  /** Work that is under way, by its name. */
  readonly underWay = new Map<string, number>();
  readonly violations: Violation[] = [];
  /** Those that known faults explain. */
  readonly known: Violation[] = [];
  /** Called with each copy that is about to be loaded. */
  onOpen: (copy: Copy) => void = () => {};
  /** Called with each copy that gets no memory. */
  onRefused: (copy: Copy) => void = () => {};
  /** The last steps. */
  readonly trace: string[] = [];
  /** Number of all steps. */
  noted = 0;
  readonly #history: History;
  readonly #attempts = new Map<string, number>();
  readonly #healed = createDeferred<void>();
  #isHealed = false;

  constructor(history: History, time: VirtualTime) {
    this.#history = history;
    this.time = time;
  }

  get isHealed(): boolean {
    return this.#isHealed;
  }

  /** From now on all work succeeds, and what hung ends. */
  heal(): void {
    this.#isHealed = true;
    this.#healed.resolve();
    this.note("the world is well again");
  }

  note(text: string): void {
    this.noted++;
    this.trace.push(`${String(this.time.now).padStart(7)} ${text}`);
    if (this.trace.length > 400) this.trace.splice(0, 200);
  }

  violate(id: string, message: string, shape?: string): void {
    this.note(`VIOLATION ${id}: ${message}`);
    const violation = new Violation(id, message, shape);
    if (isKnown(violation)) this.known.push(violation);
    else this.violations.push(violation);
  }

  /** Files of one version that are about to be loaded. */
  open(wish: Wish, signal: AbortSignal): Copy {
    const copy = new Copy(this, wish, this.copies.length);
    signal.addEventListener("abort", () => copy.abandon(), { once: true });
    this.copies.push(copy);
    this.onOpen(copy);
    return copy;
  }

  /** Does one piece of work; rejects as soon as the signal aborts, unless its end is `late`. */
  async work(kind: EdgeKind, key: string, signal?: CancelSignal): Promise<void> {
    const { outcome, ms, attempt } = this.#end(kind, key);
    const name = `${kind} ${key} #${attempt}`;
    this.underWay.set(name, this.time.now);
    this.note(`${name} begins${outcome === "ok" ? "" : ` and ${outcome}`} (${ms} ms)`);
    try {
      const end = this.#pass(name, { outcome, ms });
      await (signal === undefined || outcome === "late" ? end : unlessAborted(end, signal));
      if (outcome === "fails") throw new ServingError("internal", `${kind} ${key} fails as it should`);
    } catch (reason) {
      this.note(`${name} fails`);
      throw reason;
    } finally {
      this.underWay.delete(name);
    }
    this.note(`${name} ends`);
  }

  /** Number of times that some work has begun. */
  attempts(kind: EdgeKind, key: string): number {
    return this.#attempts.get(`${kind} ${key}`) ?? 0;
  }

  /** As {@link work}, for what takes no time unless a history says so. */
  async ask(kind: EdgeKind, key: string): Promise<void> {
    if (this.#history.faults[kind] !== undefined) await this.work(kind, key);
  }

  async #pass(name: string, { outcome, ms }: Required<GivenEnd>): Promise<void> {
    if (outcome === "hangs") await this.#healed.promise;
    const passed = createDeferred<void>();
    this.time.after(ms, name, passed.resolve);
    await passed.promise;
  }

  #end(kind: EdgeKind, key: string): Required<GivenEnd> & { readonly attempt: number } {
    const name = `${kind} ${key}`;
    const attempt = this.#attempts.get(name) ?? 0;
    this.#attempts.set(name, attempt + 1);
    const { seed, faults, delays, given } = this.#history;
    const random = new Random(seedOf(seed, `${name} ${attempt}`));
    const ms = random.of(delays) ?? 0;
    const outcome = random.weighted<Outcome>({ ok: 1, fails: 0, hangs: 0, late: 0, ...faults[kind] });
    const own = given?.[name]?.[attempt];
    return { outcome: this.#isHealed ? "ok" : (own?.outcome ?? outcome), ms: own?.ms ?? ms, attempt };
  }
}

/** Time that a servable has for its last requests, and to give its memory back, in milliseconds. */
export const RETIRE_MS = 25_000;

/** One request that runs in a copy. */
interface Run {
  readonly id: string;
  /** The moment at which its version was leased. */
  readonly leasedAt: number;
}

/** One version as it is loaded, once: it knows what is done to it, and when that must not be. */
export class Copy {
  readonly wish: Wish;
  readonly number: number;
  readonly runs = new Set<Run>();
  /** The moment since which it can be asked. */
  loadedAt: number | undefined;
  state: "opening" | "loading" | "warming" | "loaded" | "closing" | "closed" = "opening";
  /** The moment at which nobody wanted it any more before it was loaded. */
  abandonedAt: number | undefined;
  isInMemory = false;
  /** The moment at which it was to be freed. */
  closedAt = Number.POSITIVE_INFINITY;
  /** Name of the input of each model that it needs, as it was when this was loaded. */
  readonly inputs = new Map<string, string>();
  /** The content of its hook file as it runs. */
  hooks: number | undefined;
  readonly #world: World;

  constructor(world: World, wish: Wish, number: number) {
    this.#world = world;
    this.hooks = wish.hooks;
    this.wish = wish;
    this.number = number;
  }

  get slot(): string {
    return `${this.wish.model}/${this.wish.version}`;
  }

  get title(): string {
    return `${this.slot} ${printOf(this.wish)} (copy ${this.number})`;
  }

  get isLoading(): boolean {
    return this.state === "opening" || this.state === "loading" || this.state === "warming";
  }

  /** One step of its load. */
  async step(kind: "open" | "load" | "warm", signal: AbortSignal): Promise<void> {
    if (kind === "load") this.state = "loading";
    this.isInMemory ||= kind === "load";
    if (kind === "warm") this.state = "warming";
    await this.#world.work(kind, `${this.slot} ${printOf(this.wish)}`, signal);
  }

  /** Runs one request, and what follows from it. */
  async run(run: Run, signal: CancelSignal, then: () => Promise<void>): Promise<void> {
    if (this.state === "closing" || this.state === "closed")
      this.#world.violate("P1", `${run.id} runs in ${this.title}, which is ${this.state}`);
    this.runs.add(run);
    try {
      await this.#world.work("run", `${run.id} ${this.slot}`, signal);
      await then();
    } finally {
      this.runs.delete(run);
    }
  }

  async close(): Promise<void> {
    if (this.state === "closing" || this.state === "closed") this.#world.violate("P4", `${this.title} is closed twice`);
    const { now } = this.#world.time;
    for (const { id, leasedAt } of this.runs)
      if (now - leasedAt < RETIRE_MS)
        this.#world.violate("P4", `${this.title} is freed under ${id}, which has it since ${now - leasedAt} ms`);
    this.state = "closing";
    this.closedAt = now;
    try {
      await this.#world.work("close", `${this.slot} ${printOf(this.wish)}`);
    } finally {
      this.state = "closed";
      this.isInMemory = false;
    }
  }

  /** Nobody waits for its load any more. */
  abandon(): void {
    if (this.isLoading) this.abandonedAt = this.#world.time.now;
  }
}
