import { Random, seedOf } from "../random.ts";
import type { AskCommand, Command, Faults, History, Limits, WishedModel, WishedVersion } from "./history.ts";

const NAMES = ["a", "b", "chain", "tower"] as const;
/** The models that each may need: none needs itself, whatever is wished. */
const NEEDS: Readonly<Record<string, readonly string[]>> = { chain: ["a", "b"], tower: ["a", "chain"] };
/** Models that need no other, of a history in which memory is short. */
const FLAT_NAMES = ["a", "b", "c", "d"] as const;
const HOURS = 3600 * 1000;

/** The kind of a history: of any of them, one in which memory is short, or one whose wishes come and go. */
type Kind = "any" | "short" | "fickle";

/** A history that a seed decides, of about this many commands. */
export function makeHistory(seed: number, size = 60): History {
  const random = new Random(seed);
  const kind = new Random(seedOf(seed, "kind")).weighted<Kind>({ any: 8, short: 1, fickle: 1 });
  const spread = kind === "any" ? random.of([5, 100, 1000, 10_000, HOURS]) : SPREADS[kind];
  const idle = kind === "any" ? idleTimes(spread) : [0];
  const limits = { ...makeLimits(random, idle), ...makeOwnLimits(random, kind) };
  const files = new Files(random, { limits, idle, kind, seed });
  const commands: Command[] = [{ at: 0, do: "wish", models: files.wish() }];
  let at = 0;
  for (let count = random.below(size); count > 0; count--) {
    if (!random.is(0.3)) at += random.of([0, 1, 5, spread, random.below(spread)]);
    commands.push({ ...makeCommand(random, files, at), id: commands.length });
  }
  // Memory, and the places of loads, are given back late.
  const faults = kind === "short" ? { close: { hangs: 0.4 }, load: { late: 0.3 } } : makeFaults(random);
  const history = { seed, limits, faults, delays: makeDelays(random), commands };
  return random.is(0.25) ? { ...history, closesAt: at + random.of([0, 1, 50, random.below(spread)]) } : history;
}

const SPREADS = { short: 10_000, fickle: 100 } as const;

function makeOwnLimits(random: Random, kind: Kind): Partial<Limits> {
  if (kind === "short") return { modelMemory: random.of([25, 40]), loadTimeoutMs: 0 };
  return kind === "fickle" ? { modelMemory: 0 } : {};
}

/** A version that may not be unloaded is looked at again after each of them. */
function idleTimes(spread: number): readonly number[] {
  return spread === HOURS ? [0, 20_000, 600_000] : [0, 50, 1000, 20_000];
}

function makeLimits(random: Random, idle: readonly number[]): Limits {
  return {
    loadThreads: random.of([1, 2, 4]),
    loadTimeoutMs: random.of([0, 0, 500, 5000, 60_000]),
    loadRetries: random.of([0, 0, 1, 3]),
    loadRetryMs: random.of([1, 1000, 60_000]),
    idleUnloadMs: random.of(idle),
    strictReadiness: random.is(0.3),
    allowLabelsForUnavailable: random.is(0.2),
    modelMemory: random.of([0, 0, 0, 0, 0, 40, 60, 100]),
  };
}

function makeDelays(random: Random): readonly number[] {
  return random.of([
    [0, 1, 5],
    [0, 5, 20, 100],
    [1, 20, 100, 1000],
    [0, 5, 1000, 5000, 30_000],
  ]);
}

function makeFaults(random: Random): Faults {
  if (random.is(0.2)) return {};
  const load = { fails: random.of([0, 0.1, 0.4]), hangs: random.of([0, 0.05]), late: random.of([0, 0.1]) };
  return {
    prepare: { fails: random.of([0, 0.3]), hangs: random.of([0, 0.05]) },
    open: { fails: random.of([0, 0.1]) },
    load,
    warm: { fails: random.of([0, 0.1]), hangs: random.of([0, 0.05]), late: random.of([0, 0.1]) },
    run: { fails: 0.1, hangs: random.of([0, 0.05]), late: random.of([0, 0.1]) },
    close: { fails: random.of([0, 0.1]), hangs: random.of([0, 0.1]) },
    hooks: { fails: random.of([0, 0.3]), hangs: random.of([0, 0.1]) },
    ...(random.is(0.3) && { statistics: { fails: random.of([0, 0.2]) } }),
  };
}

function makeCommand(random: Random, files: Files, at: number): Command {
  const model = random.of(random.is(0.9) ? files.names : NAMES);
  const kind = random.weighted({
    ask: 10,
    wish: 4,
    load: 1.5,
    unload: 0.5,
    others: 0.2,
    hooks: 0.5,
    statistics: 0.5,
    keep: 0.5,
  });
  if (kind === "ask") return { at, ...makeAsk(random, model) };
  if (kind === "wish") return { at, do: "wish", models: files.wish() };
  if (kind === "load" || kind === "unload") return { at, do: kind, model };
  if (kind === "others") return { at, do: "unload with dependents", model };
  if (kind === "keep") return { at, do: "keep", model, forMs: random.of([10, 1000, 40_000]) };
  return { at, do: kind === "hooks" ? "reload hooks" : "statistics" };
}

function makeAsk(random: Random, model: string): AskCommand {
  return {
    do: "ask",
    model,
    ...(random.is(0.1) && { version: 1 + random.below(3) }),
    ...(random.is(0.05) && { label: random.of(["stable", "canary"]) }),
    ...(random.is(0.2) && { bodyMs: random.of([1, 100, 10_000]) }),
    ...(random.is(0.2) && { leavesAfterMs: random.of([1, 50, 5000]) }),
    ...(random.is(0.1) && { queueTimeoutMs: random.of([10, 1000]) }),
  };
}

