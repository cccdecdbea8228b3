import { EventEmitter } from "node:events";
import { syncBuiltinESMExports } from "node:module";
import workerThreads from "node:worker_threads";
import { Random, seedOf } from "../random.ts";
import type { VirtualTime } from "../virtual-time.ts";
import { cloneMessage, SimulatedPort } from "./simulated-port.ts";
import { SimulatedThread } from "./simulated-thread.ts";

/** A thread's own view of its beginning. */
export interface ThreadStart {
  readonly worker: SimulatedWorker;
  readonly thread: SimulatedThread;
  readonly workerData: unknown;
  readonly parentPort: SimulatedPort;
}

/** Code of threads by their entries, such as `model-thread-entry`; a thread ends when it resolves. */
export type ThreadBodies = Readonly<Record<string, (start: ThreadStart) => Promise<void>>>;

const real = { ...workerThreads };
/** The code that a thread starts with takes so long to be there, in milliseconds. */
const START_MS = [1, 5, 30] as const;

/** The threads of a process on a virtual clock: workers and ports are its own while it is installed. */
export class SimulatedProcess {
  readonly time: VirtualTime;
  readonly main: SimulatedThread;
  readonly random: Random;
  /** All threads that were started and have not ended. */
  readonly workers = new Set<SimulatedWorker>();
  readonly bodies: ThreadBodies;
  started = 0;

  constructor(seed: number, { time, bodies }: { readonly time: VirtualTime; readonly bodies: ThreadBodies }) {
    this.time = time;
    this.random = new Random(seedOf(seed, "threads"));
    this.bodies = bodies;
    this.main = new SimulatedThread("main", this);
    time.loop = this.main;
  }

  /** Takes the place of Node's threads; returns a function that gives them back. */
  install(): () => void {
    const [own, time] = [this, this.time];
    const current = () => time.loop as SimulatedThread;
    class Channel {
      readonly port1: SimulatedPort;
      readonly port2: SimulatedPort;

      constructor() {
        [this.port1, this.port2] = SimulatedPort.pair(current());
      }
    }
    class Worker extends SimulatedWorker {
      constructor(entry: URL, options: WorkerOptions) {
        super(own, entry, options);
      }
    }
    const receiveMessageOnPort = (port: SimulatedPort) => port.receive();
    Object.assign(workerThreads, { MessageChannel: Channel, Worker, receiveMessageOnPort });
    syncBuiltinESMExports();
    const { setImmediate } = globalThis;
    const immediate = (run: (...args: unknown[]) => void, ...args: unknown[]) => {
      const loop = time.loop;
      // Streams of all threads share their turns here, where a module is there once: they go on whoever began a turn.
      if (/^beginTurn\d*$/.test(run.name)) time.loop = this.main;
      const set = setImmediate(run, ...args);
      time.loop = loop;
      return set;
    };
    Object.assign(globalThis, { setImmediate: immediate });
    return () => {
      Object.assign(workerThreads, real);
      syncBuiltinESMExports();
    };
  }
}

interface WorkerOptions {
  readonly workerData?: unknown;
  readonly transferList?: readonly unknown[];
}

/** A thread as the one that has started it sees it. */
export class SimulatedWorker extends EventEmitter {
  readonly thread: SimulatedThread;
  readonly stdout = new Output();
  readonly stderr = new Output();
  readonly #process: SimulatedProcess;
  readonly #port: SimulatedPort;
  /** True once it has its code. */
  hasBegun = false;
  /** True once it has been told that the thread has ended. */
  #isGone = false;
  readonly #gone: Promise<number>;

  constructor(process: SimulatedProcess, entry: URL, { workerData, transferList = [] }: WorkerOptions) {
    super();
    this.#process = process;
    const kind = /([\w-]+)-entry\.js$/.exec(entry.pathname)?.[1] ?? "";
    this.thread = new SimulatedThread(`${kind} ${++process.started}`, process);
    process.workers.add(this);
    const [outer, inner] = SimulatedPort.pair(process.main);
    this.#port = outer;
    inner.moveTo(this.thread);
    outer.on("message", (message) => this.emit("message", message));
    this.#gone = new Promise((resolve) => this.once("exit", resolve));
    const data = cloneMessage(workerData, transferList);
    for (const port of data.ports) port.moveTo(this.thread);
    const start: ThreadStart = { worker: this, thread: this.thread, workerData: data.message, parentPort: inner };
    this.thread.after(process.random.of(START_MS), "starts", () => {
      const body = process.bodies[kind];
      if (body === undefined) throw new Error(`No thread is called ${kind}.`);
      this.hasBegun = true;
      body(start).then(
        () => this.die(0),
        (reason) => this.die(1, reason),
      );
    });
  }

  postMessage(message: unknown, transfer: readonly unknown[] = []): void {
    // Node does not even transfer it then.
    if (!this.#isGone) this.#port.postMessage(message, transfer);
  }

  async terminate(): Promise<number> {
    if (this.thread.isAlive) this.#process.main.soon(`${this.thread.name} is terminated`, () => this.die(1));
    return this.#gone;
  }

  /** Ends the thread at once; with an error, of one that was not caught in it. */
  die(code: number, ...uncaught: readonly unknown[]): void {
    if (!this.thread.isAlive) return;
    const { main, workers } = this.#process;
    this.thread.kill();
    main.after(this.#process.random.of([0, 1, 10]), `${this.thread.name} has ended`, () => {
      for (const reason of uncaught) this.emit("error", reason);
      for (let last = this.#port.receive(); last !== undefined; last = this.#port.receive())
        this.emit("message", last.message);
      this.#isGone = true;
      workers.delete(this);
      this.emit("exit", code);
    });
  }
}

/** A stream on which nothing comes. */
class Output extends EventEmitter {
  setEncoding(): this {
    return this;
  }
}
