import type { Tensor } from "../../tensor/tensor.ts";
import type { Network } from "./engine.ts";
import { type RequestPool, SpoiledRun } from "./request-pool.ts";
import type { RunCall, Runner } from "./runner.ts";

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
    for (;;) {
      const runner = await this.#runnerFor(shapes);
      try {
        return await runner.run(inputs, outputs, call);
      } catch (reason) {
        if (runner.isSpoiled) await this.#discard(shapes.join(";"), runner);
        if (!(reason instanceof SpoiledRun)) throw reason;
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
    this.#track(runner.discard());
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
    this.#track(runner.close());
  }

  #track(closing: Promise<void>): void {
    this.#closing.add(closing);
    void closing.finally(() => this.#closing.delete(closing));
  }
}
