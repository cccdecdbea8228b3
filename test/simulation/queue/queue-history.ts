import { Random } from "../random.ts";
import type { SceneCommand, SceneHistory } from "../threads/scene.ts";

/** A model of a history. */
export interface SimulatedModel {
  readonly name: string;
  /** Predicts that may overlap. */
  readonly concurrency: number;
  /** Rows of a batch; 0 = it is not batched. */
  readonly maxRows: number;
  readonly lingerMs: number;
  /** True if it may share its thread. */
  readonly isShared: boolean;
  readonly instances: number;
}

/** Ends of a run, or of a load. `blocks` = it holds its thread up; `hangs` = for ever; `crashes` = its thread ends. */
export type RunEnd = "ok" | "fails" | "blocks" | "hangs" | "crashes" | "late";

/** A request to a model. */
export interface AskModel extends SceneCommand {
  readonly do: "ask";
  readonly model: string;
  readonly client: number;
  readonly rows: number;
  readonly priority?: number;
  readonly queueTimeoutMs?: number;
  readonly leavesAfterMs?: number;
}

/** Events of models and their threads. */
export type QueueCommand =
  | AskModel
  | (SceneCommand & { readonly do: "kill" | "hang"; readonly thread: number })
  | (SceneCommand & { readonly do: "reload" | "statistics"; readonly model: string });

/** Everything that decides about one run. */
export interface QueueHistory extends SceneHistory<QueueCommand> {
  readonly models: readonly SimulatedModel[];
  /** Threads that small models share. */
  readonly sharedThreads: number;
  /** Milliseconds that runs and loads take. */
  readonly delays: readonly number[];
  readonly runEnds: Readonly<Partial<Record<RunEnd, number>>>;
  readonly loadEnds: Readonly<Partial<Record<RunEnd, number>>>;
}

/** The answer of a model to a number. */
export const answerTo = (x: number) => 2 * x + 1;

/** A history that a seed decides. */
export function makeQueueHistory(seed: number): QueueHistory {
  const random = new Random(seed);
  const models = Array.from({ length: 1 + random.below(3) }, (_, index) => makeModel(random, `m${index}`));
  const commands: QueueCommand[] = [];
  const spread = random.of([1, 10, 100, 500]);
  let at = 0;
  for (let count = 5 + random.below(80); count > 0; count--) {
    if (!random.is(0.5)) at += random.below(2 * spread);
    commands.push(makeCommand(random, { models, at, id: commands.length }));
  }
  const isWell = random.is(0.2);
  return {
    ...{ seed, models, commands, sharedThreads: 1 + random.below(2) },
    delays: random.of([
      [0, 1],
      [0, 1, 5, 20],
      [1, 20, 100],
    ]),
    runEnds: isWell
      ? {}
      : {
          fails: random.of([0, 0.1, 0.3]),
          blocks: random.of([0, 0.2, 0.5]),
          hangs: random.of([0, 0, 0.02]),
          crashes: random.of([0, 0, 0.03]),
          late: random.of([0, 0.2]),
        },
    loadEnds: isWell
      ? {}
      : { fails: random.of([0, 0.3]), blocks: random.of([0, 0.5]), crashes: random.of([0, 0, 0.1]) },
  };
}

function makeModel(random: Random, name: string): SimulatedModel {
  const isShared = random.is(0.5);
  const isBatched = random.is(0.5);
  return {
    ...{ name, isShared, instances: isShared ? 1 : random.of([1, 1, 2]), concurrency: random.of([1, 1, 2, 3]) },
    ...(isBatched
      ? { maxRows: random.of([2, 4, 8]), lingerMs: random.of([0, 0, 5, 50]) }
      : { maxRows: 0, lingerMs: 0 }),
  };
}

interface CommandParts {
  readonly models: readonly SimulatedModel[];
  readonly at: number;
  readonly id: number;
}

function makeCommand(random: Random, { models, ...frame }: CommandParts): QueueCommand {
  const { name, maxRows } = random.of(models);
  const kind = random.weighted({ ask: 20, kill: 0.3, hang: 0.3, reload: 0.5, statistics: 0.5 });
  if (kind === "kill" || kind === "hang") return { ...frame, do: kind, thread: random.below(4) };
  if (kind !== "ask") return { ...frame, do: kind, model: name };
  return {
    ...{ ...frame, do: "ask", model: name, client: random.below(3), rows: maxRows === 0 ? 1 : 1 + random.below(3) },
    ...(random.is(0.15) && { priority: 1 + random.below(3) }),
    ...(random.is(0.1) && { queueTimeoutMs: random.of([1, 20, 200]) }),
    ...(random.is(0.3) && { leavesAfterMs: random.of([0, 1, 5, 50, 500]) }),
  };
}
