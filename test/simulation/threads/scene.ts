import type { Logger } from "../../../src/observability/logger.ts";
import { Random, seedOf } from "../random.ts";
import { settle, VirtualTime } from "../virtual-time.ts";
import { SimulatedProcess, type ThreadBodies } from "./simulated-process.ts";
import { LONGEST_MESSAGE_MS, type SimulatedThread } from "./simulated-thread.ts";

/** Something that must always hold, and did not. */
export interface SceneViolation {
  readonly id: string;
  readonly message: string;
}

/** The result of one history. */
export interface SceneReport {
  readonly violations: readonly SceneViolation[];
  /** Violations that known faults explain: none here. */
  readonly known: readonly SceneViolation[];
  readonly trace: readonly string[];
  readonly steps: number;
  /** Milliseconds that it took on its own clock. */
  readonly ms: number;
  /** Number of requests by how they ended. */
  readonly ends: ReadonlyMap<string, number>;
}

/** Something that happens from outside, at a time in milliseconds since the beginning. */
export interface SceneCommand {
  readonly at: number;
  /** Its name among the steps, which decides what chance makes of it. */
  readonly id: number;
}

/** Everything that decides about one run of a scene. */
export interface SceneHistory<Command extends SceneCommand = SceneCommand> {
  readonly seed: number;
  readonly commands: readonly Command[];
}

/** A part of the server between simulated threads, and what is asked of it. */
export interface Scene<Command extends SceneCommand> {
  /** Resolves once it can be asked. */
  start(): Promise<void>;
  begin(command: Command): void;
  /** Called after each step; to violate what does not hold. */
  check(): void;
  /** Names of everything still to come once the world is well; empty = all is quiet. */
  unfinished(): readonly string[];
  /** Resolves once everything is closed. */
  close(): Promise<void>;
}

/** The world of a scene: its threads, its chance, and what went wrong in it. */
export class SceneWorld {
  readonly seed: number;
  readonly time: VirtualTime;
  readonly process: SimulatedProcess;
  readonly violations: SceneViolation[] = [];
  readonly trace: string[] = [];
  readonly ends = new Map<string, number>();
  readonly log: Logger;
  readonly #attempts = new Map<string, number>();
  /** The last moment at which each thread was held up. */
  readonly #heldUpAt = new WeakMap<SimulatedThread, number>();
  readonly #onHealed: (() => void)[] = [];
  #isHealed = false;

  constructor(seed: number, bodies: (world: SceneWorld) => ThreadBodies) {
    this.seed = seed;
    this.time = new VirtualTime(new Random(seed));
    this.process = new SimulatedProcess(seed, { time: this.time, bodies: bodies(this) });
    this.log = this.#createLog();
  }

  get isHealed(): boolean {
    return this.#isHealed;
  }

