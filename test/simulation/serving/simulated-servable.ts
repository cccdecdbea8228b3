import { ServingError } from "../../../src/errors.ts";
import type { ModelFacts } from "../../../src/models/model-facts.ts";
import { sumStatistics } from "../../../src/models/queue/run-statistics.ts";
import { sumThreads } from "../../../src/observability/thread-states.ts";
import type { InferRequest, InferResponse } from "../../../src/pipeline/infer-request.ts";
import type { CancelSignal } from "../../../src/platform/async/cancel-source.ts";
import type { CallLimits } from "../../../src/platform/limits/call-limits.ts";
import { LeaseCount } from "../../../src/serving/lease-count.ts";
import type { Servable } from "../../../src/serving/servable.ts";
import type { ServableDescription } from "../../../src/serving/servable-description.ts";
import { RequestCounter, type ServableStatistics } from "../../../src/serving/servable-statistics.ts";
import type { Copy, World } from "./world.ts";

/** One request to a model. */
export interface Asked {
  readonly model: string;
  readonly version?: bigint | undefined;
  readonly label?: string | undefined;
  readonly id: string;
  readonly signal: CancelSignal;
  readonly limits?: CallLimits | undefined;
}

/** Parts of the server that a copy needs. */
export interface Surroundings {
  readonly world: World;
  /** Runs a request to another model. */
  readonly ask: (asked: Asked) => Promise<void>;
  readonly leasedAt: (id: string) => number;
  /** Frees the memory of a copy. */
  readonly release: () => void;
  /** The content of the copy's hook file now. */
  readonly hooksNow: () => number | undefined;
}

/** A copy that has loaded, as the code that is simulated sees it. */
export class SimulatedServable implements Servable {
  readonly name: string;
  readonly version: bigint;
  readonly description: ServableDescription;
  readonly needed: readonly ModelFacts[];
  readonly memoryBytes: number;
  readonly hooksShareTensors = false;
  readonly leases = new LeaseCount();
  readonly requests = new RequestCounter();
  readonly copy: Copy;
  readonly #on: Surroundings;
  #reloaded: Promise<void> = Promise.resolve();

  constructor(copy: Copy, needed: readonly ModelFacts[], on: Surroundings) {
    const { model, version, bytes = 1 } = copy.wish;
    this.copy = copy;
    this.name = model;
    this.version = BigInt(version);
    this.needed = needed;
    this.memoryBytes = bytes;
    this.description = describe(copy);
    this.#on = on;
  }

  async run({ call }: InferRequest): Promise<InferResponse> {
    const { model, version } = this.copy.wish;
    const { id, signal, limits } = call;
    await this.copy.run({ id, leasedAt: this.#on.leasedAt(id) }, signal, () => this.#askNeeds(id, signal, limits));
    return {
      ...{ model, version: BigInt(version), signature: "serving_default", metadata: {} },
      outputs: { kind: "tensors", tensors: {} },
    };
  }

  /** The requests of its warm-up. */
  async warm(signal: AbortSignal): Promise<void> {
    await this.copy.step("warm", signal);
    if (this.copy.wish.warms) await this.#askNeeds(`warm-up of ${this.copy.title}`, signal, { warmUp: 0 });
  }

  async #askNeeds(id: string, signal: CancelSignal, limits: CallLimits = {}): Promise<void> {
    const { depth = 0 } = limits;
    const { needs = [], calls = [] } = this.copy.wish;
    for (const model of [...needs, ...calls]) {
      const asked = { model, id: `${id} > ${model}`, signal, limits: { ...limits, depth: depth + 1 } };
      await this.#on.ask(asked).catch((reason) => {
        throw notAvailable(model, this.name, reason);
      });
    }
  }

  isReady(): boolean {
    return true;
  }

  async statistics(): Promise<ServableStatistics> {
    await this.#on.world.ask("statistics", this.copy.slot);
    return {
      requests: this.requests.statistics(),
      runs: sumStatistics([]),
      isBatched: false,
      hooks: [],
      threads: { hook: sumThreads([]), model: sumThreads([]) },
      loadMs: 0,
    };
  }

  async exampleInputs() {
    return undefined;
  }

  /** One after the other, as the server's do. */
  async reload(): Promise<void> {
    const reload = this.#reloaded.then(() => this.#reload());
    this.#reloaded = reload.catch(() => {});
    await reload;
  }

  async #reload(): Promise<void> {
    const hooks = this.#on.hooksNow();
    await this.#on.world.work("hooks", `${this.copy.slot} ${hooks}`);
    this.copy.hooks = hooks;
  }

  sources(): readonly string[] {
    return this.copy.hooks === undefined ? [] : ["hooks.ts"];
  }

  async close(): Promise<void> {
    try {
      await this.copy.close();
    } finally {
      this.#on.release();
    }
  }
}

function describe({ wish: { model, version, takes = "x" } }: Copy): ServableDescription {
  const signatures = { serving_default: { inputs: [{ name: takes, dtype: "float32" as const }] } };
  return Object.freeze({ model, version: BigInt(version), drivers: ["simulated"], signatures, graphRefusal: "" });
}

function notAvailable(model: string, of: string, reason: unknown): unknown {
  if (!(reason instanceof ServingError) || reason.code !== "not_found") return reason;
  return new ServingError("unavailable", `The model "${model}", which is a stage of ${of}, is not available`);
}
