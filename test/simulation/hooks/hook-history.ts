import { Random, seedOf } from "../random.ts";
import type { SceneCommand, SceneHistory } from "../threads/scene.ts";

/**
 * Ends of a hook, or of the start of its thread. `blocks` = it holds its thread up for a while; `spins` = for ever;
 * `exits` and `crashes` = its thread ends; `waits` = for what never comes; `closes` = its connection breaks.
 */
export type HookEnd = "ok" | "fails" | "blocks" | "spins" | "exits" | "crashes" | "waits" | "closes";

type Ends = Readonly<Partial<Record<HookEnd, number>>>;

/** A request to the hooks. */
export interface AskHooks extends SceneCommand {
  readonly do: "ask";
  readonly client: number;
  /** Name of its input. */
  readonly kind: "x" | "z";
  readonly priority?: number;
  readonly leavesAfterMs?: number;
  /** Parts of its answer, if it takes any. */
  readonly parts?: number;
  /** Values of each part. */
  readonly values?: number;
  /** The way in which its client reads them. */
  readonly reads?: "at once" | "slowly" | "stops";
}

/** Events of hooks and their threads. */
export type HookCommand =
  | AskHooks
  | (SceneCommand & { readonly do: "kill" | "spin"; readonly thread: number })
  | (SceneCommand & { readonly do: "reload" });

/** Everything that decides about one run. */
export interface HookHistory extends SceneHistory<HookCommand> {
  readonly workers: number;
  /** True if hooks answer in parts: by themselves, or by a model in a thread of its own that does. */
  readonly parted: "no" | "hooks" | "model";
  /** Models that hooks load when they start. */
  readonly loads: number;
  readonly hookTimeoutMs: number;
  /** Answers that the model gives at the same time. */
  readonly concurrency: number;
  readonly delays: readonly number[];
  readonly runEnds: Ends;
  readonly startEnds: Ends;
  /** Milliseconds between two parts. */
  readonly partMs: readonly number[];
  /** Bytes of parts that one answer may hold. */
  readonly partBytes: number;
}

/** Kinds of histories of hooks. */
interface HookKinds {
  readonly parted: boolean;
}

/** A history that a seed decides. */
export function makeHookHistory(seed: number, { parted }: HookKinds): HookHistory {
  if (parted && new Random(seedOf(seed, "places are short")).is(0.15)) return makeShortOfPlaces(seed);
  const random = new Random(seed);
  const isWell = random.is(0.2);
  return {
    ...{ seed, workers: 1 + random.below(3), commands: makeCommands(random, parted) },
    parted: parted ? random.of(["hooks", "hooks", "model"]) : "no",
    loads: random.of([0, 0, 1, 2]),
    concurrency: random.of([1, 2, 8]),
    hookTimeoutMs: random.of([0, 0, 300, 3000]),
    delays: random.of([
      [0, 1],
      [0, 1, 5, 20],
      [1, 20, 100],
    ]),
    partMs: random.of([[0], [0, 0, 1], [0, 1, 10]]),
    partBytes: random.of([Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, 200_000]),
    runEnds: isWell ? {} : makeRunEnds(random),
    startEnds: isWell
      ? {}
      : {
          fails: random.of([0, 0.3]),
          blocks: random.of([0, 0.3]),
          exits: random.of([0, 0, 0.1]),
          spins: random.of([0, 0, 0.05]),
        },
  };
}

/** A history in which all goes well, but readers stop that hold places of a model for which others wait. */
function makeShortOfPlaces(seed: number): HookHistory {
  const random = new Random(seed);
  const commands: AskHooks[] = [];
  for (let [id, at] = [0, 0]; id < 24; id++, at += random.below(2000)) {
    const [client, parts] = [random.below(3), 60 + random.below(20)];
    const reads = random.of(["at once", "slowly", "stops"] as const);
    commands.push({ at, id, do: "ask", client, kind: "x", parts, values: 1, reads });
  }
  return {
    ...{ seed, workers: 1 + random.below(2), commands, parted: "model", loads: 0, hookTimeoutMs: 0 },
    ...{ concurrency: 1 + random.below(2), delays: [0, 1], partMs: [0, 0, 1], partBytes: Number.POSITIVE_INFINITY },
    ...{ runEnds: {}, startEnds: {} },
  };
}

function makeRunEnds(random: Random): Ends {
  return {
    fails: random.of([0, 0.1, 0.3]),
    blocks: random.of([0, 0.1, 0.3]),
    spins: random.of([0, 0, 0.02, 0.1]),
    exits: random.of([0, 0, 0.03, 0.2]),
    crashes: random.of([0, 0, 0.03]),
    waits: random.of([0, 0, 0.1]),
    closes: random.of([0, 0, 0.01]),
  };
}

function makeCommands(random: Random, parted: boolean): HookCommand[] {
  const commands: HookCommand[] = [];
  // More than a thread takes at once, now and then.
  const [spread, most] = [random.of([1, 10, 100, 500]), random.of([40, 80, 200])];
  let at = 0;
  for (let count = 5 + random.below(most); count > 0; count--) {
    if (!random.is(0.5)) at += random.below(2 * spread);
    commands.push(makeCommand(random, parted, { at, id: commands.length }));
  }
  return commands;
}

function makeCommand(random: Random, parted: boolean, frame: SceneCommand): HookCommand {
  const kind = random.weighted({ ask: 20, kill: 0.3, spin: 0.2, reload: 0.7 });
  if (kind === "kill" || kind === "spin") return { ...frame, do: kind, thread: random.below(3) };
  if (kind === "reload") return { ...frame, do: kind };
  return {
    ...{ ...frame, do: "ask", client: random.below(3), kind: random.of(["x", "x", "z"]) },
    ...(random.is(0.15) && { priority: 1 + random.below(3) }),
    ...(random.is(0.25) && { leavesAfterMs: random.of([0, 1, 5, 50, 500]) }),
    ...(parted && { parts: random.below(random.of([5, 60, 150])), values: random.of([1, 1, 3000]) }),
    ...(parted && { reads: random.of(["at once", "at once", "slowly", "stops"]) }),
  };
}
