import "../threads/worker-threads.ts";

import type { Driver } from "../../../src/drivers/driver.ts";
import { ServingError } from "../../../src/errors.ts";
import { HookGeneration } from "../../../src/hooks/host/hook-generation.ts";
import type { LeasedModel, ModelProvider, WantedModel } from "../../../src/hooks/host/hook-leases.ts";
import { HookPool } from "../../../src/hooks/host/hook-pool.ts";
import type { ModelConnection } from "../../../src/hooks/host/hook-protocol.ts";
import { type HookThreadOptions, HookWorker } from "../../../src/hooks/host/hook-worker.ts";
import type { ModelFacts } from "../../../src/models/model-facts.ts";
import type { ModelHost } from "../../../src/models/model-host.ts";
import { startModel } from "../../../src/models/start-model.ts";
import { runModelThread } from "../../../src/models/threads/run-model-thread.ts";
import { runScene, type Scene, type SceneOptions, type SceneReport, SceneWorld } from "../threads/scene.ts";
import type { SimulatedWorker } from "../threads/simulated-process.ts";
import { HookAsks } from "./hook-asks.ts";
import type { HookCommand, HookHistory } from "./hook-history.ts";
import { SERVED, SimulatedHooks } from "./simulated-hooks.ts";

/** The facts of a model that no hook asks. */
const UNUSED_MODEL: ModelFacts = {
  ...{ driver: "null", path: "", loadMs: 0, echoes: false },
  ...{ signatures: { serving_default: {} }, defaultSignature: "serving_default" },
};
/** Milliseconds after which a thread that stands still is ended. */
const STALL_MS = 400;

/** Runs one history of hooks in threads. */
export function simulateHooks(history: HookHistory, options: SceneOptions = {}): Promise<SceneReport> {
  let hooks: SimulatedHooks | undefined;
  const world = new SceneWorld(history.seed, () => ({
    "hook-thread": (start) => (hooks as SimulatedHooks).run(start),
    "model-thread": ({ worker, parentPort }) => runModelThread(parentPort as never, () => {}, hooks?.sourcesIn(worker)),
  }));
  const asks = new HookAsks(world, history);
  hooks = new SimulatedHooks(world, history, asks);
  const parts = { history, world, asks, hooks };
  return runScene(history, world, { ...options, open: () => new HookScene(parts) });
}

interface HookSceneParts {
  readonly history: HookHistory;
  readonly world: SceneWorld;
  readonly asks: HookAsks;
  readonly hooks: SimulatedHooks;
}

/** A pool of hook threads, and what clients ask of it. */
class HookScene implements Scene<HookCommand> {
  readonly #parts: HookSceneParts;
  readonly #others = new Set<string>();
  /** Models that hooks have, by their numbers. */
  readonly #leased = new Set<number>();
  #leases = 0;
  #generations = 0;
  #pool: HookPool | undefined;
  #host: ModelHost | undefined;
  #isClosing = false;

  constructor(parts: HookSceneParts) {
    this.#parts = parts;
  }

