import "../threads/worker-threads.ts";

import type { Driver } from "../../../src/drivers/driver.ts";
import type { ModelHost } from "../../../src/models/model-host.ts";
import { startModel } from "../../../src/models/start-model.ts";
import { KeptThreads } from "../../../src/models/threads/kept-threads.ts";
import { runModelThread } from "../../../src/models/threads/run-model-thread.ts";
import { SharedThreads } from "../../../src/models/threads/shared-threads.ts";
import { runScene, type Scene, type SceneOptions, type SceneReport, SceneWorld } from "../threads/scene.ts";
import type { SimulatedWorker } from "../threads/simulated-process.ts";
import { Asks } from "./asks.ts";
import type { QueueCommand, QueueHistory, SimulatedModel } from "./queue-history.ts";
import { SimulatedDriver } from "./simulated-driver.ts";

/** Milliseconds after which a thread that stands still is replaced. */
const STALL_MS = 400;

/** Runs one history of models in threads. */
export function simulateQueue(history: QueueHistory, options: SceneOptions = {}): Promise<SceneReport> {
  let driver: SimulatedDriver | undefined;
  const world = new SceneWorld(history.seed, () => ({
    "model-thread": ({ worker, parentPort }) =>
      runModelThread(parentPort as never, () => {}, driver?.sourcesIn(worker)),
  }));
  const asks = new Asks(world);
  driver = new SimulatedDriver(world, history, asks);
  return runScene(history, world, { ...options, open: () => new QueueScene(history, world, asks) });
}

/** Models in threads, and what clients ask of them. */
class QueueScene implements Scene<QueueCommand> {
  readonly #history: QueueHistory;
  readonly #world: SceneWorld;
  readonly #asks: Asks;
  readonly #shared: SharedThreads;
  readonly #kept = new KeptThreads();
  readonly #hosts = new Map<string, ModelHost>();
  readonly #others = new Set<string>();

  constructor(history: QueueHistory, world: SceneWorld, asks: Asks) {
    this.#history = history;
    this.#world = world;
    this.#asks = asks;
    this.#shared = new SharedThreads(history.sharedThreads, 1000);
  }

  async start(): Promise<void> {
    for (const model of this.#history.models) this.#hosts.set(model.name, await this.#load(model));
  }

  begin(command: QueueCommand): void {
    this.#world.note(`> ${JSON.stringify(command)}`);
    if (command.do === "ask") this.#asks.begin(command, this.#hostOf(command.model).handle);
    else if ("thread" in command) this.#hurt(command);
    else if (command.do === "reload") this.#follow(`reload ${command.id}`, this.#reload(command.model));
    else this.#follow(`statistics ${command.id}`, this.#hostOf(command.model).handle.statistics());
  }

  check(): void {
    this.#world.watch();
    this.#asks.checkLost();
  }

  unfinished(): readonly string[] {
    const missing = this.#history.models.filter(
      ({ name, instances }) => this.#hostOf(name).threads?.().ready !== instances,
    );
    return [...this.#asks.open, ...this.#others, ...missing.map(({ name }) => `${name} has no thread`)];
  }

  async close(): Promise<void> {
    await Promise.all([...this.#hosts.values()].map((host) => this.#end(host)));
    await this.#shared.close();
    await this.#kept.close();
  }

  #hostOf(model: string): ModelHost {
    return this.#hosts.get(model) as ModelHost;
  }

  /** A first load that fails is asked for again. */
  async #load({ name, isShared, instances, maxRows, lingerMs }: SimulatedModel): Promise<ModelHost> {
    const driver = { name: "null", options: {}, sharesThread: isShared } as unknown as Driver;
    const found = { driver, location: { name: "null" }, dispose: async () => {} };
    const options: Record<string, string> =
      maxRows === 0 ? {} : { max_batch_size: String(maxRows), batch_timeout_us: String(1000 * lingerMs) };
    const threads = { sharedThreads: this.#shared, keptThreads: this.#kept };
    const choices = { instances, modelStallMs: STALL_MS, ...threads, log: this.#world.log };
    for (;;) {
      try {
        return await startModel({ found, path: name, name, options, fileBytes: 1 }, choices);
      } catch (reason) {
        this.#world.note(`${name} is not loaded: ${String(reason)}`);
        this.#asks.lost();
      }
    }
  }

  async #reload(name: string): Promise<void> {
    const model = this.#history.models.find((one) => one.name === name) as SimulatedModel;
    const next = await this.#load(model);
    const old = this.#hostOf(name);
    this.#hosts.set(name, next);
    this.#asks.reloaded(name);
    await this.#end(old);
  }

  /** One that hangs cannot be freed. */
  async #end(host: ModelHost): Promise<void> {
    await host.close().catch((reason) => {
      if (reason?.code !== "deadline_exceeded") throw reason;
    });
  }

  #follow(name: string, done: Promise<unknown>): void {
    this.#others.add(`${name} is not over`);
    done.then(
      () => this.#others.delete(`${name} is not over`),
      (reason) => this.#world.violate("Q13", `${name} fails: ${String(reason)}`),
    );
  }

  #hurt(command: Extract<QueueCommand, { readonly thread: number }>): void {
    const workers: SimulatedWorker[] = [...this.#world.process.workers];
    const worker = workers[command.thread % Math.max(1, workers.length)];
    if (worker === undefined || this.#world.isHealed) return;
    this.#asks.lost();
    if (command.do === "kill") worker.die(1, new Error("It is killed."));
    else this.#world.onHealed(worker.thread.block(Number.POSITIVE_INFINITY, "hangs").end);
  }
}
