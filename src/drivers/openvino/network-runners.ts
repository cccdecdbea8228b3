import { failedPrecondition, publicText, ServingError } from "../../errors.ts";
import type { Logger } from "../../observability/logger.ts";
import { unlessAborted } from "../../platform/async/cancel-source.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { Network } from "./engine.ts";
import type { ModelSource } from "./model-source.ts";
import { KnownFailures, OpenvinoFailure } from "./openvino-failure.ts";
import { type RequestPool, type RunCall, type Runner, SpoiledRun } from "./request-pool.ts";

/** The CPU plugin may give a run the failure of another that is under way, and has not ended yet. */
function isPerhapsOfAnother(reason: unknown, pool: RequestPool): boolean {
  return reason instanceof OpenvinoFailure && reason.kind === "failed" && pool.isBusy;
}

/** A network, and what compiles it. */
interface RenewalChoice {
  readonly network: Network;
  readonly compile: () => Promise<RequestPool>;
  readonly isPure: boolean;
  readonly log: Logger;
  readonly source: ModelSource;
}

/**
 * Runs a network, and compiles it again after a run that failed in OpenVINO: the CPU plugin may keep sizes of such a
 * run, and compute wrong answers for all later ones. Runs meanwhile wait; those that were under way run again.
 */
export class RenewingRunner implements Runner {
  readonly concurrency: number;
  readonly #choice: RenewalChoice;
  #last: RequestPool;
  /** Undefined while the network has to be compiled. */
  #pool: RequestPool | undefined;
  #renewal: Promise<unknown> | undefined;
  /** False until a run fails, so that checks cost nothing if all clients send what runs. */
  #isWary = false;
  #known: KnownFailures | undefined;
  readonly #closing = new Set<Promise<void>>();
  #renewals = 0;
  #isClosed = false;

  /** `first` is the network, compiled. Takes ownership of both. */
  constructor(choice: RenewalChoice, first: RequestPool) {
    this.#choice = choice;
    this.#pool = first;
    this.#last = first;
    this.concurrency = first.concurrency;
  }

  get renewals(): number {
    return this.#renewals;
  }

  get #failures(): KnownFailures {
    this.#known ??= new KnownFailures(this.#choice.network, this.#choice);
    return this.#known;
  }

  property(key: string): string {
    return this.#last.property(key);
  }

  async run(inputs: readonly Tensor[], outputs: readonly number[], call: RunCall = {}): Promise<Tensor[]> {
    for (let isAgain = false; ; ) {
      const pool = this.#pool;
      if (pool === undefined) {
        await this.#renewed(call.signal);
        continue;
      }
      const known = this.#isWary || call.isTrial ? this.#failures.find(inputs) : undefined;
      if (known !== undefined) throw known;
      try {
        return await pool.run(inputs, outputs, call);
      } catch (reason) {
        if (pool.isSpoiled) this.#discard(pool);
        if (!isAgain && isPerhapsOfAnother(reason, pool)) isAgain = true;
        else if (!(reason instanceof SpoiledRun)) throw this.#noted(reason, inputs);
      }
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#renewal?.catch(() => {});
    await this.#pool?.close();
    await Promise.all(this.#closing);
    this.#choice.network.release();
  }

  /** Notes a failure before the network is compiled, which is when it must not be reshaped. */
  #noted(reason: unknown, inputs: readonly Tensor[]): unknown {
    const isFailure = reason instanceof OpenvinoFailure && reason.kind === "failed";
    if (!isFailure || this.#renewal !== undefined) return reason;
    this.#isWary = true;
    this.#failures.add(inputs, reason);
    // The next request would have to wait for it.
    this.#renewed().catch(() => {});
    return reason;
  }

  #discard(pool: RequestPool): void {
    if (this.#pool !== pool) return;
    this.#pool = undefined;
    keepUntilEnd(this.#closing, pool.discard());
  }

  async #renewed(signal?: AbortSignal): Promise<void> {
    this.#renewal ??= this.#renew().finally(() => {
      this.#renewal = undefined;
    });
    await (signal === undefined ? this.#renewal : unlessAborted(this.#renewal, signal));
  }

  async #renew(): Promise<void> {
    const { compile, log, source } = this.#choice;
    if (this.#isClosed) throw failedPrecondition("The model is closed.");
    const started = performance.now();
    try {
      this.#last = await compile();
    } catch (cause) {
      const message = `The model has to be compiled again after a run that failed, and that fails: ${publicText(cause)}`;
      throw new ServingError("unavailable", message, { cause });
    }
    this.#pool = this.#last;
    this.#renewals++;
    const ms = Math.round(performance.now() - started);
    log.warn(
      "a run failed or was cancelled in OpenVINO, whose later answers may be wrong: the model was compiled again",
      { path: source.path, ms },
    );
  }
}