interface FilesOptions {
  readonly limits: Limits;
  readonly idle: readonly number[];
  readonly kind: Kind;
  readonly seed: number;
}

/** The wishes, which change a little each time. */
class Files {
  readonly #random: Random;
  /** Decides about hooks that become what they were. */
  readonly #undo: Random;
  /** True if models are gone often, and come back with those that needed them, and hooks change more than files. */
  readonly #isFickle: boolean;
  readonly #idle: readonly number[];
  readonly #models = new Map<string, WishedModel>();
  #print = 0;

  constructor(random: Random, { limits, idle, kind, seed }: FilesOptions) {
    this.#random = random;
    this.#isFickle = kind === "fickle";
    this.#undo = new Random(seedOf(seed, "undo"));
    this.#idle = idle;
    const usual = NAMES.slice(0, kind === "any" ? 1 + random.below(NAMES.length) : NAMES.length);
    for (const name of kind === "short" ? FLAT_NAMES : usual) this.#models.set(name, this.#model(name, limits));
  }

  get names(): readonly string[] {
    return [...this.#models.keys()];
  }

  wish(): readonly WishedModel[] {
    for (const [name, model] of this.#models) {
      const changed = this.#change(model);
      // What it says of itself may change together with its files.
      this.#models.set(name, this.#random.is(0.2) ? this.#describe(changed) : changed);
    }
    const gone = this.#random.is(this.#isFickle ? 0.4 : 0.06) ? this.#random.of([...this.#models.keys()]) : undefined;
    const all = [...this.#models.values()];
    if (gone === undefined) return all;
    const others = all.filter(({ name }) => name !== gone);
    if (!this.#isFickle && this.#random.is(0.5)) return others;
    const without = others.map((model) => this.#without(gone, model));
    if (!this.#isFickle) for (const model of without) this.#models.set(model.name, model);
    return without;
  }

  /** A model with other files where it needs another one. */
  #without(gone: string, model: WishedModel): WishedModel {
    const change = (one: WishedVersion) =>
      one.needs?.includes(gone) === true
        ? { ...one, print: this.#next(), needs: one.needs.filter((need) => need !== gone) }
        : one;
    return { ...model, versions: model.versions.map(change) };
  }

  #model(name: string, { modelMemory }: Limits): WishedModel {
    const bytes = modelMemory === 0 ? 1 : this.#random.of([5, 10, 20]);
    const needs = (NEEDS[name] ?? []).filter(() => this.#random.is(0.7));
    const idleMs = this.#random.is(0.2) ? { idleMs: this.#random.of(this.#idle) } : {};
    const hooks = this.#isFickle ? { hooks: 1 } : {};
    return { name, ...idleMs, versions: [{ version: 1, print: this.#next(), bytes, needs, ...hooks }] };
  }

  #change(model: WishedModel): WishedModel {
    const hooks = this.#isFickle ? 4 : 1;
    const kind = this.#random.weighted({ none: 5, files: 3, add: 1, remove: 1, hooks, needs: 0.7, labels: 0.5 });
    const versions = [...model.versions];
    const index = this.#random.below(versions.length);
    const one = versions[index] as WishedVersion;
    if (kind === "files") versions[index] = this.#edit(one, model.name);
    if (kind === "hooks") versions[index] = { ...one, hooks: this.#hooks(one) };
    if (kind === "needs") versions[index] = { ...one, print: this.#next(), needs: this.#needs(model.name) };
    if (kind === "add") this.#add(versions, one);
    if (kind === "remove" && versions.length > 1) versions.splice(index, 1);
    const labels = kind === "labels" ? { labels: { [this.#random.of(["stable", "canary"])]: one.version } } : {};
    return { ...model, ...labels, versions };
  }

  #hooks({ hooks = 0 }: WishedVersion): number {
    return hooks > 1 && this.#undo.is(this.#isFickle ? 0.8 : 0.4) ? hooks - 1 : hooks + 1;
  }

  #describe(model: WishedModel): WishedModel {
    const { present, ...known } = model;
    if (this.#random.is(0.6)) return { ...model, idleMs: this.#random.of(this.#idle) };
    const here = model.versions.map(({ version }) => version).filter(() => this.#random.is(0.5));
    return present === undefined ? { ...known, present: here } : known;
  }

  #add(versions: WishedVersion[], like: WishedVersion): void {
    const version = 1 + this.#random.below(5);
    if (versions.some((one) => one.version === version)) return;
    versions.push({ ...like, version, print: this.#next() });
    versions.sort((a, b) => b.version - a.version);
  }

  #edit(one: WishedVersion, name: string): WishedVersion {
    const { isRefused: _, calls: __, ...kept } = one;
    return {
      ...kept,
      print: this.#next(),
      warms: this.#random.is(0.6),
      ...(this.#random.is(0.1) && { calls: (NEEDS[name] ?? []).slice(0, 1) }),
      isFetched: this.#random.is(0.2),
      ...(this.#random.is(0.05) && { isRefused: true }),
      ...(this.#random.is(0.2) && { takes: this.#random.of(["x", "y"] as const) }),
    };
  }

  #needs(name: string): readonly string[] {
    return (NEEDS[name] ?? []).filter(() => this.#random.is(0.6));
  }

  #next(): string {
    return `p${++this.#print}`;
  }
}