  /** From now on all goes well, and what hangs goes on. */
  heal(): void {
    this.#isHealed = true;
    this.note("the world is well again");
    // One after the other: what follows from one happens in its own thread.
    for (const goOn of this.#onHealed.splice(0)) this.time.after(0, "what hangs goes on", goOn);
  }

  /** Calls back once the world is well. */
  onHealed(goOn: () => void): void {
    if (this.#isHealed) goOn();
    else this.#onHealed.push(goOn);
  }

  /** To be called after each step. */
  watch(): void {
    const { now } = this.time;
    for (const { thread } of this.process.workers) if (!thread.isResponsive) this.#heldUpAt.set(thread, now);
  }

  /** True if nothing has held a thread up of late, so that every message to it was read. */
  isPrompt(thread: SimulatedThread): boolean {
    return this.time.now - (this.#heldUpAt.get(thread) ?? Number.NEGATIVE_INFINITY) > 2 * LONGEST_MESSAGE_MS;
  }

  /** The chance of something by its name: of each attempt another one, whatever else happens. */
  chanceOf(name: string): Random {
    const attempt = this.#attempts.get(name) ?? 0;
    this.#attempts.set(name, attempt + 1);
    return new Random(seedOf(this.seed, `${name} ${attempt}`));
  }

  note(text: string): void {
    this.trace.push(`${this.time.now.toFixed(1).padStart(9)} ${text}`);
    if (this.trace.length > 2000) this.trace.splice(0, 1000);
  }

  violate(id: string, message: string): void {
    this.note(`VIOLATION ${id}: ${message}`);
    this.violations.push({ id, message: `${id}: ${message}` });
  }

  count(end: string): void {
    this.ends.set(end, (this.ends.get(end) ?? 0) + 1);
  }

  #createLog(): Logger {
    const at = (level: string) => (message: string) => this.note(`log ${level}: ${message}`);
    const log: Logger = {
      ...{ level: "info", trace: () => {}, debug: () => {}, info: at("info"), warn: at("warn"), error: at("error") },
      child: () => log,
    };
    return log;
  }
}

/** Time after the last command at which the world gets well, in milliseconds. */
const SICK_MS = 500;
/** Time that it has then to finish all, in milliseconds. */
const HEAL_MS = 90_000;
/** Time that the end may take, in milliseconds. */
const CLOSE_MS = 150_000;
/** Steps at most: a history that takes more goes in circles. */
const MAX_STEPS = 200_000;

/** Ways to run a history. */
export interface SceneOptions {
  /** Number of the step before which a debugger stops. */
  readonly stopAt?: number | undefined;
}

/** Runs one history of a scene from its start to its end; the same every time. */
export async function runScene<Command extends SceneCommand>(
  history: SceneHistory<Command>,
  world: SceneWorld,
  { open, stopAt }: SceneOptions & { readonly open: (world: SceneWorld) => Scene<Command> },
): Promise<SceneReport> {
  const restore = [world.time.install(), world.process.install()];
  const unhandled = (reason: unknown) =>
    world.violate("T0", `nobody handles ${String((reason as Error)?.stack ?? reason)}`);
  process.on("unhandledRejection", unhandled);
  try {
    return await new SceneRun(history, world, { scene: open(world), stopAt }).run();
  } finally {
    process.off("unhandledRejection", unhandled);
    world.time.loop = undefined;
    for (const giveBack of restore.reverse()) giveBack();
  }
}

class SceneRun<Command extends SceneCommand> {
  readonly #history: SceneHistory<Command>;
  readonly #world: SceneWorld;
  readonly #scene: Scene<Command>;
  readonly #stopAt: number | undefined;
  #steps = 0;

  constructor(
    history: SceneHistory<Command>,
    world: SceneWorld,
    { scene, stopAt }: SceneOptions & { readonly scene: Scene<Command> },
  ) {
    this.#history = history;
    this.#world = world;
    this.#scene = scene;
    this.#stopAt = stopAt;
  }

  async run(): Promise<SceneReport> {
    const { time } = this.#world;
    await this.#until(
      "T2",
      "it never starts",
      (over) => void this.#scene.start().then(over, (reason) => this.#fail(reason)),
    );
    if (!this.#hasFailed) await this.#live();
    if (!this.#hasFailed) await this.#end();
    // What all threads of this process share is left as it was.
    for (const end = time.now + 10; (time.next ?? Number.POSITIVE_INFINITY) < end; ) await time.step().catch(() => {});
    const { violations, trace, ends } = this.#world;
    return { violations, known: [], trace, ends, steps: this.#steps, ms: time.now };
  }

  async #live(): Promise<void> {
    const { process: threads, time } = this.#world;
    const began = time.now;
    for (const command of this.#history.commands)
      threads.main.after(command.at, `command ${command.id}`, () => this.#scene.begin(command));
    const lastAt = began + (this.#history.commands.at(-1)?.at ?? 0);
    await this.#goOn(lastAt + SICK_MS);
    this.#world.heal();
    await this.#goOn(time.now + HEAL_MS, () => this.#scene.unfinished().length === 0);
    for (const what of this.#scene.unfinished().slice(0, 5)) this.#violate("T1", `${what}, long after all is well`);
  }

  async #end(): Promise<void> {
    const { process: threads, time } = this.#world;
    await this.#until(
      "T3",
      "it never closes",
      (over) => void this.#scene.close().then(over, (reason) => this.#fail(reason)),
    );
    await this.#goOn(time.now + CLOSE_MS, () => threads.workers.size === 0);
    for (const { thread } of threads.workers) this.#violate("T4", `${thread.name} has not ended after all is closed`);
  }

  get #hasFailed(): boolean {
    return this.#world.violations.length > 0;
  }

  /** Once something has failed, what follows from it says nothing. */
  #violate(id: string, message: string): void {
    if (!this.#hasFailed) this.#world.violate(id, message);
  }

  #fail(reason: unknown): void {
    this.#violate("T0", `it fails with ${String((reason as Error)?.stack ?? reason)}`);
  }

  async #until(id: string, message: string, begin: (over: () => void) => void): Promise<void> {
    const { process: threads, time } = this.#world;
    let isOver = false;
    threads.main.soon("begins", () =>
      begin(() => {
        isOver = true;
      }),
    );
    await this.#goOn(time.now + CLOSE_MS, () => isOver);
    if (!isOver) this.#violate(id, message);
  }

  async #goOn(until: number, isOver = () => false): Promise<void> {
    const { time } = this.#world;
    while (!this.#hasFailed && !isOver() && (time.next ?? Number.POSITIVE_INFINITY) <= until) {
      // biome-ignore lint/suspicious/noDebugger: it is asked for by --stop-at.
      if (this.#steps === this.#stopAt) debugger;
      await time.step().catch((reason) => this.#fail(reason));
      this.#steps++;
      this.#scene.check();
      if (this.#steps > MAX_STEPS) this.#world.violate("T5", `it takes more than ${MAX_STEPS} steps`);
    }
    await settle();
  }
}