/** Shapes that a network is kept compiled for; the one that was not used for longest gives way. */
const MAX_SHAPES = 8;

/** Compiles a network for each shape that comes, and again after a run that failed. */
export class ReshapingRunner implements Runner {
  readonly concurrency: number;
  readonly #network: Network;
  readonly #compile: () => Promise<RequestPool>;
  readonly #first: RequestPool;
  /** The one used last is last. */
  readonly #runners = new Map<string, Promise<RequestPool>>();
  readonly #closing = new Set<Promise<void>>();
  #compiling: Promise<unknown> = Promise.resolve();
  #renewals = 0;

  /**
   * `first` is the present network; `compile` compiles it with its present shapes. Takes ownership of the network and
   * `first`.
   */
  constructor(network: Network, compile: () => Promise<RequestPool>, first: RequestPool) {
    this.#network = network;
    this.#compile = compile;
    this.#first = first;
    this.concurrency = first.concurrency;
  }

  get renewals(): number {
    return this.#renewals;
  }

  property(key: string): string {
    return this.#first.property(key);
  }

  async run(inputs: readonly Tensor[], outputs: readonly number[], call?: RunCall): Promise<Tensor[]> {
    const shapes = inputs.map(({ shape }) => shape);
    for (let isAgain = false; ; ) {
      const runner = await this.#runnerFor(shapes);
      try {
        return await runner.run(inputs, outputs, call);
      } catch (reason) {
        if (runner.isSpoiled) await this.#discard(shapes.join(";"), runner);
        if (!isAgain && isPerhapsOfAnother(reason, runner)) isAgain = true;
        else if (!(reason instanceof SpoiledRun)) throw reason;
      }
    }
  }

  async close(): Promise<void> {
    const runners = await Promise.allSettled(this.#runners.values());
    for (const runner of runners) if (runner.status === "fulfilled") this.#close(runner.value);
    this.#close(this.#first);
    await Promise.all(this.#closing);
    this.#network.release();
  }

  async #discard(key: string, runner: RequestPool): Promise<void> {
    if ((await this.#runners.get(key)) !== runner) return;
    this.#runners.delete(key);
    this.#renewals++;
    keepUntilEnd(this.#closing, runner.discard());
  }

  #runnerFor(shapes: readonly (readonly number[])[]): Promise<RequestPool> {
    const key = shapes.join(";");
    const known = this.#runners.get(key);
    this.#runners.delete(key);
    const runner = known ?? this.#compileFor(shapes);
    this.#runners.set(key, runner);
    if (known === undefined) {
      runner.catch(() => this.#runners.delete(key));
      this.#makeRoom();
    }
    return runner;
  }

  /** Sequentially, since all are compiled from one network. */
  #compileFor(shapes: readonly (readonly number[])[]): Promise<RequestPool> {
    const compiled = this.#compiling.then(() => {
      this.#network.reshape(new Map(shapes.entries()));
      return this.#compile();
    });
    this.#compiling = compiled.catch(() => {});
    return compiled;
  }

  #makeRoom(): void {
    const [oldest] = this.#runners;
    if (this.#runners.size <= MAX_SHAPES || oldest === undefined) return;
    this.#runners.delete(oldest[0]);
    void oldest[1].then((runner) => this.#close(runner)).catch(() => {});
  }

  #close(runner: RequestPool): void {
    keepUntilEnd(this.#closing, runner.close());
  }
}

function keepUntilEnd(closing: Set<Promise<void>>, end: Promise<void>): void {
  closing.add(end);
  void end.finally(() => closing.delete(end));
}
