import { Random } from "../random.ts";
import { settle, VirtualTime } from "../virtual-time.ts";
import { Clients } from "./clients.ts";
import { type Door, openManager } from "./door.ts";
import type { History, Limits } from "./history.ts";
import { Invariants } from "./invariants.ts";
import { type Violation, World } from "./world.ts";

/** The result of one history. */
export interface Report {
  readonly violations: readonly Violation[];
  /** Violations that known faults explain. */
  readonly known: readonly Violation[];
  readonly trace: readonly string[];
  readonly steps: number;
  /** Number of requests by how they ended. */
  readonly ends: ReadonlyMap<string, number>;
  /** Milliseconds that it took on its own clock. */
  readonly ms: number;
}

/** Opens the code that is simulated. */
export type OpenDoor = (world: World, limits: Limits) => Door;

/** Time after the last command at which the world gets well, in milliseconds. */
const SICK_MS = 2000;
/** Time that it has then to become quiet, in milliseconds. */
const HEAL_MS = 2 * 3600 * 1000;
/** Time without any work and any wait after which it counts as quiet, in milliseconds: longer than any retry waits. */
const QUIET_MS = 150_000;
/** Steps at most: a history that takes more goes in circles. */
const MAX_STEPS = 100_000;

/** Ways to run a history. */
interface SimulateOptions {
  /** Default: the server's model manager. */
  readonly openDoor?: OpenDoor | undefined;
  /** Number of the step before which a debugger stops. */
  readonly stopAt?: number | undefined;
}

/** Runs one history from its beginning to the end of the server; the same every time. */
export async function simulate(history: History, options: SimulateOptions = {}): Promise<Report> {
  const time = new VirtualTime(new Random(history.seed));
  const restore = time.install();
  const world = new World(history, time);
  const unhandled = (reason: unknown) => world.violate("P0", `nobody handles ${String(reason)}`);
  process.on("unhandledRejection", unhandled);
  try {
    return await new Run(history, world, options).run();
  } finally {
    process.off("unhandledRejection", unhandled);
    restore();
  }
}

class Run {
  readonly #world: World;
  readonly #history: History;
  readonly #door: Door;
  readonly #clients: Clients;
  readonly #invariants: Invariants;
  readonly #stopAt: number | undefined;
  #steps = 0;
  #isClosed = false;

  constructor(history: History, world: World, { openDoor = openManager, stopAt }: SimulateOptions) {
    this.#history = history;
    this.#stopAt = stopAt;
    this.#world = world;
    this.#door = openDoor(world, history.limits);
    this.#clients = new Clients(world, this.#door);
    this.#invariants = new Invariants({ world, door: this.#door, clients: this.#clients, history });
  }

  async run(): Promise<Report> {
    const { time } = this.#world;
    const { commands } = this.#history;
    for (const [index, command] of commands.entries()) {
      const { at, id = index } = command;
      time.after(at, `command ${id}`, () => {
        this.#invariants.begin(command);
        this.#clients.begin(command, id);
      });
    }
    const end = (commands.at(-1)?.at ?? 0) + SICK_MS;
    time.after(end, "heal", () => this.#world.heal());
    const { closesAt } = this.#history;
    if (closesAt !== undefined) time.after(closesAt, "close", () => this.#close());
    await this.#goOn(Math.max(end, closesAt ?? 0));
    await this.#rest();
    if (closesAt === undefined) {
      if (!this.#hasFailed) this.#invariants.checkQuiet();
      this.#close();
      await settle();
      await this.#rest();
    }
    if (!this.#isClosed && !this.#hasFailed) this.#world.violate("P9", "it never closes");
    if (!this.#hasFailed) this.#invariants.checkClosed();
    const { violations, known, trace } = this.#world;
    return { violations, known, trace, steps: this.#steps, ends: this.#clients.ends, ms: time.now };
  }

  get #hasFailed(): boolean {
    return this.#world.violations.length > 0;
  }

  /** Goes on until nothing has been under way for a while, as far as that comes to pass. */
  async #rest(): Promise<void> {
    const { time, underWay } = this.#world;
    const { waits, held } = this.#clients;
    const [began, busy] = [time.now, () => underWay.size + waits.size + held.size > 0];
    let lastBusy = began;
    await this.#goOn(began + HEAL_MS, () => {
      if (busy()) lastBusy = time.now;
      return time.now - lastBusy > QUIET_MS;
    });
  }

  async #goOn(until: number, isOver = () => false): Promise<void> {
    const { time } = this.#world;
    while (!this.#hasFailed && (time.next ?? Number.POSITIVE_INFINITY) <= until && !isOver()) {
      // biome-ignore lint/suspicious/noDebugger: it is asked for by --stop-at.
      if (this.#steps === this.#stopAt) debugger;
      await time.step().catch((reason) => this.#world.violate("P0", `an event throws ${String(reason)}`));
      this.#steps++;
      this.#invariants.check();
      if (this.#steps > MAX_STEPS) this.#world.violate("P17", `it takes more than ${MAX_STEPS} steps`);
    }
  }

  #close(): void {
    this.#world.note("> close");
    this.#invariants.close();
    void this.#door.close().then(() => {
      this.#isClosed = true;
    });
  }
}