  /** A first start that fails is tried again. */
  async start(): Promise<void> {
    const { world, history } = this.#parts;
    if (history.parted === "model") this.#host = await this.#loadModel();
    while (this.#pool === undefined) {
      try {
        const generation = await this.#open(new AbortController().signal);
        const { workers } = history;
        const [open, provider] = [this.#open.bind(this), this.#provider()];
        const pool = new HookPool({ generation, open, workers, provider, params: {}, served: SERVED } as never);
        await pool.start();
        this.#pool = pool;
      } catch (reason) {
        world.note(`the hooks do not start: ${String(reason)}`);
      }
    }
  }

  begin(command: HookCommand): void {
    const { world, asks } = this.#parts;
    world.note(`> ${JSON.stringify(command)}`);
    if (command.do === "ask") asks.begin(command, this.#running);
    else if (command.do === "reload") void this.#reload(command.id);
    else this.#hurt(command);
  }

  check(): void {
    const { world, asks, history, hooks } = this.#parts;
    world.watch();
    if (history.parted === "model") asks.checkPlaces();
    if (hooks.generators.size > asks.open.size + 200) world.violate("S8", "generators of requests that are over stay");
    if (asks.losses > 0 || asks.reloads > 0 || this.#pool === undefined || this.#isClosing) return;
    const { length } = this.#threads;
    if (length !== history.workers) world.violate("H7", `${length} threads run hooks; expected ${history.workers}`);
  }

  unfinished(): readonly string[] {
    const { asks, history, hooks } = this.#parts;
    const { ready, missing } = this.#running.threads();
    const { length } = this.#threads;
    return [
      ...asks.unfinished,
      ...this.#others,
      ...(ready === history.workers && missing === 0 ? [] : [`${ready} threads are ready, ${missing} missing`]),
      ...(length === history.workers ? [] : [`${length} threads run; expected ${history.workers}`]),
      ...(this.#host?.isReady() === false ? ["the model has no thread"] : []),
      ...[...hooks.generators].flatMap(([title, { thread }]) => (thread.isAlive ? `a ${title} has not ended` : [])),
    ];
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#running.close();
    // One that hung has its time.
    await this.#host?.close().catch((reason) => this.#parts.world.note(String(reason)));
    for (const number of this.#leased)
      this.#parts.world.violate("H8", `model ${number} was not returned by the hooks that loaded it`);
  }

  get #running(): HookPool {
    return this.#pool as HookPool;
  }

  /** As openGeneration, without files. */
  async #open(signal: AbortSignal): Promise<HookGeneration> {
    const { world, history } = this.#parts;
    const options = {
      ...{ url: `hooks ${++this.#generations}`, file: "hooks.ts", stageCount: 1, logged: "info", inspectHooks: false },
      ...{ hookTimeoutMs: history.hookTimeoutMs, hookStallMs: STALL_MS, hookMemoryMb: 100 },
    } as unknown as HookThreadOptions;
    const first = new HookWorker(options, world.log);
    const stop = () => void first.terminate();
    signal.addEventListener("abort", stop);
    if (signal.aborted) stop();
    try {
      const declared = await first.declared;
      const compiled = { url: options.url, sources: [], dispose: async () => {} };
      return new HookGeneration({ compiled, options, log: world.log, first, declared });
    } catch (reason) {
      await first.terminate();
      throw reason;
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  #loadModel(): Promise<ModelHost> {
    const driver = { name: "null", options: {} } as unknown as Driver;
    const found = { driver, location: { name: "null" }, dispose: async () => {} };
    const { log } = this.#parts.world;
    return startModel({ found, path: "parts", options: {} }, { instances: 1, modelStallMs: STALL_MS, log });
  }

  #provider(): ModelProvider {
    const host = this.#host;
    const load = this.#lease.bind(this);
    const unused: ModelConnection = { facts: UNUSED_MODEL, hookArgs: {}, ports: [] };
    if (host === undefined) return { stages: () => [unused], onReconnect: () => () => {}, load };
    return {
      stages: (onMalformed) => [{ facts: host.facts, hookArgs: host.hookArgs, ports: host.connect(onMalformed) }],
      onReconnect: (listener, onMalformed) =>
        host.onReconnect((instance, port, resend) => listener(0, instance, port, resend), onMalformed),
      load,
    };
  }

  /** The threads that run hooks. */
  get #threads(): readonly SimulatedWorker[] {
    return [...this.#parts.world.process.workers].filter(({ thread }) => thread.name.startsWith("hook"));
  }

  async #lease({ path }: WantedModel): Promise<LeasedModel> {
    const { world } = this.#parts;
    const number = ++this.#leases;
    const random = world.chanceOf(`load of ${path}`);
    await world.process.main.wait(random.of([0, 10, 500]), `load of ${path}`);
    if (!world.isHealed && random.is(0.1))
      throw new ServingError("failed_precondition", "It is not there, as it should.");
    this.#leased.add(number);
    return {
      connection: { facts: UNUSED_MODEL, hookArgs: {}, ports: [] },
      close: async () => {
        if (!this.#leased.delete(number)) world.violate("H9", `model ${number} is returned twice`);
      },
    };
  }

  async #reload(id: number): Promise<void> {
    const { world, asks } = this.#parts;
    const name = `reload ${id} is not over`;
    this.#others.add(name);
    asks.reloads++;
    try {
      await this.#running.reload();
      world.note(`reload ${id} is over`);
    } catch (reason) {
      world.note(`reload ${id} fails: ${String(reason)}`);
      if (!(reason instanceof ServingError)) world.violate("H10", `reload ${id} fails with ${String(reason)}`);
    } finally {
      this.#others.delete(name);
    }
  }

  #hurt(command: Extract<HookCommand, { readonly thread: number }>): void {
    const { world, asks } = this.#parts;
    // Hooks cannot hold up a thread before it has its code.
    const workers = [...world.process.workers].filter(({ hasBegun }) => hasBegun);
    const worker = workers[command.thread % Math.max(1, workers.length)];
    if (worker === undefined || world.isHealed) return;
    asks.losses++;
    if (command.do === "kill") worker.die(1);
    else world.onHealed(worker.thread.block(Number.POSITIVE_INFINITY, "spins").end);
  }
}
