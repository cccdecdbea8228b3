import type { Driver, Model, PredictCall } from "../../../src/drivers/driver.ts";
import { ServingError } from "../../../src/errors.ts";
import { parseHostOptions } from "../../../src/models/host-options.ts";
import { hostModel } from "../../../src/models/hosted-model.ts";
import type { ModelSources } from "../../../src/models/threads/thread-models.ts";
import type { CancelSignal } from "../../../src/platform/async/cancel-source.ts";
import { unlessAborted } from "../../../src/platform/async/cancel-source.ts";
import { createTensor, createTensors, type Tensors } from "../../../src/tensor/tensor.ts";
import type { SceneWorld } from "../threads/scene.ts";
import type { SimulatedWorker } from "../threads/simulated-process.ts";
import type { Asks } from "./asks.ts";
import { answerTo, type QueueHistory, type RunEnd, type SimulatedModel } from "./queue-history.ts";

const SIGNATURES = {
  serving_default: {
    inputs: [{ name: "x", dtype: "int32", shape: [-1, 1] }],
    outputs: [{ name: "y", dtype: "int32", shape: [-1, 1] }],
  },
} as const;

/** A model's code as its thread has it: how long that takes, and how it ends, chance decides. */
export class SimulatedDriver {
  readonly #world: SceneWorld;
  readonly #history: Pick<QueueHistory, "delays" | "runEnds" | "loadEnds" | "models">;
  readonly #asks: Asks;
  /** Threads whose models work in turn. */
  readonly #shared = new WeakSet<SimulatedWorker>();
  /** Runs that are under way in each thread. */
  readonly #running = new Map<SimulatedWorker, number>();

  constructor(world: SceneWorld, history: SimulatedDriver["history"], asks: Asks) {
    this.#world = world;
    this.#history = history;
    this.#asks = asks;
  }

  get history(): Pick<QueueHistory, "delays" | "runEnds" | "loadEnds" | "models"> {
    return this.#history;
  }

  /** Sources of a thread in place of drivers' code and model files. */
  sourcesIn(worker: SimulatedWorker): ModelSources {
    return {
      importDriver: async () => this.#driverIn(worker),
      loadModel: async ({ driver, path, options, turns }, log) => {
        if (turns !== undefined) this.#shared.add(worker);
        const model = await driver.load(path, {}, { log, threads: 1 });
        const choices = parseHostOptions(options);
        const preprocess = () => Promise.reject(new Error("There are no images."));
        return hostModel(model, { driver: driver.name, path, loadMs: 0, log, choices, preprocess, turns });
      },
    };
  }

  #driverIn(worker: SimulatedWorker): Driver {
    return { name: "null", options: {}, load: (path) => this.#load(path, worker) };
  }

  async #load(path: string, worker: SimulatedWorker): Promise<Model> {
    const model = this.#history.models.find(({ name }) => name === path) as SimulatedModel;
    await this.#work(`load of ${path}`, worker, this.#history.loadEnds);
    const copy = new LoadedCopy(model, worker);
    return {
      signatures: SIGNATURES,
      concurrency: model.concurrency,
      predict: (inputs, call) => this.#predict(copy, inputs, call),
      close: async () => this.#close(copy),
    };
  }

  async #predict(copy: LoadedCopy, inputs: Tensors, call: PredictCall): Promise<Tensors> {
    const { worker, model } = copy;
    const numbers = Array.from((inputs.x as unknown as { data: Int32Array }).data);
    const ids = [...new Set(numbers.map((number) => Math.trunc(number / 10)))];
    this.#begin(copy, ids, call);
    try {
      await this.#work(`run of ${model.name} for ${ids}`, worker, this.#history.runEnds, call.signal);
    } finally {
      copy.running--;
      this.#running.set(worker, (this.#running.get(worker) ?? 0) - 1);
      this.#asks.ran(ids);
    }
    return createTensors([["y", createTensor("int32", [numbers.length, 1], Int32Array.from(numbers, answerTo))]]);
  }

  #begin(copy: LoadedCopy, ids: readonly number[], { signal }: PredictCall): void {
    const { worker, model } = copy;
    const title = `${model.name} in ${worker.thread.name}`;
    const all = (this.#running.get(worker) ?? 0) + 1;
    this.#running.set(worker, all);
    if (++copy.running > model.concurrency)
      this.#world.violate("Q1", `${copy.running} runs of ${title} overlap; it takes ${model.concurrency}`);
    if (copy.isClosed) this.#world.violate("Q2", `${title} runs ${ids} although it is freed`);
    if (this.#shared.has(worker) && all > 1) this.#world.violate("Q3", `${all} runs overlap in ${worker.thread.name}`);
    if (signal.aborted) this.#world.violate("Q4", `${title} runs ${ids}, which all have been cancelled there`);
    this.#asks.begins(ids, { worker, model });
  }

  #close(copy: LoadedCopy): void {
    const title = `${copy.model.name} in ${copy.worker.thread.name}`;
    if (copy.isClosed) this.#world.violate("Q2", `${title} is freed twice`);
    if (copy.running > 0) this.#world.violate("Q2", `${title} is freed under ${copy.running} runs`);
    copy.isClosed = true;
  }

  /** Some work in a thread; may end it. */
  async #work(
    name: string,
    worker: SimulatedWorker,
    ends: Readonly<Partial<Record<RunEnd, number>>>,
    signal?: CancelSignal,
  ): Promise<void> {
    const { thread } = worker;
    const random = this.#world.chanceOf(name);
    const ms = random.of(this.#history.delays);
    const drawn = random.weighted<RunEnd>({
      ...{ ok: 1, fails: 0, blocks: 0, hangs: 0, crashes: 0, late: 0, ...ends },
    });
    const end = this.#world.isHealed ? "ok" : drawn;
    this.#world.note(`${name} begins in ${thread.name}${end === "ok" ? "" : ` and ${end}`} (${ms} ms)`);
    if (end === "blocks") await thread.block(ms, name).over;
    else if (end === "hangs") await this.#hang(worker, name);
    else {
      const passed = thread.wait(ms, name);
      await (signal === undefined || end === "late" ? passed : unlessAborted(passed, signal));
    }
    if (end === "crashes") {
      this.#asks.lost();
      worker.die(1, new Error("It crashes as it should."));
      await new Promise(() => {});
    }
    if (end === "fails") throw new ServingError("internal", "It fails as it should.");
    this.#world.note(`${name} ends`);
  }

  #hang({ thread }: SimulatedWorker, name: string): Promise<void> {
    this.#asks.lost();
    const { over, end } = thread.block(Number.POSITIVE_INFINITY, name);
    this.#world.onHealed(end);
    return over;
  }
}

/** One copy of a model. */
class LoadedCopy {
  readonly model: SimulatedModel;
  readonly worker: SimulatedWorker;
  running = 0;
  isClosed = false;

  constructor(model: SimulatedModel, worker: SimulatedWorker) {
    this.model = model;
    this.worker = worker;
  }
}
