import type { HookContext } from "../hooks/hooks.ts";
import { createDeferred } from "../platform/async/promises.ts";
import { HeldPlaces, type PlaceHolder } from "../platform/limits/held-places.ts";
import { RunLimit } from "../platform/native/cancellable-runs.ts";
import type { Tensors } from "../tensor/tensor.ts";
import { clientCallOf, tellCrowded } from "./context.ts";

/** Keeps the steps of an ensemble to a number of requests at a time, those of all its clients together. */
export class StepTurns {
  readonly #places: readonly StepPlaces[];

  /** `limit`: default and 0 = none. */
  constructor(steps: number, limit = 0) {
    this.#places = limit === 0 ? [] : Array.from({ length: steps }, () => new StepPlaces(limit));
  }

  /** Runs a step when it is its turn; rejects if its request is given up before. */
  async take<Result>(index: number, ctx: HookContext, run: () => Promise<Result>): Promise<Result> {
    const places = this.#places[index];
    return places === undefined ? run() : places.run(ctx, run);
  }

  /** The same with a step that answers in parts, whose turn ends with them. */
  takeParts(index: number, ctx: HookContext, open: () => AsyncIterable<Tensors>): AsyncIterable<Tensors> {
    return this.#places[index]?.runParts(ctx, open) ?? open();
  }
}

/** The places of one step. */
class StepPlaces {
  readonly #limit: RunLimit;
  /** The requests that wait for one. */
  readonly #waiting = new Set<HookContext>();
  readonly #streams = new HeldPlaces(() => Array.from(this.#waiting, clientOf));

  constructor(limit: number) {
    this.#limit = new RunLimit(limit);
  }

  async run<Result>(ctx: HookContext, run: () => Promise<Result>): Promise<Result> {
    ctx.signal.throwIfAborted();
    this.#waiting.add(ctx);
    this.#streams.watch();
    const begin = () => {
      this.#waiting.delete(ctx);
      return run();
    };
    return this.#limit.run(begin, ctx.signal).finally(() => this.#waiting.delete(ctx));
  }

  async *runParts(ctx: HookContext, open: () => AsyncIterable<Tensors>): AsyncGenerator<Tensors, void, undefined> {
    const [begun, ended] = [createDeferred<void>(), createDeferred<void>()];
    const turn = this.run(ctx, () => {
      begun.resolve();
      return ended.promise;
    });
    turn.catch(begun.reject);
    await begun.promise;
    const holder = new StepHolder(ctx);
    this.#streams.add(holder);
    try {
      for await (const part of open()) {
        holder.awaitedSince = performance.now();
        yield part;
        holder.awaitedSince = undefined;
      }
    } finally {
      this.#streams.delete(holder);
      ended.resolve();
    }
  }
}

/** A request that holds the place of a step until its last part. */
class StepHolder implements PlaceHolder {
  readonly client: number;
  awaitedSince: number | undefined = undefined;
  readonly #ctx: HookContext;

  constructor(ctx: HookContext) {
    this.client = clientOf(ctx);
    this.#ctx = ctx;
  }

  crowded(): void {
    tellCrowded(this.#ctx);
  }
}

function clientOf(ctx: HookContext): number {
  return clientCallOf(ctx)?.limits?.client ?? 0;
}
