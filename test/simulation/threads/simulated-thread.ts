import type { Random } from "../random.ts";
import type { EventLoop, VirtualTime } from "../virtual-time.ts";

/** A thread with an event loop of its own, which may be held up, and end at any time. */
export class SimulatedThread implements EventLoop {
  readonly name: string;
  /** Connections that end with it. */
  readonly ports = new Set<{ close(): void }>();
  readonly #time: VirtualTime;
  readonly #random: Random;
  readonly #backlog: (() => void)[] = [];
  #isAlive = true;
  /** Number of calls that hold it up. */
  #blocks = 0;
  #isDraining = false;

  constructor(name: string, { time, random }: { readonly time: VirtualTime; readonly random: Random }) {
    this.name = name;
    this.#time = time;
    this.#random = random;
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  /** True while nothing holds it up, and nothing waits for its turn in it. */
  get isResponsive(): boolean {
    return this.#isAlive && this.#blocks === 0 && this.#backlog.length === 0;
  }

  enter(happen: () => void): void {
    if (!this.#isAlive) return;
    if (this.isResponsive) this.#run(happen);
    else this.#backlog.push(happen);
  }

  /** Lets something happen in one of its next turns. */
  soon(name: string, happen: () => void): void {
    this.#time.after(0, `${this.name}: ${name}`, () => this.enter(happen));
  }

  /** Lets something happen outside of it, once a message would have come to it. */
  onTheWay(happen: () => void): void {
    this.#time.after(this.#random.of(MESSAGE_MS), `a message to ${this.name}`, happen);
  }

  /** Lets something happen in it after a time. */
  after(ms: number, name: string, happen: () => void): void {
    this.#time.after(ms, `${this.name}: ${name}`, () => this.enter(happen));
  }

  /** Resolves after a time in which it does other work. */
  wait(ms: number, name: string): Promise<void> {
    return new Promise((resolve) => this.after(ms, name, resolve));
  }

  /** Resolves after a time in which it does nothing else; with infinity, once it is told to. */
  block(ms: number, name: string): { readonly over: Promise<void>; readonly end: () => void } {
    this.#blocks++;
    let end = () => {};
    const over = new Promise<void>((resolve) => {
      let isOver = false;
      end = () => {
        if (isOver || !this.#isAlive) return;
        isOver = true;
        this.#blocks--;
        this.#run(resolve);
        this.#drainSoon();
      };
    });
    if (Number.isFinite(ms)) this.#time.after(ms, `${this.name}: ${name}`, end);
    return { over, end };
  }

  /** Ends it, whatever it does. */
  kill(): void {
    this.#isAlive = false;
    this.#backlog.length = 0;
    for (const port of [...this.ports]) port.close();
  }

  #run(happen: () => void): void {
    this.#time.loop = this;
    happen();
  }

  #drainSoon(): void {
    if (this.#isDraining || this.#backlog.length === 0) return;
    this.#isDraining = true;
    this.#time.after(0, `${this.name}: what has waited`, () => {
      this.#isDraining = false;
      if (this.#blocks > 0 || !this.#isAlive) return;
      const next = this.#backlog.shift();
      if (next !== undefined) this.#run(next);
      this.#drainSoon();
    });
  }
}

/** Times that a message may take, in milliseconds. */
const MESSAGE_MS = [0, 0, 0, 0.1, 1] as const;
/** The longest of them. */
export const LONGEST_MESSAGE_MS = 1;
