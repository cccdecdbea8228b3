import type { Tensor } from "../../tensor/tensor.ts";
import type { Network } from "./engine.ts";
import type { Runner } from "./runner.ts";

/** Shapes that a network is kept compiled for; the one that was not used for longest gives way. */
const MAX_SHAPES = 8;

/** Compiles a network for each shape that comes. */
export class ReshapingRunner implements Runner {
  readonly concurrency: number;
  readonly #network: Network;
  readonly #compile: () => Promise<Runner>;
  readonly #first: Runner;
  /** The one used last is last. */
  readonly #runners = new Map<string, Promise<Runner>>();
  readonly #closing = new Set<Promise<void>>();
  #compiling: Promise<unknown> = Promise.resolve();

  /**
   * `first` is the present network; `compile` compiles it with its present shapes. Takes ownership of the network and
   * `first`.
   */
  constructor(network: Network, compile: () => Promise<Runner>, first: Runner) {
    this.#network = network;
    this.#compile = compile;
    this.#first = first;
    this.concurrency = first.concurrency;
  }

  property(key: string): string {
    return this.#first.property(key);
  }

  async run(inputs: readonly Tensor[], outputs: readonly number[], signal?: AbortSignal): Promise<Tensor[]> {
    const runner = await this.#runnerFor(inputs.map(({ shape }) => shape));
    return runner.run(inputs, outputs, signal);
  }

  async close(): Promise<void> {
    const runners = await Promise.allSettled(this.#runners.values());
    for (const runner of runners) if (runner.status === "fulfilled") this.#close(runner.value);
    this.#close(this.#first);
    await Promise.all(this.#closing);
    this.#network.release();
  }

  #runnerFor(shapes: readonly (readonly number[])[]): Promise<Runner> {
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
  #compileFor(shapes: readonly (readonly number[])[]): Promise<Runner> {
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

  #close(runner: Runner): void {
    const closing = runner.close();
    this.#closing.add(closing);
    void closing.finally(() => this.#closing.delete(closing));
  }
}
